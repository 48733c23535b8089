//! The two fields of an IP header that the network and its users talk through: ECN and DSCP.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The explicit congestion notification field of a packet (RFC 3168).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Ecn {
    /// The sender does not understand marks: a congested switch drops.
    #[default]
    NotEct,
    /// The sender understands marks; the codepoint that nearly everyone uses.
    Ect0,
    /// The sender understands marks; L4S uses this codepoint (RFC 9331).
    Ect1,
    /// A switch on the path was congested.
    Ce,
}

impl Ecn {
    /// The two bits as they stand in the low end of the TOS or traffic class byte.
    pub const fn to_bits(self) -> u8 {
        match self {
            Self::NotEct => 0b00,
            Self::Ect1 => 0b01,
            Self::Ect0 => 0b10,
            Self::Ce => 0b11,
        }
    }

    /// Reads the low two bits and ignores the others, so a whole TOS byte may be given.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// Whether a congested switch may mark this packet instead of dropping it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }

    /// What a congested switch makes of it: a mark, if the sender understands marks.
    #[must_use]
    pub const fn marked(self) -> Self {
        if self.is_capable() { Self::Ce } else { Self::NotEct }
    }
}

/// A number that does not fit the six bits of a [`Dscp`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("dscp {value} does not fit 6 bits: give a number from 0 to 63")]
pub struct DscpError {
    /// The number as given.
    pub value: u8,
}

/// The differentiated services code point of a packet: which queue it asks for (RFC 2474).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(try_from = "u8", into = "u8")]
pub struct Dscp(u8);

impl Dscp {
    /// Best effort.
    pub const DEFAULT: Self = Self(0);

    /// Checks that `value` fits six bits.
    pub const fn new(value: u8) -> Result<Self, DscpError> {
        if value < 64 { Ok(Self(value)) } else { Err(DscpError { value }) }
    }

    /// The number, 0 to 63.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The TOS or traffic class byte that carries this code point and `ecn`.
    pub const fn with_ecn(self, ecn: Ecn) -> u8 {
        self.0 << 2 | ecn.to_bits()
    }

    /// The code point in a TOS or traffic class byte.
    pub const fn from_tos(tos: u8) -> Self {
        Self(tos >> 2)
    }
}

impl TryFrom<u8> for Dscp {
    type Error = DscpError;
    fn try_from(value: u8) -> Result<Self, DscpError> {
        Self::new(value)
    }
}

impl From<Dscp> for u8 {
    fn from(dscp: Dscp) -> Self {
        dscp.0
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tos_byte_comes_back() {
        for tos in 0..=u8::MAX {
            let (dscp, ecn) = (Dscp::from_tos(tos), Ecn::from_bits(tos));
            assert_eq!(dscp.with_ecn(ecn), tos);
            assert_eq!(Dscp::new(dscp.get()), Ok(dscp));
        }
    }

    #[test]
    fn codepoints_are_those_of_rfc_3168() {
        let bits = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(Ecn::to_bits);
        assert_eq!(bits, [0, 1, 2, 3]);
        assert_eq!(Ecn::NotEct.marked(), Ecn::NotEct);
        assert_eq!(Ecn::Ect0.marked(), Ecn::Ce);
    }

    #[test]
    fn seven_bits_are_refused() {
        assert_eq!(Dscp::new(64), Err(DscpError { value: 64 }));
        assert!(serde_json::from_str::<Dscp>("64").is_err());
        assert_eq!(serde_json::from_str::<Dscp>("46").unwrap().get(), 46);
    }
}
