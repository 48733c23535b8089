//! What a flow or a job says about itself.

mod portable;
mod tags;

use serde_json::Value;

use crate::units::{Fraction, Span};

use portable::LARGEST;
pub use tags::Tags;

/// One statement of an application about a flow or a job.
///
/// The list is open: a tag that this version does not know is kept as it is and given on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Tag {
    /// Strict order of sending: 0 goes first.
    Priority(u32),
    /// Share of the bandwidth, relative to others; also the weight in weighted completion.
    Weight(f64),
    /// When it should have arrived, counted from the start of the job.
    Deadline(Span),
    /// The fraction that must be delivered.
    MinDelivery(Fraction),
    /// How many versions old it may be.
    Staleness(u64),
    /// The norm of the update that it carries: how much is lost with it.
    Norm(f64),
    /// A tag that this version does not know.
    Unknown {
        /// Its name.
        name: String,
        /// Its value.
        value: Value,
    },
}

/// Why a tag was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TagError {
    /// The value of a known tag has the wrong type or lies outside its range.
    #[error("tag `{tag}` is {given}: give {expected}")]
    Invalid {
        /// The name of the tag.
        tag: &'static str,
        /// The value as given.
        given: String,
        /// What would have been accepted.
        expected: &'static str,
    },
    /// The tag has no name.
    #[error("a tag has an empty name: give it one or leave the tag out")]
    NoName,
    /// The value of an unknown tag could not survive a round trip through TOML and JSON.
    #[error("tag `{tag}` holds {found}, which not every format can carry: leave it out")]
    NotPortable {
        /// The name of the tag.
        tag: String,
        /// What is not portable in it.
        found: String,
    },
    /// One tag was given twice under different spellings.
    #[error("tag `{tag}` is given twice (as `{spelling}` as well): keep one")]
    Twice {
        /// The name of the tag.
        tag: String,
        /// The other spelling.
        spelling: String,
    },
}

impl Tag {
    /// The names of the tags that this version knows.
    pub const KNOWN: [&'static str; 6] =
        ["priority", "weight", "deadline", "min-delivery", "staleness", "norm"];

    /// The name under which it is written.
    pub fn name(&self) -> &str {
        match self {
            Self::Priority(_) => "priority",
            Self::Weight(_) => "weight",
            Self::Deadline(_) => "deadline",
            Self::MinDelivery(_) => "min-delivery",
            Self::Staleness(_) => "staleness",
            Self::Norm(_) => "norm",
            Self::Unknown { name, .. } => name,
        }
    }

    /// The value as it is written.
    pub fn value(&self) -> Value {
        match self {
            Self::Priority(order) => Value::from(*order),
            Self::Weight(number) | Self::Norm(number) => Value::from(*number),
            Self::Deadline(span) => Value::String(span.to_string()),
            Self::MinDelivery(fraction) => Value::from(fraction.get()),
            Self::Staleness(versions) => Value::from(*versions),
            Self::Unknown { value, .. } => value.clone(),
        }
    }

    /// Reads a tag from its name and value.
    ///
    /// A known name in another spelling (`min_delivery`, `Priority`) is that tag: kept as an
    /// unknown one it would silently have no effect.
    pub fn from_parts(name: &str, value: Value) -> Result<Self, TagError> {
        let canonical = name.to_ascii_lowercase().replace('_', "-");
        let tag = match canonical.as_str() {
            "priority" => Self::Priority(read("priority", value, PRIORITY)?),
            "weight" => Self::Weight(read("weight", value, WEIGHT)?),
            "deadline" => Self::Deadline(read("deadline", value, DEADLINE)?),
            "min-delivery" => Self::MinDelivery(read("min-delivery", value, MIN_DELIVERY)?),
            "staleness" => Self::Staleness(read("staleness", value, STALENESS)?),
            "norm" => Self::Norm(read("norm", value, NORM)?),
            _ => Self::Unknown { name: name.to_owned(), value },
        };
        tag.check()
    }

    /// Checks its value; an unknown tag with the name of a known one becomes that one.
    pub fn check(self) -> Result<Self, TagError> {
        let invalid =
            |tag, given: String, expected| Err(TagError::Invalid { tag, given, expected });
        match self {
            Self::Weight(w) if !(w.is_finite() && w > 0.0) => {
                invalid("weight", w.to_string(), WEIGHT)
            }
            Self::Norm(n) if !(n.is_finite() && n >= 0.0) => invalid("norm", n.to_string(), NORM),
            Self::Deadline(Span::ZERO) => invalid("deadline", Span::ZERO.to_string(), DEADLINE),
            Self::Staleness(s) if s > LARGEST => invalid("staleness", s.to_string(), STALENESS),
            Self::Unknown { name, .. } if name.is_empty() => Err(TagError::NoName),
            Self::Unknown { name, value } => {
                let canonical = name.to_ascii_lowercase().replace('_', "-");
                if Self::KNOWN.contains(&canonical.as_str()) {
                    return Self::from_parts(&canonical, value);
                }
                let value = portable::dates_to_text(value);
                match portable::obstacle(&value) {
                    Some(found) => Err(TagError::NotPortable { tag: name, found }),
                    None => Ok(Self::Unknown { name, value }),
                }
            }
            known => Ok(known),
        }
    }
}

const PRIORITY: &str = "a whole number, 0 for first";
const WEIGHT: &str = "a finite number above 0";
const DEADLINE: &str = "a duration above 0 with its unit, such as \"5ms\"";
const MIN_DELIVERY: &str = "a number from 0 to 1, or a percentage such as \"95%\"";
const STALENESS: &str = "a whole number of versions below 2^63";
const NORM: &str = "a finite number, 0 or above";

fn read<T: serde::de::DeserializeOwned>(
    tag: &'static str,
    value: Value,
    expected: &'static str,
) -> Result<T, TagError> {
    let given = value.to_string();
    serde_json::from_value(value).map_err(|_| TagError::Invalid { tag, given, expected })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn known_names_give_known_tags() {
        for tag in [
            Tag::Priority(0),
            Tag::Weight(2.5),
            Tag::Deadline(Span::from_ms(5)),
            Tag::MinDelivery(Fraction::new(0.95).unwrap()),
            Tag::Staleness(5),
            Tag::Norm(0.0),
        ] {
            assert!(Tag::KNOWN.contains(&tag.name()));
            assert_eq!(Tag::from_parts(tag.name(), tag.value()), Ok(tag));
        }
    }

    #[test]
    fn other_spellings_are_the_same_tag() {
        let tag = Tag::from_parts("min_delivery", json!("95%")).unwrap();
        assert_eq!(tag, Tag::MinDelivery(Fraction::new(0.95).unwrap()));
        let disguised = Tag::Unknown { name: "Priority".into(), value: json!(3) };
        assert_eq!(disguised.check(), Ok(Tag::Priority(3)));
    }

    #[test]
    fn refusals_name_the_tag() {
        for (name, value) in [
            ("priority", json!(-1)),
            ("priority", json!("high")),
            ("weight", json!(0)),
            ("weight", json!(-2.5)),
            ("deadline", json!(5)),
            ("deadline", json!("0s")),
            ("min-delivery", json!(1.5)),
            ("staleness", json!(u64::MAX)),
            ("norm", json!(null)),
            ("colour", json!(null)),
            ("colour", json!({ "deep": [1, null] })),
            ("colour", json!(u64::MAX)),
        ] {
            let said = Tag::from_parts(name, value.clone()).unwrap_err().to_string();
            assert!(said.starts_with(&format!("tag `{name}` ")), "{name} = {value}: {said}");
        }
        assert!(Tag::Weight(f64::NAN).check().is_err());
        assert!(Tag::Norm(f64::INFINITY).check().is_err());
        assert_eq!(Tag::from_parts("", json!(1)), Err(TagError::NoName));
    }
}
