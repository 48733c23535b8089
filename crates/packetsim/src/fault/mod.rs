//! What goes wrong: rules that decide about packets on links, and links that are down for a while.

mod rule;

use laxity_interface::{Fraction, Span, Time};
use laxity_topology::LinkId;

pub(crate) use rule::{Rules, Verdict};

/// Something that goes wrong on some links.
///
/// A packet is judged when it leaves its queue: it takes its time on the line either way. Every
/// fault draws its own random numbers on every link, so one fault more changes nothing about the
/// others.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Where.
    pub on: On,
    /// What.
    pub what: Trouble,
}

/// Links that a fault is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum On {
    /// Every link, also those of hosts.
    All,
    /// These links, each in one direction.
    Links(Vec<LinkId>),
}

/// What goes wrong with packets or with a link.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Trouble {
    /// Each packet is lost with the same probability.
    Loss {
        /// How likely.
        probability: Fraction,
    },
    /// Packets are lost in bursts: two states, good and bad; everything is lost while bad (Gilbert
    /// 1960).
    Bursts {
        /// How likely a packet begins a burst.
        begin: Fraction,
        /// How likely a packet ends one.
        end: Fraction,
    },
    /// Certain packets are lost, by their position on the link; the first is number 0.
    Nth {
        /// The positions.
        positions: Vec<u64>,
    },
    /// Some packets arrive late, and others overtake them.
    Late {
        /// How likely.
        probability: Fraction,
        /// How much later.
        extra: Span,
    },
    /// The link is down: what leaves for it is lost.
    Down {
        /// From when.
        from: Time,
        /// Until when; for ever without.
        until: Option<Time>,
        /// How long it takes until routes avoid the link, and until they use it again.
        detect: Span,
    },
}

impl Fault {
    /// A fault on every link.
    pub const fn everywhere(what: Trouble) -> Self {
        Self { on: On::All, what }
    }

    /// A fault on one link, in one direction.
    pub fn on_link(link: LinkId, what: Trouble) -> Self {
        Self { on: On::Links(vec![link]), what }
    }

    /// The links it is on, of so many.
    pub(crate) fn links(&self, count: usize) -> Vec<LinkId> {
        match &self.on {
            On::All => (0..count as u32).map(LinkId).collect(),
            On::Links(links) => links.clone(),
        }
    }
}
