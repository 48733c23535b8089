//! Loaders for well-known sets, from files that the user brings.
//!
//! | Function | Files in the folder |
//! |---|---|
//! | [`digits`] | MNIST or Fashion-MNIST: `train-images-idx3-ubyte.gz`, `train-labels-idx1-ubyte.gz`, and the same with `t10k` |
//! | [`cifar`] | CIFAR-10: `data_batch_1`, … and `test_batch`, each as `.bin` (the original) or as `.webp` with `.labels` |
//! | [`movielens`] | MovieLens 100K: `u.data` |
//! | [`shakespeare`] | any text: `input.txt` |
//! | [`words`] | UCI bag of words: `docword.*.txt` or `docword.*.txt.gz` |
//!
//! A file that is missing, cut short or not what it should be is an error that names the file and
//! the place in it.

mod cifar;
mod digits;
mod error;
mod movielens;
mod open;
mod shakespeare;
mod words;

pub use cifar::cifar;
pub use digits::digits;
pub use error::LoadError;
pub use movielens::movielens;
pub use shakespeare::shakespeare;
pub use words::words;
