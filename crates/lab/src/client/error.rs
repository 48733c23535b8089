//! Why a lab could not be used.

use std::{io, path::PathBuf};

/// Why a lab could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// A name that cannot be a folder's.
    #[error(
        "`{name}` is no name for a lab: use letters, digits, `-`, `_` and `.`, a letter or digit \
         first, at most 64 of them"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// A lab of that name is running.
    #[error(
        "lab `{name}` is up already (process {process}); end it with `laxity lab down {name}`, or \
         give this one another name with --name"
    )]
    Taken {
        /// Its name.
        name: String,
        /// Its daemon.
        process: String,
    },
    /// There is no such lab.
    #[error("no lab called `{name}` is up; {known}")]
    Unknown {
        /// The name.
        name: String,
        /// Which there are, and what to do.
        known: String,
    },
    /// Its daemon died.
    #[error(
        "lab `{name}` is dead: its daemon ended without cleaning up; `laxity lab down {name}` does \
         that, and so does the next `laxity lab up`"
    )]
    Dead {
        /// Its name.
        name: String,
    },
    /// There is no such host.
    #[error("lab `{lab}` has no host `{host}`; there is `{known}`")]
    Host {
        /// The lab.
        lab: String,
        /// The host.
        host: String,
        /// Which there are.
        known: String,
    },
    /// The place for its files cannot be used.
    #[error(
        "cannot use the folder `{}`: {source}; set LAXITY_RUNTIME_DIR to a folder that is yours",
        path.display()
    )]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A Unix socket cannot have that long a path.
    #[error(
        "the path `{}` has {length} bytes and a socket's may have {most}; set LAXITY_RUNTIME_DIR to \
         a shorter one, or give the lab a shorter name",
        path.display()
    )]
    LongPath {
        /// The path.
        path: PathBuf,
        /// How long it is.
        length: usize,
        /// How long it may be.
        most: usize,
    },
    /// The daemon could not be started.
    #[error("cannot start the lab's daemon `{program}`: {source}")]
    Start {
        /// Its program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// The daemon could not bring the lab up.
    #[error("{reason}")]
    Refused {
        /// In its own words.
        reason: String,
    },
    /// The daemon does not answer.
    #[error("lab `{name}` does not answer: {source}; `laxity lab down {name}` ends it")]
    Silent {
        /// The lab.
        name: String,
        /// Why.
        source: io::Error,
    },
}
