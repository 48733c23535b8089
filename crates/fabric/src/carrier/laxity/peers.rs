//! What is known of each other rank, and what waits for it.

use std::collections::BTreeMap;

use laxity_interface::Time;
use laxity_protocol::PeerId;

use crate::{carrier::Parcel, rank::Rank};

/// A parcel by its place in the order: priority, then age.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    pub(super) priority: u32,
    pub(super) number: u64,
}

/// A parcel that has not begun.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) parcel: Parcel,
    /// When what has arrived is enough.
    pub(super) deadline: Option<Time>,
    /// When it is given up.
    pub(super) limit: Option<Time>,
}

/// Another rank.
#[derive(Debug, Default)]
pub(super) struct Peer {
    /// The connection that is used, and whether it is up.
    pub(super) connection: Option<(PeerId, bool)>,
    /// It has heard who this is.
    pub(super) introduced: bool,
    pub(super) waiting: BTreeMap<Place, Waiting>,
    /// Jobs on their way to it.
    pub(super) under_way: usize,
    pub(super) lost: bool,
}

/// All other ranks.
#[derive(Debug)]
pub(super) struct Peers {
    by_rank: Vec<Peer>,
    /// Who is at the other side of a connection: it has proved it, or was called at its address.
    by_connection: BTreeMap<PeerId, Rank>,
}

impl Peers {
    pub(super) fn new(world: u32) -> Self {
        Self {
            by_rank: (0..world).map(|_| Peer::default()).collect(),
            by_connection: BTreeMap::new(),
        }
    }

    pub(super) fn get_mut(&mut self, rank: Rank) -> Option<&mut Peer> {
        self.by_rank.get_mut(rank.index())
    }

    pub(super) fn at_mut(&mut self, rank: Rank) -> &mut Peer {
        &mut self.by_rank[rank.index()]
    }

    /// Every rank that is not lost, with a connection that is up.
    pub(super) fn connected(&self) -> Vec<(Rank, PeerId)> {
        let up = |(rank, peer): (usize, &Peer)| match peer.connection {
            Some((connection, true)) if !peer.lost => Some((Rank::new(rank as u32), connection)),
            _ => None,
        };
        self.by_rank.iter().enumerate().filter_map(up).collect()
    }

    /// Whether nothing waits or is under way, to ranks that are not lost.
    pub(super) fn are_idle(&self) -> bool {
        self.by_rank
            .iter()
            .all(|peer| peer.lost || (peer.waiting.is_empty() && peer.under_way == 0))
    }

    /// Whose connection it is.
    pub(super) fn rank_of(&self, connection: PeerId) -> Option<Rank> {
        self.by_connection.get(&connection).copied()
    }

    /// This side calls a rank.
    pub(super) fn called(&mut self, rank: Rank, connection: PeerId) {
        self.by_connection.insert(connection, rank);
        self.at_mut(rank).connection = Some((connection, false));
    }

    /// A rank is at the other side of a connection that is up. It is used unless there is one already.
    pub(super) fn is_up(&mut self, rank: Rank, connection: PeerId) {
        self.by_connection.insert(connection, rank);
        let peer = self.at_mut(rank);
        if !matches!(peer.connection, Some((_, true))) {
            peer.connection = Some((connection, true));
        }
    }

    /// A connection is no more.
    pub(super) fn forget(&mut self, connection: PeerId) -> Option<Rank> {
        let rank = self.by_connection.remove(&connection)?;
        let peer = self.at_mut(rank);
        if peer.connection.is_some_and(|(used, _)| used == connection) {
            peer.connection = None;
        }
        Some(rank)
    }

    /// Every connection with a rank.
    pub(super) fn connections(&self, rank: Rank) -> Vec<PeerId> {
        let of = self.by_connection.iter().filter(|(_, found)| **found == rank);
        of.map(|(connection, _)| *connection).collect()
    }
}
