//! Conversations: how far each has come, and what waits to be said.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    net::SocketAddr,
};

use laxity_interface::Time;

use super::network::HostId;
use crate::{auth::NONCE_BYTES, wire};

/// A conversation, as whoever carries it numbers them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SessionId(pub u64);

/// How far a conversation has come.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Stage {
    /// Nothing has been said.
    Silent,
    /// Somebody has said who it is and has to prove it.
    Challenged(Box<wire::Hello>),
    /// A host.
    Host(HostId),
    /// Somebody who asks.
    Observer,
    /// It is over; what waits is still said.
    Over,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Session {
    pub(crate) at: SocketAddr,
    pub(crate) nonce: [u8; NONCE_BYTES],
    pub(crate) stage: Stage,
    pub(crate) came: Time,
    pub(crate) words: VecDeque<wire::to_host::Word>,
    /// The ranks that it plays.
    pub(crate) seats: Vec<(String, u32)>,
}

/// All conversations, and who has something to be told.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Sessions {
    all: BTreeMap<SessionId, Session>,
    ready: BTreeSet<SessionId>,
}

impl Sessions {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn open(&mut self, id: SessionId, at: SocketAddr, nonce: [u8; 32], now: Time) {
        let (stage, words, seats) = (Stage::Silent, VecDeque::new(), Vec::new());
        self.all.insert(id, Session { at, nonce, stage, came: now, words, seats });
    }

    pub(crate) fn get(&self, id: SessionId) -> Option<&Session> {
        self.all.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: SessionId) -> Option<&mut Session> {
        self.all.get_mut(&id)
    }

    pub(crate) fn remove(&mut self, id: SessionId) -> Option<Session> {
        self.ready.remove(&id);
        self.all.remove(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (SessionId, &Session)> {
        self.all.iter().map(|(id, session)| (*id, session))
    }

    /// Something is to be said; the number of words that wait now.
    pub(crate) fn say(&mut self, id: SessionId, word: wire::to_host::Word) -> usize {
        let Some(session) = self.all.get_mut(&id) else { return 0 };
        session.words.push_back(word);
        self.ready.insert(id);
        session.words.len()
    }

    /// There are plans to be told.
    pub(crate) fn wake(&mut self, id: SessionId) {
        if self.all.contains_key(&id) {
            self.ready.insert(id);
        }
    }

    pub(crate) fn settle(&mut self, id: SessionId) {
        self.ready.remove(&id);
    }

    /// Who has something to be told.
    pub(crate) fn ready(&self) -> impl Iterator<Item = SessionId> {
        self.ready.iter().copied()
    }
}
