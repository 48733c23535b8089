//! How the queues of a switch port are laid out, by name.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a port's queues are like. Hosts choose their classes by it, switches and simulators build it.
///
/// ```
/// use laxity_interface::Layout;
/// assert_eq!("shared".parse(), Ok(Layout::Shared));
/// assert_eq!(Layout::Slack.to_string(), "slack");
/// ```
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
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// One queue for everything; code points mean nothing. A network that nobody set up for Laxity.
    Single,
    /// Eight queues with strict priority that all mark and share the port's buffer.
    #[default]
    Shared,
    /// Section 5 of the NetApprox paper: one queue that marks and has nearly all the buffer, and seven
    /// tiny ones behind it that lose what does not fit.
    Slack,
}

impl Layout {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Single, Self::Shared, Self::Slack];

    /// Its name, as files and commands spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Shared => "shared",
            Self::Slack => "slack",
        }
    }

    /// What it is, in a few words.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Single => "one queue for everything",
            Self::Shared => "eight strict queues that all mark and share the buffer",
            Self::Slack => "one queue that marks and seven tiny ones that lose what does not fit",
        }
    }
}

/// A name that no [`Layout`] has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no layout `{name}`: use one of single, shared or slack")]
pub struct UnknownLayout {
    /// The name as given.
    pub name: String,
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Layout {
    type Err = UnknownLayout;

    fn from_str(name: &str) -> Result<Self, UnknownLayout> {
        let found = Self::ALL.into_iter().find(|layout| layout.name() == name);
        found.ok_or_else(|| UnknownLayout { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_everywhere() {
        let refused = "tiny".parse::<Layout>().unwrap_err().to_string();
        for layout in Layout::ALL {
            assert_eq!(layout.to_string().parse(), Ok(layout));
            assert_eq!(serde_json::to_value(layout).unwrap(), layout.name());
            assert!(refused.contains(layout.name()), "{refused}");
        }
    }
}
