//! Documents say what the code says, and their links lead somewhere.

use std::path::{Path, PathBuf};

use laxity_house::{files, root, text};

fn pages() -> Vec<PathBuf> {
    let names = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    let mut pages: Vec<_> = names.iter().map(|name| root().join(name)).collect();
    pages.extend(files(&root().join("docs"), "md"));
    pages.extend(files(&root().join("crates"), "md"));
    pages
}

#[test]
fn links_lead_somewhere() {
    for page in pages() {
        let (folder, content) = (page.parent().expect("a page lies in a folder"), text(&page));
        for target in links(&content) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() { page.clone() } else { folder.join(file) };
            assert!(path.exists(), "{}: no such file: {target}", page.display());
            let found = anchor.is_empty() || anchors(&text(&path)).iter().any(|a| a == anchor);
            assert!(found, "{}: no such heading: {target}", page.display());
        }
    }
}

/// Targets of `[text](target)` that lie in the repository, outside of code blocks.
fn links(page: &str) -> Vec<&str> {
    let mut code = false;
    let lines = page.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    });
    lines
        .flat_map(|line| line.split("](").skip(1))
        .filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
        .filter(|target| !target.starts_with("http"))
        .collect()
}

/// The anchors that headings get: lower case, no punctuation, hyphens for spaces.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let words = line.trim_start_matches('#').trim().to_lowercase();
            let kept = words.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

/// The table "Constants" of the protocol's description quotes the code.
#[test]
fn constants_are_those_of_the_code() {
    let page = text("docs/protocol.md");
    let rows: Vec<_> = page.lines().filter_map(quoted).collect();
    assert!(rows.len() > 30, "the table of constants is gone: {} rows", rows.len());
    for (file, code) in rows {
        let source = text(Path::new("crates/protocol/src").join(file));
        assert!(source.contains(code), "docs/protocol.md quotes `{code}`, which {file} lacks");
    }
}

/// A row that ends in `` | `file.rs` | `code` | ``.
fn quoted<'a>(row: &'a str) -> Option<(&'a str, &'a str)> {
    let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
    let [.., file, code] = &cells[..] else { return None };
    let inside = |cell: &&'a str| cell.strip_prefix('`')?.strip_suffix('`');
    let (file, code) = (inside(file)?, inside(code)?);
    file.ends_with(".rs").then_some((file, code))
}

/// Every frame and its number.
#[test]
fn frames_are_those_of_the_code() {
    let page = text("docs/protocol.md");
    let code = text("crates/protocol/src/wire/frame.rs");
    let body = code.split_once("pub enum FrameKind {").expect("the list of frames").1;
    let body = body.split_once('}').expect("its end").0;
    let mut count = 0;
    for line in body.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
        let Some((name, number)) = line.trim_end_matches(',').split_once(" = ") else { continue };
        let row = format!("| {number} | {name} |");
        assert!(page.contains(&row), "docs/protocol.md lacks the row `{row}`");
        count += 1;
    }
    assert!(count > 10, "found only {count} frames in the code");
}

/// The example of the first page is the one that is compiled.
#[test]
fn the_example_of_the_readme_is_compiled() {
    let page = text("README.md");
    let example = page.split_once("```rust\n").expect("an example").1.split_once("```").unwrap().0;
    let code = text("crates/endpoint/src/lib.rs");
    let compiled: Vec<_> = code.lines().filter_map(|line| line.strip_prefix("//!")).collect();
    for line in example.lines().filter(|line| !line.trim().is_empty()) {
        let found = compiled.iter().any(|compiled| compiled.trim() == line.trim());
        assert!(found, "README.md shows a line that crates/endpoint/src/lib.rs lacks: {line}");
    }
}

/// What stands in backquotes outside of code blocks.
fn quotes(page: &str) -> Vec<String> {
    let prose: String = page.split("```").step_by(2).collect();
    prose.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Files and folders that pages name are there.
#[test]
fn pages_name_files_that_are_there() {
    let roots = ["", "crates", "crates/protocol/src", "crates/protocol/tests"];
    // README.md names a folder that `make demo` makes.
    for page in pages().into_iter().filter(|page| !page.ends_with("README.md")) {
        for name in quotes(&text(&page)) {
            if name.ends_with(".rs") || name.ends_with('/') {
                let found = roots.iter().any(|folder| root().join(folder).join(&name).exists());
                assert!(found, "{} names `{name}`, which is not there", page.display());
            }
        }
    }
}

/// Tests and functions that ARCHITECTURE.md names are there.
#[test]
fn the_map_names_tests_that_are_there() {
    let sources = files(&root().join("crates"), "rs");
    let code: String = sources.iter().map(text).collect();
    for name in quotes(&text("ARCHITECTURE.md")) {
        let is_file = name.ends_with(".rs") || name.ends_with('/');
        if !is_file && name.matches('_').count() >= 2 && !name.contains(' ') {
            let found = code.contains(&format!("fn {name}("));
            assert!(found, "ARCHITECTURE.md names the test `{name}`, which is not there");
        }
    }
}
