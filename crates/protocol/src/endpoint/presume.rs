//! Connections that both ends take for granted: simulators compare transports whose connections are
//! open already.

use std::net::SocketAddr;

use laxity_interface::{Span, Time};

use super::Endpoint;
use crate::{
    config::Keys,
    connection::{Connection, Handshake, own_params},
    crypto::{Secrets, plain},
    error::ConnectError,
    ids::PeerId,
};

/// What a handshake would have agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Presumed {
    /// The other side's address.
    pub to: SocketAddr,
    /// The id that packets to here carry.
    pub local: u32,
    /// The id that packets to the other side carry.
    pub remote: u32,
    /// Whether this side would have been the caller: exactly one of the two is.
    pub caller: bool,
    /// The round trip that the handshake would have measured.
    pub rtt: Span,
}

impl Endpoint {
    /// A connection without a handshake, for simulators and tests: the other side has to presume its
    /// mirror image before the first packet reaches it. Only without keys, and only with an id that is
    /// not taken; settings that a handshake would exchange are taken to be equal on both sides.
    pub fn insecure_presume(
        &mut self,
        now: Time,
        presumed: &Presumed,
    ) -> Result<PeerId, ConnectError> {
        let limit = self.shared.config.max_peers;
        if self.connections.len() >= limit {
            return Err(ConnectError::TooManyPeers { limit });
        }
        let taken = self.by_id.contains_key(&presumed.local);
        if taken || !matches!(self.shared.config.keys, Keys::Insecure) {
            return Err(ConnectError::Presumed { peer: presumed.to, taken });
        }
        let Presumed { to, local, remote, caller, rtt } = *presumed;
        let secrets = if caller {
            let (ours, theirs) = plain::salts(local, remote);
            Secrets::Plain { ours, theirs }
        } else {
            let (theirs, ours) = plain::salts(remote, local);
            Secrets::Plain { ours, theirs }
        };
        let id = PeerId(self.next_peer);
        self.next_peer += 1;
        let config = &self.shared.config;
        let mut connection = Connection::new(now, id, to, local, Handshake::Done, config);
        connection.establish(now, remote, own_params(config), secrets, Some(rtt), config);
        connection.trust(now, &mut self.shared);
        self.by_id.insert(local, id);
        self.connections.insert(id, Box::new(connection));
        self.touch(id);
        Ok(id)
    }
}

#[cfg(test)]
mod tests {
    use laxity_interface::{Ecn, Fraction};

    use super::*;
    use crate::{Batch, BodyRef, Config, Event, Key, Memory, SendRequest};

    struct Zeros;

    impl Memory for Zeros {
        fn bytes(&self, body: &BodyRef) -> &[u8] {
            &[0; 4096][..body.length]
        }
    }

    fn presumed(local: u32, remote: u32, caller: bool) -> Presumed {
        let to = SocketAddr::from(([10, 0, 0, remote as u8], 1));
        Presumed { to, local, remote, caller, rtt: Span::from_us(50) }
    }

    #[test]
    fn a_job_needs_one_exchange_on_a_presumed_connection() {
        let mut ends = [1, 2].map(|seed| Endpoint::new(Config::insecure(), [seed; 32]));
        let mut now = Time::ZERO;
        let peer = ends[0].insecure_presume(now, &presumed(1, 2, true)).unwrap();
        ends[1].insecure_presume(now, &presumed(2, 1, false)).unwrap();
        let job = SendRequest::messages([1000; 4], Fraction::ONE);
        ends[0].send(now, peer, &job).unwrap();
        let mut batch = Batch::default();
        let mut done = false;
        for _ in 0..2 {
            now += Span::from_us(25);
            for (from, to) in [(0, 1), (1, 0)] {
                ends[from].handle_timeout(now);
                let address = presumed(0, from as u32 + 1, false).to;
                while let Some(transmit) = ends[from].poll_transmit(now, &Zeros, &mut batch) {
                    for mut packet in batch.packets(&transmit, &Zeros) {
                        ends[to].handle_datagram(now, address, Ecn::Ect0, &mut packet, &mut ());
                    }
                }
                while let Some(event) = ends[from].poll_event() {
                    done |= matches!(event, Event::Sent(..));
                }
            }
        }
        assert!(done);
        assert_eq!(ends[1].stats().dropped_unauthentic, 0);
    }

    #[test]
    fn not_with_keys_and_not_twice() {
        let mut keyed = Endpoint::new(Config::keyed(Key::new([7; 32])), [1; 32]);
        assert!(keyed.insecure_presume(Time::ZERO, &presumed(1, 2, true)).is_err());
        let mut plain = Endpoint::new(Config::insecure(), [1; 32]);
        assert!(plain.insecure_presume(Time::ZERO, &presumed(1, 2, true)).is_ok());
        assert!(plain.insecure_presume(Time::ZERO, &presumed(1, 3, true)).is_err());
    }
}
