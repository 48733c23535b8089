//! Names for things that would otherwise all be integers.

use std::fmt;

/// A peer of one [`Endpoint`](crate::Endpoint): one connection to one address.
///
/// Ids are never reused within an endpoint, so a stale one is an error and not somebody else.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PeerId(pub(crate) u64);

impl PeerId {
    /// The number behind the id, for logs and for tables indexed by peer.
    pub fn get(self) -> u64 {
        self.0
    }
}

/// A job number, counted up from 0 by the side that sends the job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct JobId(pub u64);

/// A job this endpoint sends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SendId {
    /// Who it goes to.
    pub peer: PeerId,
    /// Its number on that connection.
    pub job: JobId,
}

/// A job this endpoint receives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RecvId {
    /// Who sends it.
    pub peer: PeerId,
    /// Its number on that connection.
    pub job: JobId,
}

impl fmt::Display for SendId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job {} to peer {}", self.job.0, self.peer.0)
    }
}

impl fmt::Display for RecvId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job {} from peer {}", self.job.0, self.peer.0)
    }
}
