//! A collection of tags, one value per kind.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use super::{Tag, TagError};
use crate::units::{Fraction, Span};

/// Tags by name: at most one value per kind, in the order of their names.
///
/// Written as a map, such as `{ priority = 0, deadline = "5ms", colour = "red" }`.
///
/// ```
/// use laxity_interface::{Span, Tags};
/// let tags: Tags = serde_json::from_str(r#"{ "deadline": "5ms", "colour": "red" }"#)?;
/// assert_eq!(tags.deadline(), Some(Span::from_ms(5)));
/// assert_eq!(tags.unknown("colour"), Some(&"red".into()));
/// assert_eq!(serde_json::to_string(&tags)?, r#"{"colour":"red","deadline":"5ms"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tags(BTreeMap<String, Tag>);

impl Tags {
    /// No tags.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Checks `tag` and keeps it; returns the one of the same kind that it replaces.
    pub fn set(&mut self, tag: Tag) -> Result<Option<Tag>, TagError> {
        let tag = tag.check()?;
        Ok(self.0.insert(tag.name().to_owned(), tag))
    }

    /// Reads a tag and keeps it; refuses a second one of the same kind.
    pub(crate) fn add_parts(&mut self, name: &str, value: Value) -> Result<(), TagError> {
        let tag = Tag::from_parts(name, value)?;
        match self.0.contains_key(tag.name()) {
            true => Err(TagError::Twice { tag: tag.name().to_owned(), spelling: name.to_owned() }),
            false => self.set(tag).map(drop),
        }
    }

    /// The tag of this name.
    pub fn get(&self, name: &str) -> Option<&Tag> {
        self.0.get(name)
    }

    /// Takes away the tag of this name.
    pub fn remove(&mut self, name: &str) -> Option<Tag> {
        self.0.remove(name)
    }

    /// All tags, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Tag> {
        self.0.values()
    }

    /// How many tags there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// These tags, and those of `defaults` whose kind is missing here.
    #[must_use]
    pub fn or(&self, defaults: &Self) -> Self {
        let mut merged = defaults.0.clone();
        merged.extend(self.0.iter().map(|(name, tag)| (name.clone(), tag.clone())));
        Self(merged)
    }

    /// The strict order of sending, if stated: 0 goes first.
    pub fn priority(&self) -> Option<u32> {
        match self.get("priority")? {
            Tag::Priority(order) => Some(*order),
            _ => None,
        }
    }

    /// The share of the bandwidth, if stated.
    pub fn weight(&self) -> Option<f64> {
        match self.get("weight")? {
            Tag::Weight(weight) => Some(*weight),
            _ => None,
        }
    }

    /// When it should have arrived, if stated, counted from the start of the job.
    pub fn deadline(&self) -> Option<Span> {
        match self.get("deadline")? {
            Tag::Deadline(span) => Some(*span),
            _ => None,
        }
    }

    /// The fraction that must be delivered, if stated.
    pub fn min_delivery(&self) -> Option<Fraction> {
        match self.get("min-delivery")? {
            Tag::MinDelivery(fraction) => Some(*fraction),
            _ => None,
        }
    }

    /// How many versions old it may be, if stated.
    pub fn staleness(&self) -> Option<u64> {
        match self.get("staleness")? {
            Tag::Staleness(versions) => Some(*versions),
            _ => None,
        }
    }

    /// The norm of the update it carries, if stated.
    pub fn norm(&self) -> Option<f64> {
        match self.get("norm")? {
            Tag::Norm(norm) => Some(*norm),
            _ => None,
        }
    }

    /// The value of a tag that this version does not know.
    pub fn unknown(&self, name: &str) -> Option<&Value> {
        match self.get(name)? {
            Tag::Unknown { value, .. } => Some(value),
            _ => None,
        }
    }

    /// As written: names and values.
    pub(crate) fn to_map(&self) -> BTreeMap<String, Value> {
        self.iter().map(|tag| (tag.name().to_owned(), tag.value())).collect()
    }
}

impl<'a> IntoIterator for &'a Tags {
    type Item = &'a Tag;
    type IntoIter = std::collections::btree_map::Values<'a, String, Tag>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.values()
    }
}

impl Serialize for Tags {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|tag| (tag.name(), tag.value())))
    }
}

impl<'de> Deserialize<'de> for Tags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut tags = Self::new();
        for (name, value) in BTreeMap::<String, Value>::deserialize(deserializer)? {
            tags.add_parts(&name, value).map_err(de::Error::custom)?;
        }
        Ok(tags)
    }
}

impl JsonSchema for Tags {
    fn schema_name() -> Cow<'static, str> {
        "Tags".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "description": "What the network should know. Tags with other names are kept as they are.",
            "properties": {
                "priority": { "type": "integer", "minimum": 0, "maximum": u32::MAX },
                "weight": { "type": "number", "exclusiveMinimum": 0 },
                "deadline": generator.subschema_for::<Span>(),
                "min-delivery": generator.subschema_for::<Fraction>(),
                "staleness": { "type": "integer", "minimum": 0 },
                "norm": { "type": "number", "minimum": 0 },
            },
            "additionalProperties": true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_per_kind() {
        let mut tags = Tags::new();
        assert_eq!(tags.set(Tag::Priority(3)), Ok(None));
        assert_eq!(tags.set(Tag::Priority(0)), Ok(Some(Tag::Priority(3))));
        assert_eq!((tags.len(), tags.priority()), (1, Some(0)));
        assert!(tags.set(Tag::Weight(0.0)).is_err());
        assert_eq!(tags.weight(), None);
    }

    #[test]
    fn own_tags_win_over_defaults() {
        let (mut own, mut defaults) = (Tags::new(), Tags::new());
        own.set(Tag::Priority(1)).unwrap();
        defaults.set(Tag::Priority(2)).unwrap();
        defaults.set(Tag::Staleness(5)).unwrap();
        let both = own.or(&defaults);
        assert_eq!((both.priority(), both.staleness()), (Some(1), Some(5)));
    }

    #[test]
    fn two_spellings_of_one_tag_are_refused() {
        let error = serde_json::from_str::<Tags>(r#"{ "min-delivery": 1, "min_delivery": 0.5 }"#);
        let said = error.unwrap_err().to_string();
        assert!(said.contains("tag `min-delivery` is given twice (as `min_delivery`"), "{said}");
    }
}
