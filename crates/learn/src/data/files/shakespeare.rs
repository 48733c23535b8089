//! Any text, such as Tiny Shakespeare.

use std::path::Path;

use super::{LoadError, open::Content};
use crate::data::{Split, Text};

/// Too little to learn anything from.
const SHORTEST: usize = 2000;

/// `input.txt`, byte by byte. The last tenth is for testing.
pub fn shakespeare(folder: &Path) -> Result<Split<Text>, LoadError> {
    let content = Content::read(folder.join("input.txt"))?;
    let found = content.bytes.len();
    if found < SHORTEST {
        return Err(
            content.damaged(found, format!("a text of {found} bytes, expected {SHORTEST} or more"))
        );
    }
    Ok(Split::of_bytes(&content.bytes))
}
