//! Many ranks in one thread and virtual time.
#![allow(dead_code, unreachable_pub)] // Each test uses a part.

use std::collections::BTreeMap;

use bytes::Bytes;
use laxity_fabric::{
    Engine, Group, OpError, Operation, Options, Outcome, Rank,
    carrier::{
        Arrival, Event,
        memory::{Faults, Network},
    },
};
use laxity_interface::{Span, Time};
use laxity_protocol::ElementType;

/// What each rank ended with; nothing for a dead one.
pub type Results = Vec<Option<Result<Outcome, OpError>>>;

/// Engines on a network in memory.
pub struct World {
    pub engines: Vec<Engine>,
    pub network: Network,
    pub now: Time,
    /// Everything that came, with who got it.
    pub arrivals: Vec<(Rank, Arrival)>,
}

impl World {
    pub fn new(ranks: u32, faults: Faults) -> Self {
        let engines = (0..ranks).map(|rank| Engine::new(Rank::new(rank))).collect();
        Self {
            engines,
            network: Network::new(ranks, faults),
            now: Time::ZERO,
            arrivals: Vec::new(),
        }
    }

    /// Moves parcels out of a rank.
    fn hand_over(&mut self, rank: usize) {
        while let Some(parcel) = self.engines[rank].poll_parcel() {
            self.network.submit(self.now, Rank::new(rank as u32), parcel);
        }
    }

    /// Starts an operation on every rank, some later than others, and runs until all have ended.
    pub fn run_late(
        &mut self,
        group: &Group,
        operation: impl Fn(Rank) -> Operation,
        element: ElementType,
        data: impl Fn(Rank) -> Bytes,
        options: &Options,
        late: &BTreeMap<Rank, Span>,
    ) -> (Results, Span) {
        let begin = self.now;
        let mut starts: Vec<(Time, Rank)> = group
            .members()
            .iter()
            .map(|rank| (begin + late.get(rank).copied().unwrap_or(Span::ZERO), *rank))
            .collect();
        starts.sort();
        starts.reverse();
        let mut results: Results = vec![None; self.engines.len()];
        let mut left = group.size();
        let mut longest = Span::ZERO;
        let mut started = BTreeMap::new();
        let mut steps = 0u64;
        while left > 0 {
            steps += 1;
            assert!(steps < 5_000_000, "no end in sight at {}", self.now);
            while let Some((_, rank)) = starts.pop_if(|(at, _)| *at <= self.now) {
                if self.network.is_dead(rank) {
                    continue;
                }
                started.insert(rank, self.now);
                let engine = &mut self.engines[rank.index()];
                engine
                    .start(self.now, group, operation(rank), element, data(rank), options)
                    .expect("it can start");
                self.hand_over(rank.index());
            }
            for (rank, place) in results.iter_mut().enumerate() {
                let name = Rank::new(rank as u32);
                if self.network.is_dead(name) {
                    continue;
                }
                while let Some(event) = self.network.take(self.now, name) {
                    if let Event::Arrived(arrival) = &event {
                        self.arrivals.push((name, arrival.clone()));
                    }
                    _ = self.engines[rank].handle_event(self.now, event);
                    self.hand_over(rank);
                }
                self.engines[rank].handle_timeout(self.now);
                self.hand_over(rank);
                while let Some((_, result)) = self.engines[rank].poll_finished() {
                    assert!(place.replace(result).is_none(), "an operation ends once");
                    longest = longest.max(self.now.since(started[&name]));
                }
            }
            left = group
                .members()
                .iter()
                .filter(|rank| results[rank.index()].is_none() && !self.network.is_dead(**rank))
                .count();
            if left > 0 {
                let alive = |rank: &usize| !self.network.is_dead(Rank::new(*rank as u32));
                let timeouts = (0..self.engines.len())
                    .filter(alive)
                    .filter_map(|rank| self.engines[rank].poll_timeout());
                let next = timeouts
                    .chain(self.network.next())
                    .chain(starts.last().map(|(at, _)| *at))
                    .min()
                    .expect("something happens, or it would hang");
                self.now = self.now.max(next);
            }
        }
        for (rank, result) in results.iter_mut().enumerate() {
            result.take_if(|_| self.network.is_dead(Rank::new(rank as u32)));
        }
        (results, longest)
    }

    /// Runs an operation that all ranks start at once, and expects that all end well.
    pub fn run(
        &mut self,
        group: &Group,
        operation: Operation,
        element: ElementType,
        data: impl Fn(Rank) -> Bytes,
        options: &Options,
    ) -> Vec<Outcome> {
        let late = BTreeMap::new();
        let (results, _) = self.run_late(group, |_| operation, element, data, options, &late);
        let member = |rank: &Rank| results[rank.index()].clone().expect("nobody dies");
        group.members().iter().map(|rank| member(rank).expect("it ends well")).collect()
    }
}

/// The result's bytes in one piece.
pub fn bytes(outcome: &Outcome) -> Vec<u8> {
    outcome.parts.concat()
}
