//! What can be wrong with a file.

use std::{io, path::PathBuf};

use thiserror::Error;

/// Why a set could not be loaded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The operating system refused, or the file is not valid gzip.
    #[error("cannot read {}: {source}; docs/learn.md says which files a set needs", file.display())]
    Read {
        /// The file or folder.
        file: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The file is larger than any file of its kind.
    #[error("{} has more than {limit} bytes when unpacked; it is not the file it should be", file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// What would have been read.
        limit: u64,
    },
    /// The content is not what it should be.
    #[error("{}, byte {offset}: {what}; get the file again", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Where in it, after unpacking.
        offset: usize,
        /// What was expected and what is there.
        what: String,
    },
    /// There is nothing in the folder that could be loaded.
    #[error("{} holds no {wanted}", folder.display())]
    Missing {
        /// The folder.
        folder: PathBuf,
        /// What it should hold.
        wanted: &'static str,
    },
}
