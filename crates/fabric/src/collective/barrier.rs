//! Nobody goes on before everybody is here: a dissemination barrier.
//!
//! In round k everybody tells the one 2^k further on; after ⌈log₂ n⌉ rounds everybody has heard of
//! everybody (Hensgen, Finkel and Manber, 1988).

use std::collections::BTreeSet;

use bytes::Bytes;

use super::{Context, Facts, Finished, Incoming, Machine};

/// The machine.
#[derive(Debug)]
pub(crate) struct Barrier {
    me: usize,
    size: usize,
    round: u16,
    heard: BTreeSet<u16>,
}

impl Barrier {
    /// This rank's part in a barrier.
    pub(crate) fn new(facts: &Facts) -> Self {
        Self { me: facts.me, size: facts.size(), round: 0, heard: BTreeSet::new() }
    }

    fn rounds(&self) -> u16 {
        self.size.next_power_of_two().ilog2() as u16
    }

    fn tell(&self, cx: &mut Context<'_>) {
        if self.round < self.rounds() {
            let to = (self.me + (1 << self.round)) % self.size;
            cx.send_bytes(to, self.round, 0, Bytes::new());
        } else {
            cx.finish(Finished::default());
        }
    }
}

impl Machine for Barrier {
    fn begin(&mut self, cx: &mut Context<'_>) {
        self.tell(cx);
    }

    fn arrived(&mut self, cx: &mut Context<'_>, parcel: Incoming) {
        self.heard.insert(parcel.stage);
        while self.heard.remove(&self.round) {
            self.round += 1;
            self.tell(cx);
        }
    }

    fn awaits(&self) -> Vec<usize> {
        let rounds = (self.round..self.rounds()).filter(|round| !self.heard.contains(round));
        rounds.map(|round| (self.me + self.size - (1 << round) % self.size) % self.size).collect()
    }
}
