//! What is to be sent, who decides that, and what came of it.

use std::sync::Arc;

use laxity_interface::{Fraction, Time};

/// A host: its position in `Topology::hosts`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HostId(pub u16);

/// A flow: counted in the order in which they started.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowId(pub u32);

impl HostId {
    /// As a position in a vector.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl FlowId {
    /// As a position in a vector.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Messages from one host to another, of which a part has to arrive.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Who sends.
    pub from: HostId,
    /// Who receives.
    pub to: HostId,
    /// Which of the hosts' stacks carries it.
    pub stack: u8,
    /// The driver's own number, given back in [`Done`]: which job, which step.
    pub tag: u64,
    /// What is sent.
    pub messages: Messages,
    /// How much of it has to arrive; 1 is an ordinary, exact flow.
    pub min_delivery: Fraction,
}

/// The sizes of a flow's messages, in bytes of payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Messages {
    /// All alike.
    Equal {
        /// How many.
        count: u32,
        /// Bytes of each.
        bytes: u32,
    },
    /// One by one.
    Sizes(Arc<[u32]>),
}

impl Messages {
    /// How many messages there are.
    pub fn count(&self) -> u32 {
        match self {
            Self::Equal { count, .. } => *count,
            Self::Sizes(sizes) => sizes.len() as u32,
        }
    }

    /// Bytes of one message.
    ///
    /// # Panics
    /// If there is no such message.
    pub fn size(&self, message: u32) -> u32 {
        match self {
            Self::Equal { count, bytes } => {
                assert!(message < *count, "message {message} of {count}");
                *bytes
            }
            Self::Sizes(sizes) => sizes[message as usize],
        }
    }

    /// Bytes of all messages.
    pub fn total(&self) -> u64 {
        match self {
            Self::Equal { count, bytes } => u64::from(*count) * u64::from(*bytes),
            Self::Sizes(sizes) => sizes.iter().map(|size| u64::from(*size)).sum(),
        }
    }
}

/// A flow ended: its receiver has what was promised, or its stack gave it up.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// Which.
    pub flow: FlowId,
    /// The driver's number.
    pub tag: u64,
    /// When its driver started it.
    pub started: Time,
    /// When the receiver had what was promised.
    pub finished: Time,
    /// Messages that arrived whole.
    pub delivered: u32,
    /// Messages of the flow.
    pub messages: u32,
    /// Bytes of payload that the application got.
    pub bytes: u64,
    /// Whether less than was promised arrived (a stack without promises, or one that gave up).
    pub short: bool,
    /// Which messages are missing, in half-open ranges, ascending. Empty also where the stack counts
    /// without telling which.
    pub missing: Vec<(u32, u32)>,
}

/// Decides which flows start when. Sans-IO like everything else: times go in, flows come out.
pub trait Driver {
    /// When it wants to start something next; `None` if nothing is due before something ends.
    fn poll_timeout(&self) -> Option<Time>;

    /// A flow to start now; asked until it answers `None`.
    fn poll_flow(&mut self, now: Time) -> Option<Flow>;

    /// A flow ended.
    fn handle_done(&mut self, done: &Done);

    /// Whether the simulation may stop although flows (background, for instance) are under way.
    fn is_done(&self) -> bool;
}
