//! Names of the things in a fabric: dense numbers, in the order in which they were added.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $word:literal) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(u32);

        impl $name {
            /// The one with this number.
            pub const fn new(number: u32) -> Self {
                Self(number)
            }

            /// Its number, from 0.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($word, " {}"), self.0)
            }
        }
    };
}

id!(
    /// A host: where frames come from and go to.
    HostId,
    "host"
);
id!(
    /// A switch.
    SwitchId,
    "switch"
);
id!(
    /// One direction of a link: the output port at its beginning and the wire behind it.
    PortId,
    "port"
);

/// What a link can lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeId {
    /// A host.
    Host(HostId),
    /// A switch.
    Switch(SwitchId),
}

impl From<HostId> for NodeId {
    fn from(host: HostId) -> Self {
        Self::Host(host)
    }
}

impl From<SwitchId> for NodeId {
    fn from(switch: SwitchId) -> Self {
        Self::Switch(switch)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host) => host.fmt(f),
            Self::Switch(switch) => switch.fmt(f),
        }
    }
}
