//! Bytes or packets.

use std::{borrow::Cow, fmt, str::FromStr};

use laxity_interface::Bytes;
use serde::{Deserialize, Deserializer, de};

/// How much waits in a queue: bytes (`90KB`) or packets (`65packets`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// So many bytes.
    Bytes(Bytes),
    /// So many packets.
    Packets(u32),
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Packets(packets) => write!(f, "{packets}packets"),
        }
    }
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = ["packets", "packet"];
        match units.iter().find_map(|unit| text.trim().strip_suffix(unit)) {
            Some(number) => number.trim().parse().map(Self::Packets).map_err(|_| {
                format!("`{text}` is not an amount: write a whole number like `65packets`")
            }),
            None => text.parse().map(Self::Bytes).map_err(|error| {
                format!("{error}; an amount is bytes like `90KB` or packets like `65packets`")
            }),
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
