//! Whole files in memory, unpacked.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use flate2::read::MultiGzDecoder;

use super::LoadError;

/// No set has a file that is larger when unpacked.
const LIMIT: u64 = 256 << 20;

/// A file's content with its name, for messages.
pub(super) struct Content {
    pub(super) file: PathBuf,
    pub(super) bytes: Vec<u8>,
}

impl Content {
    /// Reads a file; one that ends in `.gz` is unpacked.
    pub(super) fn read(file: PathBuf) -> Result<Self, LoadError> {
        let packed = file.extension().is_some_and(|end| end == "gz");
        let mut bytes = Vec::new();
        let read = File::open(&file).and_then(|opened| {
            if packed {
                MultiGzDecoder::new(opened).take(LIMIT + 1).read_to_end(&mut bytes)
            } else {
                opened.take(LIMIT + 1).read_to_end(&mut bytes)
            }
        });
        match read {
            Err(source) => Err(LoadError::Read { file, source }),
            Ok(count) if count as u64 > LIMIT => Err(LoadError::TooLarge { file, limit: LIMIT }),
            Ok(_) => Ok(Self { file, bytes }),
        }
    }

    /// The error for something wrong at a place.
    pub(super) fn damaged(&self, offset: usize, what: impl Into<String>) -> LoadError {
        LoadError::Damaged { file: self.file.clone(), offset, what: what.into() }
    }

    /// Lines with the place where each begins; empty ones are left out.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let mut next = 0;
        self.bytes.split(|byte| *byte == b'\n').filter_map(move |line| {
            let start = next;
            next += line.len() + 1;
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            (!line.is_empty()).then_some((start, line))
        })
    }

    /// The whole numbers of a line, exactly `COUNT` of them.
    pub(super) fn numbers<const COUNT: usize>(
        &self,
        (start, line): (usize, &[u8]),
    ) -> Result<[u32; COUNT], LoadError> {
        let wrong = || {
            let shown: String = String::from_utf8_lossy(line).chars().take(40).collect();
            self.damaged(start, format!("expected {COUNT} whole numbers, found {shown:?}"))
        };
        let text = std::str::from_utf8(line).map_err(|_| wrong())?;
        let mut numbers = [0; COUNT];
        let mut words = text.split_ascii_whitespace();
        for number in &mut numbers {
            let parsed = words.next().and_then(|word| word.parse().ok());
            *number = parsed.ok_or_else(wrong)?;
        }
        if words.next().is_some() { Err(wrong()) } else { Ok(numbers) }
    }
}

/// The first of some names that exists in a folder.
pub(super) fn first_existing(folder: &Path, names: &[String]) -> Option<PathBuf> {
    names.iter().map(|name| folder.join(name)).find(|path| path.exists())
}
