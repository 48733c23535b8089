//! What an application asks of an endpoint, and what it may know.

use std::net::SocketAddr;

use laxity_interface::{Bytes, GroupId, Rate, Span, Time};
use rand_core::Rng;

use super::Endpoint;
use crate::{
    config::Keys,
    connection::{Caller, Connection, Handshake},
    control::{ControllerKind, Reason},
    crypto::Cipher,
    error::{ConnectError, Gone, JobError, Progress, ResetCode},
    event::Event,
    ids::{PeerId, RecvId, SendId},
    send::{SendRequest, SendRequestError},
    slack::LaneKind,
};

/// What is known of a peer.
#[derive(Clone, Debug)]
pub struct PeerInfo {
    /// Its address.
    pub address: SocketAddr,
    /// The handshake is through.
    pub connected: bool,
    /// What protects its packets; `None` without a key, and before the handshake is through.
    pub cipher: Option<Cipher>,
    /// Round-trip time.
    pub rtt: Span,
    /// Jobs being sent to it.
    pub sending: usize,
    /// Jobs being received from it.
    pub receiving: usize,
    /// Received jobs that are over but whose sender has not confirmed the last word.
    pub ending: usize,
    /// The lane of groups that may lose nothing.
    pub exact: LaneInfo,
    /// The lane of the others.
    pub slack: LaneInfo,
}

/// What a lane does and why.
#[derive(Clone, Copy, Debug)]
pub struct LaneInfo {
    /// How fast it sends.
    pub rate: Rate,
    /// Bytes on the way.
    pub in_flight: u64,
    /// Why that fast.
    pub reason: Reason,
}

impl Endpoint {
    /// Starts to connect; a [`Connected`](Event::Connected) or
    /// [`ConnectFailed`](Event::ConnectFailed) event follows.
    pub fn connect(&mut self, now: Time, to: SocketAddr) -> Result<PeerId, ConnectError> {
        self.connect_sized(now, to, self.shared.config.max_datagram)
    }

    /// [`connect`](Self::connect) over a path that is known to carry no larger datagrams than this.
    pub fn connect_sized(
        &mut self,
        now: Time,
        to: SocketAddr,
        max_datagram: u16,
    ) -> Result<PeerId, ConnectError> {
        if let Keys::Keyed(keys) = &self.shared.config.keys
            && keys.is_empty()
        {
            return Err(ConnectError::NoKey);
        }
        let limit = self.shared.config.max_peers;
        if self.connections.len() >= limit {
            return Err(ConnectError::TooManyPeers { limit });
        }
        let local = self.fresh_id();
        let seed = self.fresh_seed();
        let route = self.shared.rng.next_u32();
        let caller = Caller::new(now, &self.shared.config, max_datagram, (route, local, seed));
        let id = PeerId(self.next_peer);
        self.next_peer += 1;
        let handshake = Handshake::Calling(Box::new(caller));
        let connection = Connection::new(now, id, to, local, handshake, &self.shared.config);
        self.by_id.insert(local, id);
        self.connections.insert(id, Box::new(connection));
        self.touch(id);
        Ok(id)
    }

    /// Starts a job to a connected peer.
    pub fn send(
        &mut self,
        now: Time,
        peer: PeerId,
        request: &SendRequest,
    ) -> Result<SendId, SendRequestError> {
        let start = self.shared.rng.next_u32();
        let connection = self.connections.get_mut(&peer).ok_or(SendRequestError::NoSuchPeer)?;
        let job = connection.send(now, request, start, &self.shared)?;
        self.touch(peer);
        Ok(SendId { peer, job })
    }

    /// Adds a message to a job whose window is open; returns its number in the group.
    pub fn push(&mut self, id: SendId, group: GroupId, size: u64) -> Result<u64, SendRequestError> {
        let max_pieces = self.shared.config.max_pieces;
        let connection = self.connections.get_mut(&id.peer).ok_or(SendRequestError::NoSuchPeer)?;
        let index = connection.push(id.job, group, size, max_pieces)?;
        self.touch(id.peer);
        Ok(index)
    }

    /// Closes a window: its counts are final now.
    pub fn close_window(&mut self, id: SendId) -> Result<(), SendRequestError> {
        let connection = self.connections.get_mut(&id.peer).ok_or(SendRequestError::NoSuchPeer)?;
        connection.close_window(id.job)?;
        self.touch(id.peer);
        Ok(())
    }

    /// Makes room for a job that was offered: from now on its bytes go to the sink and its memory is
    /// the application's. False if there is no such job any more.
    pub fn claim(&mut self, now: Time, id: RecvId) -> bool {
        let Some(connection) = self.connections.get_mut(&id.peer) else { return false };
        let known = connection.claim(now, id.job, &mut self.shared);
        self.touch(id.peer);
        known
    }

    /// Gives up a job being sent; a [`SendFailed`](Event::SendFailed) event follows.
    pub fn cancel_send(&mut self, id: SendId) {
        if let Some(connection) = self.connections.get_mut(&id.peer) {
            connection.cancel_send(id.job, &mut self.shared);
            self.touch(id.peer);
        }
    }

    /// Gives up a job being received, with the reason that its sender will read.
    pub fn cancel_recv(&mut self, _now: Time, id: RecvId, code: ResetCode) {
        if let Some(connection) = self.connections.get_mut(&id.peer) {
            connection.cancel_recv(id.job, code, &mut self.shared);
            self.touch(id.peer);
        }
    }

    /// How far a job being sent got.
    pub fn send_progress(&self, id: SendId) -> Option<Progress> {
        let job = self.connections.get(&id.peer)?.sends.get(&id.job)?;
        Some(job.progress())
    }

    /// How far a job being received got.
    pub fn recv_progress(&self, id: RecvId) -> Option<Progress> {
        let job = self.connections.get(&id.peer)?.recvs.get(&id.job)?;
        Some(job.progress())
    }

    /// Ends a connection; its jobs fail, the peer is told.
    pub fn close(&mut self, _now: Time, peer: PeerId) {
        let found = self.connections.get_mut(&peer).filter(|found| !found.closing);
        let Some(connection) = found else { return };
        let address = connection.address;
        let error = |progress| JobError::Cancelled { peer: address, progress };
        connection.fail_all(error, &mut self.shared);
        self.shared.events.push_back(Event::PeerGone(peer, Gone::Closed));
        if connection.is_open() {
            connection.closing = true;
            self.touch(peer);
        } else {
            self.remove(peer);
        }
    }

    /// Sets the rate of a lane from outside, as the cluster controller does.
    pub fn assign_rate(&mut self, peer: PeerId, lane: LaneKind, rate: Rate) {
        if let Some(connection) = self.connections.get_mut(&peer) {
            connection.set_controller(lane, ControllerKind::Assigned(rate), &self.shared.config);
            self.touch(peer);
        }
    }

    /// Changes [`Config::unclaimed_limit`](crate::Config::unclaimed_limit) for jobs that come from now
    /// on: a driver that gives them memory of its own knows how much is left.
    pub fn set_unclaimed_limit(&mut self, limit: Bytes) {
        self.shared.config.unclaimed_limit = limit;
    }

    /// Bytes set aside for jobs that were offered and not claimed.
    pub fn unclaimed(&self) -> Bytes {
        Bytes::new(self.shared.unclaimed)
    }

    /// All peers, oldest first.
    pub fn peers(&self) -> impl Iterator<Item = PeerId> {
        self.connections.keys().copied()
    }

    /// What is known of a peer.
    pub fn peer(&self, peer: PeerId) -> Option<PeerInfo> {
        let connection = self.connections.get(&peer)?;
        let lane = |kind| {
            let lane = connection.lane(kind);
            LaneInfo { rate: lane.rate(), in_flight: lane.in_flight, reason: lane.reason() }
        };
        Some(PeerInfo {
            address: connection.address,
            connected: connection.is_confirmed(),
            cipher: connection.cipher(),
            rtt: connection.smoothed_rtt(),
            sending: connection.sends.len(),
            receiving: connection.recvs.values().filter(|job| job.ended.is_none()).count(),
            ending: connection.recvs.values().filter(|job| job.ended.is_some()).count(),
            exact: lane(LaneKind::Exact),
            slack: lane(LaneKind::Slack),
        })
    }
}
