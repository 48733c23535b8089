//! Ready-made rules.
//!
//! Rules with chance in them take a seed and an index: the seed of the whole run, and a number that
//! tells apart rules of one kind in it (such as the number of the link).

mod delay;
mod fault;
mod loss;
mod planned;

pub use delay::{DelaySpikes, Reorder};
pub use fault::{Corrupt, Duplicate};
pub use loss::{GilbertElliott, RandomLoss};
pub use planned::{Blackout, DropNth};
