//! Fractions between nothing and everything.

use std::{
    borrow::Cow,
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    str::FromStr,
};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};

/// Why a number is not a [`Fraction`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FractionError {
    /// The number is below 0, above 1 or not a number.
    #[error("{value} is not a fraction: give a number from 0 to 1, such as 0.95")]
    OutOfRange {
        /// The number as given.
        value: f64,
    },
    /// The text is not a number, with or without a percent sign.
    #[error("`{text}` is not a fraction: write it like `0.95` or `95%`")]
    NotANumber {
        /// The text as given.
        text: String,
    },
}

/// A fraction from 0 to 1, such as a minimum delivery.
///
/// ```
/// use laxity_interface::Fraction;
/// let enough: Fraction = "90%".parse()?;
/// assert_eq!(enough, Fraction::new(0.9)?);
/// assert_eq!(enough.of(10), 9);
/// assert_eq!(enough.of(11), 10);
/// # Ok::<(), laxity_interface::FractionError>(())
/// ```
// CORRECTNESS: never NaN and never -0.0, so comparing bits and comparing values agree.
#[derive(Clone, Copy, Default)]
pub struct Fraction(f64);

impl Fraction {
    /// Nothing.
    pub const ZERO: Self = Self(0.0);
    /// Everything.
    pub const ONE: Self = Self(1.0);

    /// Checks that `value` lies between 0 and 1.
    pub fn new(value: f64) -> Result<Self, FractionError> {
        if (0.0..=1.0).contains(&value) {
            // Adding zero turns -0.0 into 0.0.
            Ok(Self(value + 0.0))
        } else {
            Err(FractionError::OutOfRange { value })
        }
    }

    /// The number.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// What is left to everything.
    pub fn complement(self) -> Self {
        Self(1.0 - self.0)
    }

    /// The smallest whole number that is at least this fraction of `n`.
    ///
    /// 0.07 has no exact binary form and 0.07 · 100 in floating point lies above 7, so a plain
    /// `ceil` would ask for 8. A product that exceeds a whole number by less than one part in 2⁴⁰
    /// of itself (and by less than a thousandth of one) counts as that whole number.
    pub fn of(self, n: u64) -> u64 {
        if n == 0 || self.0 == 0.0 {
            return 0;
        }
        // self.0 == mantissa / 2^shift exactly, so the product below is exact as well: at most
        // 53 + 64 bits.
        let bits = self.0.to_bits();
        let exponent = (bits >> 52) as u32; // the sign bit is zero
        if exponent < 1023 - 67 {
            // Below 2^-67 the product is below 1 for every n.
            return 1;
        }
        let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
        let shift = 1023 + 52 - exponent;
        let product = u128::from(mantissa) * u128::from(n);
        let one = 1u128 << shift;
        let tolerance = (product >> 40).min(one >> 10);
        let at_least = (product - tolerance + (one - 1)) >> shift;
        // CORRECTNESS: the fraction is at most 1, so the result is at most n and fits.
        at_least as u64
    }
}

impl PartialEq for Fraction {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Fraction {}

impl PartialOrd for Fraction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Fraction {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Hash for Fraction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl TryFrom<f64> for Fraction {
    type Error = FractionError;
    fn try_from(value: f64) -> Result<Self, FractionError> {
        Self::new(value)
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for Fraction {
    type Err = FractionError;

    fn from_str(text: &str) -> Result<Self, FractionError> {
        let refuse = || FractionError::NotANumber { text: text.to_owned() };
        let trimmed = text.trim();
        let number = match trimmed.strip_suffix('%') {
            // Moving the point in the text, not dividing by 100: `99.9%` is then exactly `0.999`.
            Some(percent) if !percent.contains(['e', 'E']) => {
                format!("{}e-2", percent.trim_end()).parse()
            }
            Some(_) => return Err(refuse()),
            None => trimmed.parse(),
        };
        Self::new(number.map_err(|_| refuse())?)
    }
}

impl Serialize for Fraction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Fraction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FractionVisitor)
    }
}

struct FractionVisitor;

impl Visitor<'_> for FractionVisitor {
    type Value = Fraction;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number from 0 to 1, or a percentage such as \"95%\"")
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Fraction, E> {
        Fraction::new(value).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Fraction, E> {
        self.visit_f64(value as f64)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Fraction, E> {
        self.visit_f64(value as f64)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Fraction, E> {
        text.parse().map_err(E::custom)
    }
}

impl schemars::JsonSchema for Fraction {
    fn schema_name() -> Cow<'static, str> {
        "Fraction".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A number from 0 to 1, or a percentage such as \"95%\".",
            "examples": [0.95, "95%"],
            "anyOf": [
                { "type": "number", "minimum": 0, "maximum": 1 },
                { "type": "string", "pattern": r"^\s*[0-9]*\.?[0-9]+\s*%?\s*$" },
            ],
        })
    }
}
