//! What the receiver answers, up to its last word, and the report made of it.

use std::collections::BTreeMap;

use laxity_interface::{Span, Time};
use smallvec::SmallVec;

use super::job::SendJob;
use crate::{
    report::{DeliveryReport, Ended, GroupDelivery, Missing},
    wire::{JobKind, Runs},
};

/// Fruitless questions before the pauses between them grow, and the longest of these.
const PATIENT_ROUNDS: u32 = 3;
const MAX_PAUSE: Span = Span::from_ms(20);

/// A part of a receiver's last word speaks of at least this many messages, or of all.
const MIN_PART: u64 = 64;

/// What the receiver's last word says.
#[derive(Clone, Debug)]
pub(crate) struct Stopped {
    ended: Ended,
    received: SmallVec<[u64; 2]>,
    /// Parts heard of, by numbering and start.
    parts: BTreeMap<(u16, u64), Runs>,
}

impl SendJob {
    /// The receiver answers. Returns true when its last word is complete.
    pub(crate) fn status(
        &mut self,
        (round, ended, space): (u64, Option<Ended>, u16),
        received: SmallVec<[u64; 2]>,
        runs: Runs,
    ) -> bool {
        let Some(ended) = ended else {
            // An answer to an older probe speaks of what has been sent again since.
            if self.probe == Some(round) {
                self.pool.status(space, &runs, &mut self.budgets);
                (self.probe, self.probe_at) = (None, None);
            }
            return false;
        };
        let spaces = self.pool.spaces(&self.budgets);
        let most = spaces.len() as u64 + spaces.iter().sum::<u64>() / MIN_PART;
        let stopped = self.stopped.get_or_insert_with(|| Stopped {
            ended,
            received: received.clone(),
            parts: BTreeMap::new(),
        });
        stopped.received = received;
        // No honest receiver cuts its last word into smaller parts: the rest is not worth memory.
        if (stopped.parts.len() as u64) < most || runs.from == 0 {
            stopped.parts.insert((space, runs.from), runs);
        }
        self.heard_all(&spaces)
    }

    /// The next question: a new one, or the one that is out again.
    ///
    /// Asking at the pace of the path would only keep it busy where nothing new arrives: there the
    /// pauses grow.
    pub(crate) fn ask(&mut self, now: Time, rtt: Span) -> u64 {
        if let Some(round) = self.probe {
            return round;
        }
        let (rounds, before) = self.stale;
        let news = self.pieces_acked > before;
        self.stale = if news { (0, self.pieces_acked) } else { (rounds + 1, before) };
        if self.stale.0 > PATIENT_ROUNDS {
            let doublings = (self.stale.0 - PATIENT_ROUNDS).min(4);
            self.ask_at = now + (rtt * (1 << doublings)).min(MAX_PAUSE.max(rtt));
        }
        self.rounds += 1;
        self.probe = Some(self.rounds);
        self.rounds
    }

    fn heard_all(&self, spaces: &[u64]) -> bool {
        let Some(stopped) = &self.stopped else { return false };
        spaces.iter().enumerate().all(|(space, &total)| {
            let mut reach = 0;
            while reach < total {
                match stopped.parts.get(&(space as u16, reach)) {
                    Some(part) if part.to > reach => reach = part.to,
                    _ => return false,
                }
            }
            true
        })
    }

    /// What is known at the end.
    pub(crate) fn report(&self, now: Time) -> DeliveryReport {
        let stopped = self.stopped.as_ref().expect("reported only after the receiver's last word");
        let groups: Vec<_> = self
            .budgets
            .iter()
            .enumerate()
            .map(|(at, budget)| GroupDelivery {
                id: self.ids[at],
                total: budget.total,
                required: budget.required,
                received: stopped.received.get(at).copied().unwrap_or(budget.acked),
            })
            .collect();
        let missing_in = |space: u16| {
            let parts = stopped.parts.range((space, 0)..=(space, u64::MAX));
            parts.flat_map(|(_, runs)| runs.missing.iter().copied()).collect::<Vec<_>>()
        };
        let missing = match self.open.kind {
            JobKind::Tensor { element, elements } => {
                let per_chunk = u64::from(self.open.piece) / element.size() as u64;
                Missing::Elements(to_elements(&missing_in(0), per_chunk, elements))
            }
            JobKind::Messages { .. } => Missing::Messages(
                self.ids.iter().enumerate().map(|(at, id)| (*id, missing_in(at as u16))).collect(),
            ),
        };
        let pieces: u64 = self.pieces_sent.max(1);
        DeliveryReport {
            groups,
            missing,
            elapsed: now.since(self.started),
            bytes: self.bytes_sent,
            loss_rate: (self.pieces_lost as f64 / pieces as f64).min(1.0),
            repeated: self.pool.repeats(),
            ended: stopped.ended,
        }
    }
}

/// Chunk ranges as element ranges.
pub(crate) fn to_elements(chunks: &[(u64, u64)], per_chunk: u64, elements: u64) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::with_capacity(chunks.len());
    for &(start, end) in chunks {
        let range = (start * per_chunk, (end * per_chunk).min(elements));
        match ranges.last_mut() {
            Some(last) if last.1 == range.0 => last.1 = range.1,
            _ => ranges.push(range),
        }
    }
    ranges
}
