//! Weights as whole numbers.

use std::{fmt, ops::Add};

/// How much a flow counts beside others, in units of 2⁻²⁰.
///
/// Whole numbers add up to the same sum in any order, which floating-point numbers do not: shares
/// that were kept up to date and shares that were computed anew are then equal to the last bit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(u64);

/// The units of one.
pub(crate) const ONE: u64 = 1 << 20;

impl Weight {
    /// What a flow without a tag counts.
    pub const ONE: Self = Self(ONE);
    /// The smallest that is accepted, one part in 1024.
    pub const MIN: f64 = 1.0 / 1024.0;
    /// The largest that is accepted.
    pub const MAX: f64 = 65536.0;

    /// The nearest weight; nothing if `value` lies outside [`MIN`](Self::MIN) to
    /// [`MAX`](Self::MAX) or is not a number.
    pub fn new(value: f64) -> Option<Self> {
        let fits = (Self::MIN..=Self::MAX).contains(&value);
        fits.then(|| Self((value * ONE as f64).round() as u64))
    }

    /// What `count` flows of this weight count together.
    #[must_use]
    pub const fn times(self, count: u32) -> Self {
        Self(self.0.saturating_mul(count as u64))
    }

    /// As a number.
    pub fn get(self) -> f64 {
        self.0 as f64 / ONE as f64
    }

    pub(crate) const fn units(self) -> u64 {
        self.0
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self::ONE
    }
}

impl Add for Weight {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.get(), f)
    }
}

impl fmt::Debug for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
