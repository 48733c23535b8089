//! What the fuzz targets do with their bytes. `fuzz/` includes this folder by path; the test
//! `fuzz_corpus` replays the committed corpus with it, without a nightly compiler.
#![allow(unreachable_pub, missing_docs, reason = "shared by a test and the fuzz crate")]

mod decoder;
mod handshake;
mod operations;
mod pair;

pub use decoder::packet_decoder;
pub use handshake::handshake;
pub use operations::operations;
