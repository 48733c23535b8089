//! Looks at the workspace itself, so that its rules are tests and not wishes.
//!
//! **What it is.** A few helpers that list crates, their dependencies and the files of the
//! repository. The rules are in `tests/`: `arrows.rs` (who may depend on whom), `rooms.rs` (what
//! crates without input and output must not touch), `files.rs` (how long a file may be) and
//! `pages.rs` (documents say what the code says). `ARCHITECTURE.md` gives the reasons.
//!
//! **What it is not.** Nothing depends on this crate, and nothing of it ships.
//!
//! ```
//! let crates = laxity_house::crates();
//! assert!(crates.iter().any(|found| found.name == "interface" && found.uses.is_empty()));
//! ```
#![forbid(unsafe_code)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// A crate of the workspace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Crate {
    /// Its name without `laxity-`.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Crates of the workspace that it is built from, without `laxity-`.
    pub uses: Vec<String>,
    /// Crates of the workspace that only its tests and examples use.
    pub tests_use: Vec<String>,
    /// What it is built from that is not part of the workspace.
    pub foreign: Vec<String>,
}

/// The folder that holds the workspace.
///
/// # Panics
/// If this crate was moved to another depth.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/house lies two levels below the root").to_path_buf()
}

/// All crates of the workspace, as cargo sees them.
///
/// # Panics
/// If cargo cannot be run or does not understand the workspace.
pub fn crates() -> Vec<Crate> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo can be run");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata failed: {errors}");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages");
    packages.iter().map(read_crate).collect()
}

fn read_crate(package: &Value) -> Crate {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let folder = PathBuf::from(text(&package["manifest_path"]));
    let mut found = Crate {
        name: own(&text(&package["name"])).unwrap_or_else(|| text(&package["name"])),
        folder: folder.parent().map(Path::to_path_buf).unwrap_or_default(),
        uses: Vec::new(),
        tests_use: Vec::new(),
        foreign: Vec::new(),
    };
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        let name = text(&dependency["name"]);
        let for_tests = dependency["kind"] == "dev";
        match (own(&name), for_tests) {
            (Some(name), false) => found.uses.push(name),
            (Some(name), true) => found.tests_use.push(name),
            (None, false) => found.foreign.push(name),
            (None, true) => {}
        }
    }
    found
}

/// The short name of a crate of ours.
fn own(package: &str) -> Option<String> {
    package.strip_prefix("laxity-").map(str::to_owned)
}

/// All files below `folder` whose names end in `.extension`, sorted.
///
/// # Panics
/// If the folder cannot be read.
pub fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).expect("folders of the workspace can be read");
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The text of a file, named from the root of the workspace.
///
/// # Panics
/// If there is no such file.
pub fn text(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
