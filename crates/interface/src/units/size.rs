//! Amounts of data in whole bytes.

use std::{
    fmt,
    iter::Sum,
    ops::{Add, AddAssign, Div, Mul, Sub, SubAssign},
    str::FromStr,
};

use super::{UnitError, decimal::Scale, serial::unit_as_text};

// Case matters: `Mb` would be read as megabits by half of the people and is refused.
const SCALE: Scale = Scale {
    what: "size",
    base: "bytes",
    example: "25MiB",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("KB", 1_000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("GB", 1_000_000_000),
        ("GiB", 1 << 30),
        ("TB", 1_000_000_000_000),
        ("TiB", 1 << 40),
    ],
    bare: Some(1),
};

/// An amount of data, in bytes.
///
/// ```
/// use laxity_interface::Bytes;
/// assert_eq!("25MiB".parse(), Ok(Bytes::from_mib(25)));
/// assert_eq!(Bytes::new(25_000_000).to_string(), "25MB");
/// assert_eq!(Bytes::new(1400).to_string(), "1400B");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The largest amount, used as "without limit".
    pub const MAX: Self = Self(u64::MAX);

    /// This many bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// This many times 1024 bytes.
    pub const fn from_kib(kib: u64) -> Self {
        Self(kib.saturating_mul(1 << 10))
    }

    /// This many times 1024² bytes.
    pub const fn from_mib(mib: u64) -> Self {
        Self(mib.saturating_mul(1 << 20))
    }

    /// This many times 1024³ bytes.
    pub const fn from_gib(gib: u64) -> Self {
        Self(gib.saturating_mul(1 << 30))
    }

    /// Whether this is nothing.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

/// Rounds down. Panics on zero, as integers do.
impl Div<u64> for Bytes {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SCALE.write_whole(self.0, f)
    }
}

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        SCALE.parse(text).map(Self)
    }
}

unit_as_text!(Bytes, "a size such as \"25MiB\", or a whole number of bytes", Some(Self::new), {
    "description": "A size with its unit (B, kB, KiB, MB, MiB, GB, GiB, TB, TiB), or a whole number of bytes.",
    "examples": ["25MiB", "1400B", 1400],
    "anyOf": [
        { "type": "integer", "minimum": 0 },
        {
            "type": "string",
            "pattern": r"^\s*[0-9_]+(\.[0-9_]+)?\s*(B|[kKMGT]B|[KMGT]iB)?\s*$",
        },
    ],
});
