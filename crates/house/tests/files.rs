//! Files stay short enough to be read in one sitting.

use laxity_house::{files, root};

/// No source file is longer than this.
const LONGEST: usize = 800;
/// Half of them are shorter than this.
const MEDIAN: usize = 250;

#[test]
fn source_files_are_short() {
    let mut lengths = Vec::new();
    for path in files(&root().join("crates"), "rs") {
        let code = std::fs::read_to_string(&path).expect("source files can be read");
        // Nobody reads what a program wrote; its source is read instead.
        if code.starts_with("// @generated") {
            continue;
        }
        let lines = code.lines().count();
        assert!(lines <= LONGEST, "{} has {lines} lines: split it by topic", path.display());
        lengths.push(lines);
    }
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!(median < MEDIAN, "the median source file has {median} lines");
}
