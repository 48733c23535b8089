//! Serde and JSON schema for units: text with a unit, one implementation for all of them.

use std::{fmt, marker::PhantomData, str::FromStr};

use serde::de::{self, Visitor};

use super::UnitError;

/// Reads a unit from a string, and from a whole number where the unit allows it.
pub(super) struct UnitVisitor<T> {
    /// What is expected, for serde's own message when the type is wrong.
    pub(super) expecting: &'static str,
    /// How a bare whole number becomes the unit, if it may.
    pub(super) number: Option<fn(u64) -> T>,
    pub(super) marker: PhantomData<T>,
}

impl<T: FromStr<Err = UnitError>> Visitor<'_> for UnitVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<T, E> {
        match self.number {
            Some(make) => Ok(make(value)),
            None => Err(E::invalid_type(de::Unexpected::Unsigned(value), &self)),
        }
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
        match (self.number, u64::try_from(value)) {
            (Some(make), Ok(value)) => Ok(make(value)),
            _ => Err(E::invalid_type(de::Unexpected::Signed(value), &self)),
        }
    }
}

/// Implements `Debug`, `Serialize`, `Deserialize` and `JsonSchema` for a unit that has `Display`
/// and `FromStr`.
macro_rules! unit_as_text {
    ($unit:ident, $expecting:literal, $number:expr, $schema:tt) => {
        impl std::fmt::Debug for $unit {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }

        impl serde::Serialize for $unit {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $unit {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let visitor = crate::units::serial::UnitVisitor {
                    expecting: $expecting,
                    number: $number,
                    marker: std::marker::PhantomData,
                };
                deserializer.deserialize_any(visitor)
            }
        }

        impl schemars::JsonSchema for $unit {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($unit).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}

pub(super) use unit_as_text;
