//! Bags of words in the UCI format.

use std::path::{Path, PathBuf};

use super::{LoadError, open::Content};
use crate::data::{Documents, Split, tenth_for_testing};

/// The first `docword.*.txt` or `docword.*.txt.gz` of a folder: three lines with the numbers of
/// documents, words and entries, then lines of document, word and count. Every tenth document is
/// for testing.
pub fn words(folder: &Path) -> Result<Split<Documents>, LoadError> {
    let content = Content::read(find(folder)?)?;
    let mut lines = content.lines();
    let mut size = |what: &str| {
        let line = lines.next();
        let line =
            line.ok_or_else(|| content.damaged(content.bytes.len(), format!("no {what}")))?;
        let [size] = content.numbers(line)?;
        let odd = || content.damaged(line.0, format!("{size} {what}"));
        if size == 0 || size > 1 << 24 { Err(odd()) } else { Ok(size) }
    };
    let (count, words, entries) = (size("documents")?, size("words")?, size("entries")?);
    let mut documents: Vec<Vec<(u32, u32)>> = vec![Vec::new(); count as usize];
    let mut found = 0;
    for line in lines {
        let [document, word, times] = content.numbers(line)?;
        let inside = (1..=count).contains(&document) && (1..=words).contains(&word);
        if !inside || times == 0 {
            let what = format!(
                "document {document} of {count}, word {word} of {words}, {times} times: numbers start at 1"
            );
            return Err(content.damaged(line.0, what));
        }
        documents[document as usize - 1].push((word - 1, times));
        found += 1;
    }
    if found != entries {
        let what = format!("{found} entries, expected {entries}");
        return Err(content.damaged(content.bytes.len(), what));
    }
    documents.retain(|document| !document.is_empty());
    documents.iter_mut().for_each(|document| document.sort_unstable());
    let (train, test) = tenth_for_testing(documents);
    let part = |documents| Documents { words: words as usize, documents };
    Ok(Split { train: part(train), test: part(test) })
}

fn find(folder: &Path) -> Result<PathBuf, LoadError> {
    let refused = |source| LoadError::Read { file: folder.to_path_buf(), source };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(refused)? {
        let path = entry.map_err(refused)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let fits = name.is_some_and(|name| {
            name.starts_with("docword.") && (name.ends_with(".txt") || name.ends_with(".txt.gz"))
        });
        if fits {
            names.push(path);
        }
    }
    names.sort();
    let none = LoadError::Missing {
        folder: folder.to_path_buf(),
        wanted: "docword.*.txt or docword.*.txt.gz",
    };
    names.into_iter().next().ok_or(none)
}
