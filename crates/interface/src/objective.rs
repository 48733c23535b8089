//! What the application wants the network to make small, or large.

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A text that is no [`Objective`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not an objective: use one of last-flow, max-lateness, sum-lateness, \
     weighted-completion, mean-commit-time or utility:KIND"
)]
pub struct ObjectiveError {
    /// The text as given.
    pub text: String,
}

/// What the schedule of a job is judged by.
///
/// ```
/// use laxity_interface::Objective;
/// assert_eq!("max-lateness".parse(), Ok(Objective::MaxLateness));
/// assert_eq!(Objective::Utility("log".into()).to_string(), "utility:log");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum Objective {
    /// Minimise the completion of the last flow.
    #[default]
    LastFlow,
    /// Minimise the maximum lateness: how far the worst flow misses its deadline.
    MaxLateness,
    /// Minimise the sum of lateness over the flows.
    SumLateness,
    /// Minimise the completion times of the flows, weighted by their tags.
    WeightedCompletion,
    /// Minimise the mean time at which updates are committed.
    MeanCommitTime,
    /// Maximise a utility of this kind, such as `log`.
    Utility(String),
}

impl Objective {
    /// Whether it has no meaning without a deadline.
    pub const fn needs_deadline(&self) -> bool {
        matches!(self, Self::MaxLateness | Self::SumLateness)
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LastFlow => f.pad("last-flow"),
            Self::MaxLateness => f.pad("max-lateness"),
            Self::SumLateness => f.pad("sum-lateness"),
            Self::WeightedCompletion => f.pad("weighted-completion"),
            Self::MeanCommitTime => f.pad("mean-commit-time"),
            Self::Utility(kind) => f.pad(&format!("utility:{kind}")),
        }
    }
}

impl FromStr for Objective {
    type Err = ObjectiveError;

    fn from_str(text: &str) -> Result<Self, ObjectiveError> {
        let refuse = || ObjectiveError { text: text.to_owned() };
        Ok(match text {
            "last-flow" => Self::LastFlow,
            "max-lateness" => Self::MaxLateness,
            "sum-lateness" => Self::SumLateness,
            "weighted-completion" => Self::WeightedCompletion,
            "mean-commit-time" => Self::MeanCommitTime,
            _ => {
                let kind = text.strip_prefix("utility:").ok_or_else(refuse)?;
                if kind.trim().is_empty() {
                    return Err(refuse());
                }
                Self::Utility(kind.to_owned())
            }
        })
    }
}

impl TryFrom<String> for Objective {
    type Error = ObjectiveError;
    fn try_from(text: String) -> Result<Self, ObjectiveError> {
        text.parse()
    }
}

impl From<Objective> for String {
    fn from(objective: Objective) -> Self {
        objective.to_string()
    }
}

impl JsonSchema for Objective {
    fn schema_name() -> Cow<'static, str> {
        "Objective".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "What the schedule of a job is judged by.",
            "default": "last-flow",
            "anyOf": [
                {
                    "enum": [
                        "last-flow",
                        "max-lateness",
                        "sum-lateness",
                        "weighted-completion",
                        "mean-commit-time",
                    ],
                },
                { "type": "string", "pattern": r"^utility:.*\S" },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_reads_back() {
        for objective in [
            Objective::LastFlow,
            Objective::MaxLateness,
            Objective::SumLateness,
            Objective::WeightedCompletion,
            Objective::MeanCommitTime,
            Objective::Utility("log".into()),
        ] {
            assert_eq!(objective.to_string().parse(), Ok(objective));
        }
        for text in ["", "Last-Flow", "utility", "utility:", "utility: "] {
            assert!(text.parse::<Objective>().is_err(), "{text}");
        }
    }
}
