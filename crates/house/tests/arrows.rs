//! Dependencies point only downward, and only where ARCHITECTURE.md draws an arrow.

use std::collections::BTreeMap;

use laxity_house::{crates, root, text};

/// Each crate, what it may be built from, and what its tests may use on top of that.
const ARROWS: &[(&str, &[&str], &[&str])] = &[
    ("interface", &[], &[]),
    ("report", &[], &[]),
    ("house", &[], &[]),
    ("link", &["interface"], &[]),
    ("learn", &["interface", "link"], &["report"]),
    ("topology", &["interface"], &[]),
    ("planner", &["interface", "topology"], &[]),
    ("flowsim", &["interface", "planner", "topology"], &[]),
    ("protocol", &["interface"], &["link"]),
    ("packetsim", &["interface", "protocol", "topology"], &[]),
    ("switch", &["interface", "link"], &["protocol"]),
    ("endpoint", &["interface", "protocol"], &["link"]),
    (
        "fabric",
        &["endpoint", "interface", "packetsim", "planner", "protocol", "topology"],
        &["link"],
    ),
    ("controller", &["fabric", "interface", "planner", "protocol", "topology"], &[]),
    (
        "reproduce",
        &[
            "fabric",
            "flowsim",
            "interface",
            "learn",
            "link",
            "packetsim",
            "planner",
            "report",
            "topology",
        ],
        &[],
    ),
    ("lab", &["endpoint", "interface", "link", "protocol", "switch"], &["report"]),
    (
        "cli",
        &[
            "controller",
            "endpoint",
            "fabric",
            "flowsim",
            "interface",
            "lab",
            "learn",
            "link",
            "packetsim",
            "planner",
            "protocol",
            "report",
            "reproduce",
            "switch",
            "topology",
        ],
        &[],
    ),
];

#[test]
fn every_dependency_is_an_arrow_of_the_drawing() {
    for found in crates() {
        let Some((name, uses, tests_use)) = ARROWS.iter().find(|(name, ..)| *name == found.name)
        else {
            panic!(
                "crate `{}` has no place in the house yet: add it to ARROWS here and to the \
                 drawing in ARCHITECTURE.md",
                found.name
            );
        };
        for used in &found.uses {
            assert!(uses.contains(&used.as_str()), "`{name}` must not be built from `{used}`");
        }
        for used in &found.tests_use {
            let allowed = uses.contains(&used.as_str()) || tests_use.contains(&used.as_str());
            assert!(allowed, "tests of `{name}` must not use `{used}`");
        }
    }
}

#[test]
fn the_table_itself_has_no_circle() {
    // Every crate only uses crates that are listed before it.
    let places: BTreeMap<_, _> = ARROWS.iter().enumerate().map(|(at, row)| (row.0, at)).collect();
    for (name, uses, tests_use) in ARROWS {
        for used in uses.iter().chain(*tests_use) {
            assert!(places[used] < places[name], "`{name}` is listed before `{used}`");
        }
    }
}

#[test]
fn folders_are_named_like_crates_and_share_the_lints() {
    for found in crates() {
        let folder = found.folder.strip_prefix(root()).expect("crates lie in the workspace");
        let expected = format!("crates/{}", found.name);
        assert_eq!(folder.to_string_lossy(), expected, "folder of `{}`", found.name);
        let manifest = text(folder.join("Cargo.toml"));
        assert!(
            manifest.contains("[lints]\nworkspace = true"),
            "`{}` does not take part in the workspace's lints",
            found.name
        );
    }
}

#[test]
fn the_drawing_shows_every_crate() {
    let (page, readme) = (text("ARCHITECTURE.md"), text("README.md"));
    for found in crates() {
        let name = format!("`{}`", found.name);
        assert!(page.contains(&name), "ARCHITECTURE.md does not mention {name}");
        let package = format!("`laxity-{}`", found.name);
        assert!(readme.contains(&package), "README.md does not mention {package}");
    }
}
