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
    /// Which packets it is about. A link that is down is so for all.
    pub only: Only,
}

/// Packets that a fault is about: those for which everything that is given holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Only {
    /// Of this stack, by its position among those of the hosts.
    pub stack: Option<u8>,
    /// Of more bytes on the wire than this: control packets have 64, acknowledgements of the protocol
    /// crate some more, data packets up to 1518.
    pub larger_than: Option<u32>,
    /// That leave at this time or later.
    pub from: Option<Time>,
    /// That leave before this time.
    pub until: Option<Time>,
}

impl Only {
    /// Whether it is about a packet of this stack and size that leaves now.
    pub(crate) fn holds(&self, stack: u8, size: u32, now: Time) -> bool {
        self.stack.is_none_or(|own| own == stack)
            && self.larger_than.is_none_or(|least| size > least)
            && self.from.is_none_or(|from| from <= now)
            && self.until.is_none_or(|until| now < until)
    }
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
    /// Certain packets are lost, by their position among those on the link that the fault is about;
    /// the first is number 0.
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
        let only = Only { stack: None, larger_than: None, from: None, until: None };
        Self { on: On::All, what, only }
    }

    /// A fault on one link, in one direction.
    pub fn on_link(link: LinkId, what: Trouble) -> Self {
        Self { on: On::Links(vec![link]), what, only: Only::default() }
    }

    /// The same for some packets only.
    #[must_use]
    pub fn only(self, only: Only) -> Self {
        Self { only, ..self }
    }

    /// The links it is on, of so many.
    pub(crate) fn links(&self, count: usize) -> Vec<LinkId> {
        match &self.on {
            On::All => (0..count as u32).map(LinkId).collect(),
            On::Links(links) => links.clone(),
        }
    }
}
