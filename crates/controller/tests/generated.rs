//! The committed code is what `proto/controller.proto` gives. No `protoc` is needed to build: whoever
//! changes the file runs this test with `LAXITY_GENERATE=1`, which writes the code anew.

use std::{fs, path::Path};

/// The first lines of the generated file.
const HEAD: &str =
    "// @generated from proto/controller.proto by tests/generated.rs. Do not edit.\n";

fn generated() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let proto = folder.join("proto");
    let found = protox::compile([proto.join("controller.proto")], [&proto]);
    let descriptors = found.expect("the file describes a protocol");
    let out = tempfile::tempdir().expect("a folder for the code");
    tonic_prost_build::configure()
        .btree_map(".")
        .out_dir(out.path())
        .compile_fds(descriptors)
        .expect("code can be made of it");
    let code = fs::read_to_string(out.path().join("laxity.controller.v1.rs"));
    format!("{HEAD}{}", code.expect("the code is there"))
}

#[test]
fn the_committed_code_is_that_of_the_protocol_file() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/wire/generated.rs");
    let fresh = generated();
    if std::env::var_os("LAXITY_GENERATE").is_some() {
        fs::write(&place, &fresh).expect("the code can be written");
    }
    let committed = fs::read_to_string(&place).unwrap_or_default();
    assert!(
        committed == fresh,
        "src/wire/generated.rs is not what proto/controller.proto gives: run \
         `LAXITY_GENERATE=1 cargo test -p laxity-controller --test generated`"
    );
}
