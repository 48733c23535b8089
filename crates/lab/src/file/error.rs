//! Why a lab file was refused.

/// Why a lab file was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It is not TOML, or a field has the wrong shape.
    #[error("{reason}")]
    Syntax {
        /// Where and why.
        reason: String,
    },
    /// A field says something that cannot be.
    #[error("`{path}`: {reason}")]
    Field {
        /// Where it stands, such as `hosts[2].switch`.
        path: String,
        /// What is wrong, and what to do.
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
}

/// An error at this place.
pub(super) fn wrong<T>(path: impl Into<String>, reason: impl Into<String>) -> Result<T, FileError> {
    Err(FileError::Field { path: path.into(), reason: reason.into() })
}
