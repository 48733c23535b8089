//! What the protocol tells the application.

use laxity_interface::GroupId;

use crate::{
    error::{ConnectError, Gone, JobError},
    ids::{PeerId, RecvId, SendId},
    report::DeliveryReport,
    wire::JobOpen,
};

/// Something happened.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A peer is connected, whoever started it.
    Connected(PeerId),
    /// A peer could not be connected.
    ConnectFailed(PeerId, ConnectError),
    /// A peer is gone; its jobs have ended with events of their own.
    PeerGone(PeerId, Gone),
    /// A peer starts a job. If it is marked unclaimed, nothing of it is taken until
    /// [`Endpoint::claim`](crate::Endpoint::claim) makes room.
    Offered {
        /// Its id from now on.
        id: RecvId,
        /// What it says of itself.
        open: JobOpen,
        /// It fits the memory set aside for jobs nobody asked for, and is being received already.
        claimed: bool,
    },
    /// A message of a [`Messages`](crate::JobKind::Messages) job is there. Exact groups come in order.
    Message {
        /// Which job.
        id: RecvId,
        /// Its group.
        group: GroupId,
        /// Its number inside the group.
        index: u64,
    },
    /// A job was received, with at least what was promised.
    Received(RecvId, DeliveryReport),
    /// A job will not be received.
    RecvFailed(RecvId, JobError),
    /// The receiver has what it needs of a job.
    Sent(SendId, DeliveryReport),
    /// A job could not be delivered.
    SendFailed(SendId, JobError),
}
