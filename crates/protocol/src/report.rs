//! What both sides know when a job has ended.

use laxity_interface::{Fraction, GroupId, Span};

/// How much of one group arrived.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GroupDelivery {
    /// Which group.
    pub id: GroupId,
    /// How many messages (or chunks) it has.
    pub total: u64,
    /// How many had to arrive.
    pub required: u64,
    /// How many arrived.
    pub received: u64,
}

impl GroupDelivery {
    /// The part that arrived; an empty group arrived whole.
    pub fn fraction(&self) -> Fraction {
        if self.total == 0 {
            return Fraction::ONE;
        }
        Fraction::new(self.received as f64 / self.total as f64).unwrap_or(Fraction::ONE)
    }
}

/// What is missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Missing {
    /// Half-open ranges of elements of a tensor, ascending.
    Elements(Vec<(u64, u64)>),
    /// Half-open ranges of message numbers inside each group, in the order of the job's groups.
    Messages(Vec<(GroupId, Vec<(u64, u64)>)>),
}

impl Missing {
    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Elements(ranges) => ranges.is_empty(),
            Self::Messages(groups) => groups.iter().all(|(_, ranges)| ranges.is_empty()),
        }
    }
}

/// Why a job ended when it did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Everything arrived.
    Complete,
    /// Every group had its minimum, and that was asked for.
    Enough,
    /// Every group had its minimum and the sender had nothing more under way.
    FirstPass,
    /// Every group had its minimum when the deadline passed.
    Deadline,
}

impl Ended {
    pub(crate) fn to_wire(self) -> u8 {
        match self {
            Self::Complete => 1,
            Self::Enough => 2,
            Self::FirstPass => 3,
            Self::Deadline => 4,
        }
    }

    pub(crate) fn from_wire(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::Complete,
            2 => Self::Enough,
            3 => Self::FirstPass,
            4 => Self::Deadline,
            _ => return None,
        })
    }

    /// In words, for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Enough => "enough",
            Self::FirstPass => "first-pass",
            Self::Deadline => "deadline",
        }
    }
}

/// The outcome of a job that kept its promise.
#[derive(Clone, PartialEq, Debug)]
pub struct DeliveryReport {
    /// Per group.
    pub groups: Vec<GroupDelivery>,
    /// What is missing.
    pub missing: Missing,
    /// From opening to end, as this side saw it.
    pub elapsed: Span,
    /// Payload bytes that arrived (receiver) or left, repeats included (sender).
    pub bytes: u64,
    /// The part of this job's packets that the network lost: measured by the sender from
    /// acknowledgements; estimated by the receiver from gaps.
    pub loss_rate: f64,
    /// Packets sent again (sender) or received twice (receiver).
    pub repeated: u64,
    /// Why it ended. The sender learns it from the receiver's last word.
    pub ended: Ended,
}

impl DeliveryReport {
    /// The part of all messages that arrived, over all groups.
    pub fn fraction(&self) -> f64 {
        let total: u64 = self.groups.iter().map(|group| group.total).sum();
        let received: u64 = self.groups.iter().map(|group| group.received).sum();
        if total == 0 { 1.0 } else { received as f64 / total as f64 }
    }
}
