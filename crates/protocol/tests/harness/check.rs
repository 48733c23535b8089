//! The promise, checked: what both sides say against what really happened.

use laxity_interface::{GroupId, Span, Time};
use laxity_protocol::{DeliveryReport, JobError, Missing, Payload, ResetCode};

use super::{Job, World};

/// Timers are exact in a virtual world; only rounding to whole microseconds adds something.
const SLACK: Span = Span::from_ms(2);

type Ranges = Vec<(u64, u64)>;

fn ranges(missing: impl Iterator<Item = u64>) -> Ranges {
    let mut ranges: Ranges = Vec::new();
    for number in missing {
        match ranges.last_mut() {
            Some(last) if last.1 == number => last.1 += 1,
            _ => ranges.push((number, number + 1)),
        }
    }
    ranges
}

impl Job {
    /// What is really missing at the receiver, and how much of each group is really there.
    fn truth(&self) -> (Missing, Vec<(u64, u64)>) {
        let (_, open) = self.offered.as_ref().expect("a received job was offered");
        if let Some((size, elements)) = self.element() {
            let per_chunk = u64::from(open.piece) / size;
            let chunks = elements.div_ceil(per_chunk);
            let lacks = |chunk: &u64| !self.chunks.contains(*chunk as usize);
            let missing = ranges((0..chunks).filter(lacks));
            let last = |end: u64| (end * per_chunk).min(elements);
            let missing = missing.into_iter().map(|(from, to)| (from * per_chunk, last(to)));
            let counts = self.chunk_counts(chunks, per_chunk);
            return (Missing::Elements(missing.collect()), counts);
        }
        let unit = u64::from(open.piece);
        let is_whole = |group: usize, index: u64| {
            let Some(number) = self.by_group[group].get(index as usize) else { return false };
            let (_, size) = self.messages[*number as usize];
            let pieces = size.div_ceil(unit).max(1);
            self.pieces.get(&(group, index)).is_some_and(|got| got.len() as u64 == pieces)
        };
        let mut missing: Vec<(GroupId, Ranges)> = Vec::new();
        let mut counts = Vec::new();
        for (at, spec) in self.request.groups.iter().enumerate() {
            let total = self.count(at);
            let lacks = ranges((0..total).filter(|index| !is_whole(at, *index)));
            counts.push((total - lacks.iter().map(|r| r.1 - r.0).sum::<u64>(), total));
            missing.push((spec.id, lacks));
        }
        (Missing::Messages(missing), counts)
    }

    /// Arrived and total chunks of each group of a tensor: a chunk belongs to the strictest group
    /// that it touches.
    fn chunk_counts(&self, chunks: u64, per_chunk: u64) -> Vec<(u64, u64)> {
        let Payload::Tensor { groups, .. } = &self.request.payload else { unreachable!("tensor") };
        let mut counts = vec![(0, 0); self.request.groups.len()];
        for chunk in 0..chunks {
            let (first, end) = (chunk * per_chunk, (chunk + 1) * per_chunk);
            let touched = groups.iter().enumerate().filter(|(at, (start, _))| {
                let until = groups.get(at + 1).map_or(u64::MAX, |next| next.0);
                *start < end && first < until
            });
            let strict = |place: &usize| self.request.groups[*place].min_delivery.get();
            let places = touched.map(|(_, (_, id))| self.place(*id));
            let place = places.max_by(|a, b| strict(a).total_cmp(&strict(b))).unwrap_or(0);
            counts[place].0 += u64::from(self.chunks.contains(chunk as usize));
            counts[place].1 += 1;
        }
        counts
    }

    fn check_report(&self, report: &DeliveryReport) {
        let (missing, counts) = self.truth();
        assert_eq!(report.missing, missing, "what is said to be missing");
        assert_eq!(report.groups.len(), self.request.groups.len());
        for (group, spec) in report.groups.iter().zip(&self.request.groups) {
            assert_eq!(group.id, spec.id);
            let promised = spec.min_delivery.of(group.total);
            if self.element().is_none() {
                assert_eq!(group.required, promised, "required");
            }
            assert!(group.received >= group.required.max(promised), "the promise: {group:?}");
            assert!(group.received <= group.total);
        }
        if let (Payload::Tensor { elements, .. }, Missing::Elements(lacks), [only]) =
            (&self.request.payload, &missing, &self.request.groups[..])
        {
            let there = elements - lacks.iter().map(|range| range.1 - range.0).sum::<u64>();
            assert!(there >= only.min_delivery.of(*elements), "{there} elements of {elements}");
        }
        let said: Vec<_> = report.groups.iter().map(|g| (g.received, g.total)).collect();
        assert_eq!(said, counts, "how much is said to be there");
    }

    /// Messages were announced once each, in order where that was promised, and all that arrived.
    fn check_announcements(&self) {
        if self.element().is_some() {
            assert!(self.announced.iter().all(Vec::is_empty), "chunks are not announced");
            return;
        }
        let (Missing::Messages(missing), _) = self.truth() else { unreachable!("messages") };
        for (at, spec) in self.request.groups.iter().enumerate() {
            let mut announced = self.announced[at].clone();
            if spec.min_delivery.get() == 1.0 {
                assert!(announced.is_sorted(), "group {at} must arrive in order: {announced:?}");
            }
            announced.sort_unstable();
            assert!(announced.windows(2).all(|pair| pair[0] < pair[1]), "announced twice");
            if matches!(self.receiver, Some((_, Ok(_)))) {
                let total = self.by_group[at].len() as u64;
                let lacks = |n: &u64| missing[at].1.iter().any(|r| r.0 <= *n && *n < r.1);
                let arrived: Vec<u64> = (0..total).filter(|n| !lacks(n)).collect();
                assert_eq!(announced, arrived, "announced is what arrived in group {at}");
            }
        }
    }

    /// Refused because there were too many jobs at once.
    pub fn refused(&self) -> bool {
        let too_many =
            |error: &JobError| matches!(error, JobError::Reset { code: ResetCode::TooMany, .. });
        self.overbooked
            || self.sender.as_ref().is_some_and(|(_, e)| e.as_ref().is_err_and(too_many))
    }

    fn limit(&self, world: &World) -> Span {
        let default = world.nodes[self.from].endpoint.config().time_limit;
        self.request.time_limit.unwrap_or(default)
    }

    fn check(&self, world: &World) {
        let (from, to) = (&world.nodes[self.from], &world.nodes[self.to]);
        if let Some((at, outcome)) = &self.receiver {
            let offered = self.offered.as_ref().expect("only offered jobs end").0;
            let deadline = offered + self.limit(world) + SLACK;
            assert!(*at <= deadline, "the receiver was late: {at} > {deadline}");
            match outcome {
                Ok(report) => self.check_report(report),
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.contains(&from.address.to_string()), "{text}");
                }
            }
            self.check_announcements();
        }
        let Some(started) = self.started else { return };
        match &self.sender {
            Some((at, outcome)) => {
                let deadline = started + self.limit(world) + SLACK;
                assert!(*at <= deadline, "the sender was late: {at} > {deadline}");
                match (outcome, &self.receiver) {
                    (Ok(sent), Some((_, Ok(received)))) => {
                        assert_eq!(sent.groups, received.groups, "both sides know the same");
                        assert_eq!(sent.missing, received.missing, "both sides know the same");
                        assert_eq!(sent.ended, received.ended, "both sides know the same");
                    }
                    (Ok(_), other) => panic!("the sender is content, the receiver: {other:?}"),
                    (Err(error), _) => {
                        let text = error.to_string();
                        assert!(text.contains(&to.address.to_string()), "{text}");
                    }
                }
            }
            None => assert!(!from.alive, "a living sender never learned how its job ended"),
        }
        if self.offered.is_some() && to.alive {
            assert!(self.receiver.is_some(), "a living receiver never ended its job");
        }
    }
}

impl World {
    /// Whether every job has ended wherever somebody lives to see it.
    pub fn settled(&self) -> bool {
        self.jobs.iter().all(|job| {
            let (from, to) = (&self.nodes[job.from], &self.nodes[job.to]);
            let waits = job.id.is_none() && !job.skipped && from.alive && to.alive;
            let sender = job.sender.is_some() || !from.alive || job.id.is_none();
            let receiver = job.receiver.is_some() || !to.alive || job.offered.is_none();
            !waits && sender && receiver
        })
    }

    /// Nothing is left of jobs that are over.
    pub fn is_clean(&self) -> bool {
        self.nodes.iter().filter(|node| node.alive).all(|node| {
            let mut infos = node.endpoint.peers().filter_map(|peer| node.endpoint.peer(peer));
            let idle = infos.all(|info| {
                info.sending + info.receiving + info.ending == 0
                    && info.exact.in_flight + info.slack.in_flight == 0
            });
            idle && node.endpoint.unclaimed().is_zero()
        })
    }

    /// Runs to the end and checks everything. `limit` is far beyond every time limit.
    pub fn finish(&mut self, limit: Time) {
        let mut steps = 0u64;
        let done = self.run_until(limit, |world| {
            steps += 1;
            assert!(steps < 3_000_000, "too busy");
            world.settled()
        });
        assert!(done, "hangs");
        for job in &self.jobs {
            job.check(self);
        }
        let rest = self.now + Span::from_secs(30);
        assert!(self.run_until(rest, Self::is_clean), "something is left over");
    }
}
