//! Replays the committed fuzzing corpus, so that what was found once stays found.

mod fuzz_bodies;

use std::path::Path;

fn replay(target: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("a readable folder").path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    for file in files {
        println!("{}", file.display());
        body(&std::fs::read(&file).expect("a readable file"));
    }
}

#[test]
fn packet_decoder() {
    replay("packet_decoder", fuzz_bodies::packet_decoder);
}

#[test]
fn handshake() {
    replay("handshake", fuzz_bodies::handshake);
}

#[test]
fn operations() {
    replay("operations", fuzz_bodies::operations);
}

/// A cheap stand-in for a fuzzer: random bytes, every run.
#[test]
fn random_bytes() {
    let mut state = 1u64;
    let mut next = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    for _ in 0..3000 {
        let length = next() as usize % 600;
        let bytes: Vec<u8> = (0..length).map(|_| next() as u8).collect();
        fuzz_bodies::packet_decoder(&bytes);
        fuzz_bodies::handshake(&bytes);
        fuzz_bodies::operations(&bytes);
    }
}
