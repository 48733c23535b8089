//! What is to be sent, who decides that, and what came of it.

use std::sync::Arc;

use laxity_interface::{Fraction, Span, Time};

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
    /// When each message can be sent.
    pub ready: Ready,
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

/// When the messages of a flow can be sent. How many there are and how large they are is known when the
/// flow starts, as the NetApprox paper has it (§6: the size of a job, or of a window, is told first).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ready {
    /// All of them when it starts.
    #[default]
    AtOnce,
    /// One by one: so long after the start, a time for each, ascending.
    Each(Arc<[Span]>),
}

impl Ready {
    /// From the start of the flow until a message can be sent.
    ///
    /// # Panics
    /// If there is no such message.
    pub fn after(&self, message: u32) -> Span {
        match self {
            Self::AtOnce => Span::ZERO,
            Self::Each(times) => times[message as usize],
        }
    }

    /// Whether messages come one by one.
    pub fn is_gradual(&self) -> bool {
        matches!(self, Self::Each(_))
    }
}

impl Flow {
    /// What is wrong with it, if something is.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        if self.from == self.to {
            return Some("a flow from a host to itself");
        }
        let Ready::Each(times) = &self.ready else { return None };
        let count = self.messages.count();
        if times.len() != count as usize {
            return Some("as many times as messages");
        }
        if !times.is_sorted() {
            return Some("times that ascend");
        }
        if (0..count).any(|message| self.messages.size(message) == 0) {
            return Some("messages that come one by one have at least a byte");
        }
        let most = u64::from(u32::MAX);
        (self.messages.total() > most).then_some("4 GiB at most where messages come one by one")
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
