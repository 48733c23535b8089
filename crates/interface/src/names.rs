//! Names of hosts, numbers of flows and groups.

use std::{borrow::Cow, fmt, str::FromStr, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest name of a host, in bytes: what DNS allows.
const LONGEST: usize = 253;

/// Why a text is not a [`HostName`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostNameError {
    /// The text is empty.
    #[error("the host name is empty: give a name such as `worker-0` or an address")]
    Empty,
    /// The text is longer than any DNS name.
    #[error("the host name has {length} bytes: give at most 253")]
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// The text holds a blank or a control character.
    #[error("host name `{name}` holds {found:?}: leave out blanks and control characters")]
    Unprintable {
        /// The text as given.
        name: String,
        /// The first character that is not allowed.
        found: char,
    },
}

/// The name of a host, as the cluster knows it: a DNS name, an address or a label of a simulation.
///
/// Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostName(Arc<str>);

impl HostName {
    /// Checks that `name` is neither empty nor longer than 253 bytes and holds no blanks.
    pub fn new(name: impl AsRef<str>) -> Result<Self, HostNameError> {
        let name = name.as_ref();
        if name.is_empty() {
            return Err(HostNameError::Empty);
        }
        if name.len() > LONGEST {
            return Err(HostNameError::TooLong { length: name.len() });
        }
        match name.chars().find(|c| c.is_whitespace() || c.is_control()) {
            Some(found) => Err(HostNameError::Unprintable { name: name.to_owned(), found }),
            None => Ok(Self(name.into())),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for HostName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl FromStr for HostName {
    type Err = HostNameError;
    fn from_str(name: &str) -> Result<Self, HostNameError> {
        Self::new(name)
    }
}

impl TryFrom<String> for HostName {
    type Error = HostNameError;
    fn try_from(name: String) -> Result<Self, HostNameError> {
        Self::new(name)
    }
}

impl From<HostName> for String {
    fn from(name: HostName) -> Self {
        name.as_str().to_owned()
    }
}

impl JsonSchema for HostName {
    fn schema_name() -> Cow<'static, str> {
        "HostName".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "The name of a host: a DNS name, an address or a label, without blanks.",
            "pattern": r"^\S+$",
            "maxLength": LONGEST,
        })
    }
}

/// The number of a flow, unique in its job.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct FlowId(pub u32);

impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a group, unique in its job.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct GroupId(pub u16);

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_names_are_checked() {
        assert_eq!(HostName::new("rack1/worker-0:4000").unwrap().as_str(), "rack1/worker-0:4000");
        assert_eq!(HostName::new(""), Err(HostNameError::Empty));
        assert_eq!(HostName::new("x".repeat(254)), Err(HostNameError::TooLong { length: 254 }));
        assert!(HostName::new("x".repeat(253)).is_ok());
        let refused = HostName::new("two words").unwrap_err().to_string();
        assert!(refused.contains("`two words` holds ' '"), "{refused}");
    }
}
