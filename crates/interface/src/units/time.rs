//! Instants and durations in whole picoseconds.
//!
//! At 400 Gbit/s a 64-byte packet takes 1.28 ns: nanoseconds would be too coarse for a simulator,
//! and one clock serves simulator and sockets alike. 64 bits hold 213 days.

use std::{
    fmt,
    iter::Sum,
    ops::{Add, AddAssign, Div, Mul, Sub, SubAssign},
    str::FromStr,
    time::Duration,
};

use super::{UnitError, decimal::Scale, serial::unit_as_text};

const NS: u64 = 1_000;
const US: u64 = 1_000_000;
const MS: u64 = 1_000_000_000;
const SECOND: u64 = 1_000_000_000_000;

const READ: Scale = Scale {
    what: "duration",
    base: "picoseconds",
    example: "200us",
    units: &[
        ("s", SECOND),
        ("ms", MS),
        ("us", US),
        ("µs", US),
        ("ns", NS),
        ("ps", 1),
        ("min", 60 * SECOND),
    ],
    bare: None,
};

/// Without the minute, whose decimals would not be exact.
const WRITE: Scale =
    Scale { units: &[("s", SECOND), ("ms", MS), ("us", US), ("ns", NS), ("ps", 1)], ..READ };

/// An instant, in picoseconds since an epoch that its owner chose.
///
/// ```
/// use laxity_interface::{Span, Time};
/// let start = Time::ZERO + Span::from_us(3);
/// assert_eq!((start + Span::from_ns(500)).since(start), Span::from_ns(500));
/// assert_eq!(start.to_string(), "3us");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A duration, in picoseconds.
///
/// ```
/// use laxity_interface::Span;
/// let span: Span = "1.5ms".parse()?;
/// assert_eq!(span, Span::from_us(1500));
/// assert_eq!((span * 2).to_string(), "3ms");
/// # Ok::<(), laxity_interface::UnitError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Time {
    /// The epoch.
    pub const ZERO: Self = Self(0);
    /// The last instant, used as "never".
    pub const MAX: Self = Self(u64::MAX);

    /// The instant this many picoseconds after the epoch.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Picoseconds since the epoch.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// How long ago `earlier` was; zero if it is not earlier.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest duration, used as "for ever".
    pub const MAX: Self = Self(u64::MAX);

    /// A duration of this many picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// A duration of this many nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns.saturating_mul(NS))
    }

    /// A duration of this many microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us.saturating_mul(US))
    }

    /// A duration of this many milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms.saturating_mul(MS))
    }

    /// A duration of this many seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(SECOND))
    }

    /// The nearest duration to `secs` seconds; zero for negative numbers and NaN.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * SECOND as f64).round() as u64)
    }

    /// Picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / NS
    }

    /// Whole microseconds, rounded down.
    pub const fn as_us(self) -> u64 {
        self.0 / US
    }

    /// Whole milliseconds, rounded down.
    pub const fn as_ms(self) -> u64 {
        self.0 / MS
    }

    /// Seconds, to the precision of an `f64` (exact picoseconds up to two hours).
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / SECOND as f64
    }

    /// This duration times `factor`, rounded; zero for negative factors and NaN.
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).round() as u64)
    }

    /// Whether this is no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The standard library's duration, rounded down to nanoseconds.
    pub const fn to_std(self) -> Duration {
        Duration::from_nanos(self.as_ns())
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        let ps = duration.as_nanos().saturating_mul(u128::from(NS));
        Self(u64::try_from(ps).unwrap_or(u64::MAX))
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Time {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl SubAssign<Span> for Time {
    fn sub_assign(&mut self, span: Span) {
        *self = *self - span;
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

/// Rounds down. Panics on zero, as integers do.
impl Div<u64> for Span {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl Sum for Span {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() { f.pad("0s") } else { WRITE.write_decimal(self.0, f) }
    }
}

impl FromStr for Span {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        READ.parse(text).map(Self)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

impl FromStr for Time {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        READ.parse(text).map(Self)
    }
}

unit_as_text!(Span, "a duration with its unit in quotes, such as \"200us\"", None, {
    "type": "string",
    "description": "A duration with its unit: ps, ns, us, ms, s or min.",
    "pattern": r"^\s*[0-9_]+(\.[0-9_]+)?\s*(ps|ns|us|µs|ms|s|min)\s*$",
    "examples": ["200us", "1.5ms"],
});

unit_as_text!(Time, "an instant with its unit in quotes, such as \"200us\"", None, {
    "type": "string",
    "description": "An instant: the time since the epoch with its unit, ps, ns, us, ms, s or min.",
    "pattern": r"^\s*[0-9_]+(\.[0-9_]+)?\s*(ps|ns|us|µs|ms|s|min)\s*$",
    "examples": ["200us", "1.5ms"],
});
