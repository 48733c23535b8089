//! Data rates in whole bits per second.

use std::{fmt, str::FromStr};

use super::{Bytes, Span, UnitError, decimal::Scale, serial::unit_as_text};

const KILO: u64 = 1_000;
const MEGA: u64 = 1_000_000;
const GIGA: u64 = 1_000_000_000;
const TERA: u64 = 1_000_000_000_000;

/// Picoseconds in a second times one byte in bits: what turns bytes/rate into picoseconds.
const BIT_PS: u128 = 8 * TERA as u128;

const SCALE: Scale = Scale {
    what: "rate",
    base: "bits per second",
    example: "10Gbps",
    units: &[
        ("bps", 1),
        ("kbps", KILO),
        ("Mbps", MEGA),
        ("Gbps", GIGA),
        ("Tbps", TERA),
        ("bit", 1),
        ("kbit", KILO),
        ("Mbit", MEGA),
        ("Gbit", GIGA),
        ("Tbit", TERA),
    ],
    bare: None,
};

/// A data rate, in bits per second.
///
/// ```
/// use laxity_interface::{Bytes, Rate, Span};
/// let rate: Rate = "10Gbps".parse()?;
/// assert_eq!(rate.time_for(Bytes::new(1250)), Span::from_us(1));
/// assert_eq!(rate.bytes_in(Span::from_us(1)), Bytes::new(1250));
/// # Ok::<(), laxity_interface::UnitError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

impl Rate {
    /// Nothing moves.
    pub const ZERO: Self = Self(0);
    /// The largest rate.
    pub const MAX: Self = Self(u64::MAX);

    /// This many bits per second.
    pub const fn bps(bps: u64) -> Self {
        Self(bps)
    }

    /// This many million bits per second.
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps.saturating_mul(MEGA))
    }

    /// This many thousand million bits per second.
    pub const fn from_gbps(gbps: u64) -> Self {
        Self(gbps.saturating_mul(GIGA))
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Thousand million bits per second.
    pub fn as_gbps_f64(self) -> f64 {
        self.0 as f64 / GIGA as f64
    }

    /// How long `size` takes at this rate, rounded up; [`Span::MAX`] at rate zero.
    ///
    /// Rounded up so that a paced sender never exceeds its rate.
    pub const fn time_for(self, size: Bytes) -> Span {
        if self.0 == 0 {
            return Span::MAX;
        }
        let ps = (size.get() as u128 * BIT_PS).div_ceil(self.0 as u128);
        Span::from_ps(if ps > u64::MAX as u128 { u64::MAX } else { ps as u64 })
    }

    /// How many whole bytes fit into `span` at this rate.
    pub const fn bytes_in(self, span: Span) -> Bytes {
        let bytes = self.0 as u128 * span.as_ps() as u128 / BIT_PS;
        Bytes::new(if bytes > u64::MAX as u128 { u64::MAX } else { bytes as u64 })
    }

    /// This rate times `factor`, rounded; zero for negative factors and NaN.
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).round() as u64)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SCALE.write_decimal(self.0, f)
    }
}

impl FromStr for Rate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        SCALE.parse(text).map(Self)
    }
}

unit_as_text!(Rate, "a rate with its unit in quotes, such as \"10Gbps\"", None, {
    "type": "string",
    "description": "A rate with its unit: bps, kbps, Mbps, Gbps or Tbps (or bit, kbit, ...).",
    "pattern": r"^\s*[0-9_]+(\.[0-9_]+)?\s*[kMGT]?(bps|bit)\s*$",
    "examples": ["10Gbps", "300Mbps"],
});
