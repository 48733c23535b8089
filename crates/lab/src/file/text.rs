//! Values of a lab file that are written in more than one way.

use std::{borrow::Cow, fmt, str::FromStr};

use laxity_interface::Bytes;
use laxity_switch::Limit;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, SeqAccess, Visitor},
};

/// One text, or several.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum List {
    /// One.
    One(String),
    /// As many as there are.
    Many(Vec<String>),
}

impl List {
    /// All of them.
    pub(crate) fn as_slice(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(list) => list,
        }
    }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(text) => text.serialize(serializer),
            Self::Many(list) => list.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = List;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or a list of texts")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<List, E> {
                Ok(List::One(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<List, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(List::Many(list))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for List {
    fn schema_name() -> Cow<'static, str> {
        "List".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let text = json_schema!({ "type": "string" });
        json_schema!({ "oneOf": [text, { "type": "array", "items": { "type": "string" } }] })
    }
}

/// How much may wait: bytes (`64KiB`) or packets (`7packets`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Amount {
    /// So many bytes.
    Bytes(Bytes),
    /// So many packets.
    Packets(u32),
}

impl From<Amount> for Limit {
    fn from(amount: Amount) -> Self {
        match amount {
            Amount::Bytes(bytes) => Self::Bytes(bytes),
            Amount::Packets(packets) => Self::Packets(packets),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Packets(packets) => write!(f, "{packets}packets"),
        }
    }
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let packets = ["packets", "packet"].iter().find_map(|unit| text.trim().strip_suffix(unit));
        match packets {
            Some(number) => number.trim().parse().map(Self::Packets).map_err(|_| {
                format!("`{text}` is not an amount: write a whole number like `7packets`")
            }),
            None => text.parse().map(Self::Bytes).map_err(|error| {
                format!("{error}; an amount is bytes like `64KiB` or packets like `7packets`")
            }),
        }
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Bytes like `64KiB` or packets like `7packets`.",
        })
    }
}
