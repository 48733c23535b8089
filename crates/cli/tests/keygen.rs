//! `laxity keygen`.

mod common;

use std::{fs, os::unix::fs::PermissionsExt};

use common::{json, run, text};
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
