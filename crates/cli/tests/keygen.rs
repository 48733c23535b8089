//! `laxity keygen`.

mod common;

use std::{
    fs,
    os::unix::fs::{FileTypeExt, PermissionsExt},
};

use common::{json, laxity, run, text};
use laxity_endpoint::Key;

#[test]
fn a_key_is_readable_by_its_owner_only_and_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k");
    let name = path.to_str().unwrap();
    let read = || fs::read_to_string(&path).unwrap().parse::<Key>().unwrap();

    assert!(run(&["keygen", name]).status.success());
    let first = read();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    let again = run(&["keygen", name]);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("--force"), "{}", text(&again.stderr));
    assert_eq!(read(), first);

    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let forced = run(&["keygen", name, "--force", "--json"]);
    let row = &json(&forced)["rows"][0];
    assert_ne!(read(), first);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let id: String = read().id().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(row["key_id"], id);
    assert!(row.get("key").is_none(), "the secret is in the file, not in the report");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
}

#[test]
fn a_key_can_be_printed() {
    let output = run(&["keygen", "-"]);
    assert!(output.status.success());
    assert!(text(&output.stdout).parse::<Key>().is_ok());
}

/// As root it made a file of `/dev/full`.
#[test]
fn only_files_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let output = run(&["keygen", path.to_str().unwrap(), "--force"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("it is there and no file"), "{}", text(&output.stderr));
    assert!(path.metadata().unwrap().file_type().is_socket());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
}

/// It was advised to use --force, which does not help.
#[test]
fn a_folder_that_is_missing_is_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing").join("k");
    let output = run(&["keygen", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("check that the folder exists") && !said.contains("--force"), "{said}");
}

#[test]
fn a_key_file_that_the_environment_names_is_told_so() {
    let output = laxity(&["doctor"]).env("LAXITY_KEY_FILE", "/nowhere/k").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("LAXITY_KEY_FILE names") && said.contains("`/nowhere/k`"), "{said}");
    assert!(said.contains("try:"), "{said}");
}
