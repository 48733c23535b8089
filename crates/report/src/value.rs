//! One cell of a report.

use crate::number;
use serde::{Serialize, Serializer};

/// A value in a report: a number, an integer, a text, a truth value, or nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Not measured or not applicable; `null` in JSON, empty in CSV.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number. Wide enough for every `u64` and `i64`, so seeds and byte counts stay exact.
    Int(i128),
    /// A measured number. Not finite counts as [`Value::Null`] in every output.
    Number(f64),
    /// A text.
    Text(String),
}

impl Value {
    /// The number behind this value, where it is a finite one.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(i) => Some(*i as f64),
            Self::Number(x) if x.is_finite() => Some(*x),
            _ => None,
        }
    }

    /// The text behind this value, where it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether the value is a number, and so belongs at the right edge of its column.
    #[must_use]
    pub fn is_numeric(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Number(_))
    }

    /// The value for people: separators in integers, four significant digits, yes and no.
    #[must_use]
    pub fn display(&self) -> String {
        match self {
            Self::Null => number::MISSING.into(),
            Self::Bool(true) => "yes".into(),
            Self::Bool(false) => "no".into(),
            Self::Int(i) => number::integer(*i),
            Self::Number(x) => number::significant(*x, 4),
            Self::Text(text) => text.clone(),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => out.serialize_unit(),
            Self::Bool(b) => out.serialize_bool(*b),
            Self::Int(i) => match (i64::try_from(*i), u64::try_from(*i)) {
                (Ok(i), _) => out.serialize_i64(i),
                (_, Ok(u)) => out.serialize_u64(u),
                // JSON readers have no integers beyond 64 bits: nearest double.
                _ => out.serialize_f64(*i as f64),
            },
            Self::Number(x) if !x.is_finite() => out.serialize_unit(),
            Self::Number(x) => out.serialize_f64(*x),
            Self::Text(text) => out.serialize_str(text),
        }
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}

impl From<f64> for Value {
    fn from(x: f64) -> Self {
        Self::Number(x)
    }
}

impl From<f32> for Value {
    fn from(x: f32) -> Self {
        Self::Number(x.into())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

macro_rules! from_integer {
    ($($kind:ty)*) => {$(
        impl From<$kind> for Value {
            fn from(i: $kind) -> Self {
                // Every type listed is at most 64 bits wide, so this never truncates.
                Self::Int(i as i128)
            }
        }
    )*};
}
from_integer!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

#[cfg(test)]
mod tests {
    use super::*;

    fn json(value: impl Into<Value>) -> String {
        serde_json::to_string(&value.into()).unwrap()
    }

    #[test]
    fn json_keeps_integers_exact_and_hides_nan() {
        assert_eq!(json(u64::MAX), "18446744073709551615");
        assert_eq!(json(i64::MIN), "-9223372036854775808");
        assert_eq!(json(f64::NAN), "null");
        assert_eq!(json(f64::INFINITY), "null");
        assert_eq!(json(None::<f64>), "null");
        assert_eq!(json(Some(1.5)), "1.5");
        assert_eq!(json("a\"b"), "\"a\\\"b\"");
    }

    #[test]
    fn people_see_separators_and_words() {
        assert_eq!(Value::from(1_000_000).display(), "1,000,000");
        assert_eq!(Value::from(true).display(), "yes");
        assert_eq!(Value::from(f64::NAN).display(), "–");
        assert_eq!(Value::Null.as_f64(), None);
    }
}
