//! Events of operations that this rank has not started yet.

use std::collections::{BTreeMap, VecDeque};

use crate::{
    carrier::{Arrival, Envelope},
    rank::{GroupId, Rank},
};

/// Names an operation on this rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Key {
    /// One of a group's operations, by its number.
    Collective { group: GroupId, sequence: u64 },
    /// The number-th parcel that goes to, or comes from, a rank under a tag.
    Direct { group: GroupId, tag: u64, peer: Rank, number: u32, receives: bool },
}

/// Something that happened too early.
#[derive(Debug)]
pub(crate) enum Early {
    Arrived(Arrival),
    Failed { peer: Rank, envelope: Envelope, reason: String },
}

/// Holds events until their operation starts, within a limit of memory.
#[derive(Debug)]
pub(crate) struct Kept {
    events: BTreeMap<Key, Vec<Early>>,
    bytes: usize,
    limit: usize,
    /// Operations that lost an event because there was no room, with who sent it.
    spoiled: BTreeMap<Key, Rank>,
}

impl Kept {
    /// What an event costs beside its body.
    const OVERHEAD: usize = 256;
    /// Operations that can be known to be spoiled.
    const SPOILED: usize = 4096;

    /// Holds so many bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { events: BTreeMap::new(), bytes: 0, limit, spoiled: BTreeMap::new() }
    }

    /// Its limit in bytes.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Keeps an event of an operation, or remembers that there was no room.
    pub(crate) fn keep(&mut self, key: Key, event: Early) {
        let cost = cost(&event);
        if self.bytes + cost > self.limit {
            let (Early::Arrived(Arrival { from: peer, .. }) | Early::Failed { peer, .. }) = event;
            if self.spoiled.len() < Self::SPOILED {
                self.spoiled.entry(key).or_insert(peer);
            }
            return;
        }
        self.bytes += cost;
        self.events.entry(key).or_default().push(event);
    }

    /// What was kept of an operation; an error names who sent what did not fit.
    pub(crate) fn take(&mut self, key: &Key) -> Result<Vec<Early>, Rank> {
        let events = self.events.remove(key).unwrap_or_default();
        self.bytes -= events.iter().map(cost).sum::<usize>();
        match self.spoiled.remove(key) {
            Some(peer) => Err(peer),
            None => Ok(events),
        }
    }
}

fn cost(event: &Early) -> usize {
    match event {
        Early::Arrived(arrival) => arrival.body.len() + arrival.missing.len() * 16 + Kept::OVERHEAD,
        Early::Failed { reason, .. } => reason.len() + Kept::OVERHEAD,
    }
}

/// What to answer to ranks that ask after an operation that has ended here.
#[derive(Debug, Default)]
pub(crate) struct Retired {
    words: BTreeMap<Key, bytes::Bytes>,
    order: VecDeque<Key>,
}

impl Retired {
    /// Operations that are remembered.
    const KEPT: usize = 1024;

    /// Remembers an operation.
    pub(crate) fn add(&mut self, key: Key, word: bytes::Bytes) {
        if self.order.len() == Self::KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.words.remove(&oldest);
        }
        self.words.insert(key, word);
        self.order.push_back(key);
    }

    /// What to answer.
    pub(crate) fn word(&self, key: &Key) -> Option<&bytes::Bytes> {
        self.words.get(key)
    }
}
