//! Groups: messages that share a minimum delivery.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{names::GroupId, units::Fraction};

/// Messages that share a minimum delivery (the papers' MSR).
///
/// ```
/// use laxity_interface::{Fraction, Group, GroupId};
/// let gradients = Group::new(GroupId(1), Fraction::new(0.99)?).named("gradients");
/// assert_eq!(gradients.min_delivery.of(1000), 990);
/// # Ok::<(), laxity_interface::FractionError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Group {
    /// Its number, unique in the job.
    pub id: GroupId,
    /// A name for people, unique in the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The fraction of its messages that must be delivered; 1 is everything, in order.
    pub min_delivery: Fraction,
}

impl Group {
    /// A group without a name.
    pub const fn new(id: GroupId, min_delivery: Fraction) -> Self {
        Self { id, name: None, min_delivery }
    }

    /// The same group with a name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Whether everything must be delivered, in order.
    pub fn is_exact(&self) -> bool {
        self.min_delivery == Fraction::ONE
    }
}
