//! `cargo +nightly fuzz run handshake`; the body is shared with the test `fuzz_corpus`.
#![no_main]

#[path = "../../crates/protocol/tests/fuzz_bodies/mod.rs"]
#[allow(dead_code, unused_imports, reason = "each target uses one body")]
mod fuzz_bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_bodies::handshake(data));
