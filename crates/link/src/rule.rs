//! Faults: what may happen to a packet on its way.

use std::fmt;

use laxity_interface::{Span, Time};

use crate::packet::PacketInfo;

/// What a rule does to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Nothing: the next rule decides, and without one the packet passes as it is.
    Pass,
    /// The packet is lost, before it takes any room or time on the link.
    Drop,
    /// The packet arrives later than it would have; packets behind it may overtake it.
    Deliver {
        /// How much later.
        extra_delay: Span,
    },
    /// The packet arrives more than once. The copies take no time on the link.
    Duplicate {
        /// How many copies follow the first.
        copies: u32,
        /// How long after the one before each copy arrives.
        gap: Span,
    },
    /// The packet arrives damaged.
    Corrupt,
    /// The packet is marked as having met congestion, if its sender understands marks.
    Mark,
}

/// Decides what happens to packets as they enter a link.
///
/// A closure is a rule:
///
/// ```
/// use laxity_interface::{Bytes, Time};
/// use laxity_link::{PacketInfo, Rule, Verdict};
/// let mut no_jumbo = |_now: Time, packet: &PacketInfo| match packet.size.get() {
///     0..=1500 => Verdict::Pass,
///     _ => Verdict::Drop,
/// };
/// assert_eq!(no_jumbo.on_packet(Time::ZERO, &PacketInfo::new(Bytes::new(9000))), Verdict::Drop);
/// ```
pub trait Rule: Send {
    /// Decides about one packet. Called once for every packet, in the order of sending.
    fn on_packet(&mut self, now: Time, packet: &PacketInfo) -> Verdict;

    /// What it is called in counters.
    fn name(&self) -> &'static str {
        "rule"
    }
}

impl<F: FnMut(Time, &PacketInfo) -> Verdict + Send> Rule for F {
    fn on_packet(&mut self, now: Time, packet: &PacketInfo) -> Verdict {
        self(now, packet)
    }
}

/// Rules in order; the first that does not pass a packet decides.
///
/// Every rule sees every packet, also one that an earlier rule has decided about: else adding a rule
/// would shift the random numbers and the counts of those behind it.
#[derive(Default)]
pub struct Rules(Vec<Box<dyn Rule>>);

impl Rules {
    /// No rules: everything passes.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a rule behind the others.
    pub fn push(&mut self, rule: impl Rule + 'static) {
        self.0.push(Box::new(rule));
    }

    /// The same rules and this one behind them.
    #[must_use]
    pub fn with(mut self, rule: impl Rule + 'static) -> Self {
        self.push(rule);
        self
    }

    /// Asks all rules; the verdict comes with the name of the rule that gave it.
    pub(crate) fn decide(&mut self, now: Time, packet: &PacketInfo) -> (Verdict, &'static str) {
        let mut decided = (Verdict::Pass, "");
        for rule in &mut self.0 {
            let verdict = rule.on_packet(now, packet);
            if decided.0 == Verdict::Pass {
                decided = (verdict, rule.name());
            }
        }
        decided
    }
}

impl Rule for Rules {
    fn on_packet(&mut self, now: Time, packet: &PacketInfo) -> Verdict {
        self.decide(now, packet).0
    }

    fn name(&self) -> &'static str {
        "rules"
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|rule| rule.name())).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    };

    use laxity_interface::Bytes;

    use super::*;

    #[test]
    fn the_first_that_does_not_pass_decides_and_all_are_asked() {
        let asked = Arc::new(AtomicU32::new(0));
        let always = |verdict| {
            let asked = Arc::clone(&asked);
            move |_: Time, _: &PacketInfo| {
                asked.fetch_add(1, Ordering::Relaxed);
                verdict
            }
        };
        let rules = Rules::new().with(always(Verdict::Pass)).with(always(Verdict::Mark));
        let mut rules = rules.with(always(Verdict::Drop));
        let packet = PacketInfo::new(Bytes::new(1));
        assert_eq!(rules.on_packet(Time::ZERO, &packet), Verdict::Mark);
        assert_eq!(asked.load(Ordering::Relaxed), 3);
        assert_eq!(Rules::new().on_packet(Time::ZERO, &packet), Verdict::Pass);
    }
}
