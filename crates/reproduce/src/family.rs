//! Which paper an experiment is of.

use std::{fmt, str::FromStr};

use crate::error::ReproduceError;

/// One of the four papers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// An application's objective as the network's interface.
    Cadentflow,
    /// A transport that loses a bounded part.
    Bounded,
    /// Approximation in the network.
    Netapprox,
    /// Ordering, aggregating and replicating updates of models.
    Mlfabric,
}

impl Family {
    /// All of them, by the number of the paper.
    pub const ALL: [Self; 4] = [Self::Cadentflow, Self::Bounded, Self::Netapprox, Self::Mlfabric];

    /// Its name, with which the names of its experiments begin.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cadentflow => "cadentflow",
            Self::Bounded => "bounded",
            Self::Netapprox => "netapprox",
            Self::Mlfabric => "mlfabric",
        }
    }

    /// The number of the paper among the project's seeds.
    pub const fn seed(self) -> &'static str {
        match self {
            Self::Cadentflow => "000",
            Self::Bounded => "001",
            Self::Netapprox => "002",
            Self::Mlfabric => "003",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Family {
    type Err = ReproduceError;

    fn from_str(text: &str) -> Result<Self, ReproduceError> {
        let found = Self::ALL.into_iter().find(|family| family.name() == text);
        found.ok_or_else(|| ReproduceError::UnknownFamily { family: text.to_owned() })
    }
}
