//! The same pattern again and again: incast, permutation, all to all.

use laxity_interface::{Span, Time};

use super::{agenda::Agenda, cargo::Cargo, tag::Tag};
use crate::{
    chance::Chance,
    flow::{Done, Driver, Flow, HostId},
};

/// Who sends to whom in a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// Every host to every other.
    AllToAll,
    /// Every host to one, every host from one; nobody to itself. Drawn anew in each round.
    Permutation,
    /// Every host to a random other one, as the NetApprox paper has it (§7.1.1).
    Random,
    /// So many hosts to one, all drawn anew in each round; with a fixed receiver if there is one.
    Incast {
        /// How many send.
        senders: u32,
        /// Who receives.
        receiver: Option<HostId>,
    },
}

/// Rounds of a pattern. The next begins when the last flow of the one before has ended. A round is a
/// job.
#[derive(Debug)]
pub struct Rounds {
    pattern: Pattern,
    hosts: Vec<HostId>,
    cargo: Cargo,
    /// Rounds that have not begun.
    left: u32,
    gap: Span,
    chance: Chance,
    agenda: Agenda,
    /// Which round runs, and how many of its flows.
    round: u32,
    open: u64,
}

impl Rounds {
    /// So many rounds among these hosts, the first at `start`, with a gap between them.
    ///
    /// # Panics
    /// If there are too few hosts for the pattern, or no rounds.
    pub fn new(
        pattern: Pattern,
        hosts: Vec<HostId>,
        cargo: Cargo,
        rounds: u32,
        start: Time,
        gap: Span,
        chance: Chance,
    ) -> Self {
        assert!(rounds > 0, "no rounds");
        let least = match pattern {
            Pattern::Incast { senders, .. } => senders as usize + 1,
            _ => 2,
        };
        assert!(hosts.len() >= least, "{pattern:?} among {} hosts", hosts.len());
        let agenda = Agenda::default();
        let mut all = Self {
            pattern,
            hosts,
            cargo,
            left: rounds - 1,
            gap,
            chance,
            agenda,
            round: 0,
            open: 0,
        };
        all.begin(start);
        all
    }

    fn begin(&mut self, at: Time) {
        for (part, (from, to)) in self.pairs().into_iter().enumerate() {
            let tag = Tag::new(self.round, part as u32 & 0xff_ffff);
            let flow = self.cargo.flow(from, to, tag, &mut self.chance);
            self.agenda.push(at, flow);
            self.open += 1;
        }
    }

    fn pairs(&mut self) -> Vec<(HostId, HostId)> {
        let hosts = &self.hosts;
        match self.pattern {
            Pattern::AllToAll => {
                // Everybody begins with the next neighbour: nobody is everybody's first.
                let n = hosts.len();
                let pair = |step: usize, at: usize| (hosts[at], hosts[(at + step) % n]);
                (1..n).flat_map(|step| (0..n).map(move |at| pair(step, at))).collect()
            }
            Pattern::Permutation => {
                let mut to = hosts.clone();
                self.chance.shuffle(&mut to);
                // Neighbours of the shuffled circle: a permutation without fixed points.
                let next = to.iter().cycle().skip(1);
                let mut pairs: Vec<_> = to.iter().copied().zip(next.copied()).collect();
                pairs.sort_unstable();
                pairs
            }
            Pattern::Random => {
                let others = hosts.len() as u64 - 1;
                let chance = &mut self.chance;
                let mut other = |at: usize| (at + 1 + chance.below(others) as usize) % hosts.len();
                (0..hosts.len()).map(|at| (hosts[at], hosts[other(at)])).collect()
            }
            Pattern::Incast { senders, receiver } => {
                let mut drawn = hosts.clone();
                self.chance.shuffle(&mut drawn);
                if let Some(place) = receiver.and_then(|r| drawn.iter().position(|h| *h == r)) {
                    drawn.swap(0, place);
                }
                let mut from = drawn[1..=senders as usize].to_vec();
                from.sort_unstable();
                from.into_iter().map(|from| (from, drawn[0])).collect()
            }
        }
    }
}

impl Driver for Rounds {
    fn poll_timeout(&self) -> Option<Time> {
        self.agenda.next()
    }

    fn poll_flow(&mut self, now: Time) -> Option<Flow> {
        self.agenda.pop(now)
    }

    fn handle_done(&mut self, done: &Done) {
        self.open -= 1;
        if self.open == 0 && self.left > 0 {
            self.left -= 1;
            self.round += 1;
            self.begin(done.finished + self.gap);
        }
    }

    fn is_done(&self) -> bool {
        self.open == 0 && self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    fn rounds(pattern: Pattern, n: u16, rounds: u32) -> Vec<(Time, Flow, Time)> {
        let chance = Chance::new(4, "rounds", 0);
        let driver = Rounds::new(
            pattern,
            hosts(n),
            cargo(1000),
            rounds,
            Time::ZERO,
            Span::from_us(2),
            chance,
        );
        play(driver, |_| Span::from_us(10))
    }

    #[test]
    fn everybody_to_everybody_once() {
        let ran = rounds(Pattern::AllToAll, 5, 1);
        let mut pairs: Vec<_> = ran.iter().map(|(_, flow, _)| (flow.from, flow.to)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!((ran.len(), pairs.len()), (20, 20));
        assert!(pairs.iter().all(|(from, to)| from != to));
    }

    #[test]
    fn a_permutation_uses_every_host_twice_and_differs_from_round_to_round() {
        let ran = rounds(Pattern::Permutation, 9, 3);
        assert_eq!(ran.len(), 27);
        let mut before = Vec::new();
        for round in ran.chunks(9) {
            let to: Vec<_> = round.iter().map(|(_, flow, _)| flow.to).collect();
            let mut all = to.clone();
            all.sort_unstable();
            assert_eq!(all, hosts(9));
            assert!(round.iter().all(|(_, flow, _)| flow.from != flow.to));
            assert_ne!(to, before);
            before = to;
        }
    }

    #[test]
    fn an_incast_has_one_receiver_that_does_not_send() {
        for receiver in [None, Some(HostId(3))] {
            for round in rounds(Pattern::Incast { senders: 6, receiver }, 8, 4).chunks(6) {
                let to = round[0].1.to;
                assert!(round.iter().all(|(_, flow, _)| flow.to == to && flow.from != to));
                assert!(receiver.is_none_or(|receiver| receiver == to));
                let mut from: Vec<_> = round.iter().map(|(_, flow, _)| flow.from).collect();
                from.dedup();
                assert_eq!(from.len(), 6);
            }
        }
    }

    #[test]
    fn a_round_waits_for_the_last_flow_of_the_one_before() {
        let chance = Chance::new(4, "rounds", 0);
        let start = Time::ZERO + Span::from_us(100);
        let gap = Span::from_us(2);
        let driver = Rounds::new(Pattern::Random, hosts(4), cargo(10), 3, start, gap, chance);
        let ran = play(driver, |flow| Span::from_us(1 + u64::from(flow.from.0)));
        let starts: Vec<_> = ran.iter().map(|(at, ..)| at.since(start)).collect();
        // Host 3 takes 4 us; then the gap.
        for (round, at) in starts.chunks(4).enumerate() {
            assert!(at.iter().all(|at| *at == Span::from_us(6) * round as u64), "{starts:?}");
        }
        let jobs: Vec<_> = ran.iter().map(|(_, flow, _)| Tag::unpack(flow.tag).job).collect();
        assert_eq!(jobs, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
    }
}
