//! Why a scenario was refused.

use std::ops::Range;

/// Why a scenario was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It is not TOML, or a field is unknown, missing or of the wrong kind.
    #[error("{reason}")]
    Syntax {
        /// Where and why, with the line.
        reason: String,
    },
    /// A field says something that cannot be.
    #[error("line {line}, `{path}`: {reason}")]
    Field {
        /// Its line, counted from 1.
        line: usize,
        /// Where it stands, such as `workloads[0].load`.
        path: String,
        /// What is wrong, and what would be right.
        reason: String,
    },
}

impl FileError {
    /// The field that is wrong, where it is known.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Syntax { .. } => None,
            Self::Field { path, .. } => Some(path),
        }
    }

    /// The line of the field that is wrong, where it is known.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Syntax { .. } => None,
            Self::Field { line, .. } => Some(*line),
        }
    }
}

/// The text of a file, to find lines in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a>(pub(super) &'a str);

impl Text<'_> {
    /// An error at this place.
    pub(super) fn wrong(
        self,
        span: Range<usize>,
        path: impl Into<String>,
        reason: impl Into<String>,
    ) -> FileError {
        let before = &self.0.as_bytes()[..span.start.min(self.0.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        FileError::Field { line, path: path.into(), reason: reason.into() }
    }
}
