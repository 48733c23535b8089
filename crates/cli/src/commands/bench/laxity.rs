//! Laxity's side of `bench transfer`.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use laxity_endpoint::{Builder, Endpoint, Fraction, Key, Outgoing, Peer, RecvError};

/// A key for measurements: it protects nothing, since everybody can read it here.
pub(super) fn bench_key() -> Key {
    Key::new(*b"laxity bench transfer: no secret")
}

/// An endpoint builder with or without a key.
pub(super) fn builder(keyed: bool) -> Builder {
    let builder = Endpoint::builder();
    if keyed { builder.key(bench_key()) } else { builder.insecure() }
}

/// A Laxity connection to a bench server.
pub(super) struct Sender {
    peer: Peer,
    min_delivery: Fraction,
    /// Kept for its life: the connection ends with it.
    _endpoint: Endpoint,
}

impl Sender {
    pub(super) fn connect(
        to: SocketAddr,
        keyed: bool,
        min_delivery: Fraction,
        max_datagram: Option<u16>,
    ) -> Result<Self> {
        let local = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let mut builder = builder(keyed);
        if let Some(bytes) = max_datagram {
            builder = builder.max_datagram(bytes);
        }
        let endpoint = builder.bind(local.parse()?)?;
        let peer = endpoint.connect(to).with_context(|| format!("cannot connect to {to}"))?;
        Ok(Self { peer, min_delivery, _endpoint: endpoint })
    }

    /// Sends `data` and waits until the receiver has said that it has enough of it.
    pub(super) fn send(&self, data: &[u8]) -> Result<()> {
        self.peer.send(Outgoing::bytes(data).min_delivery(self.min_delivery))?;
        Ok(())
    }
}

/// Receives jobs into one buffer until the endpoint is gone.
pub(super) fn serve(endpoint: &Endpoint, max_bytes: usize) {
    // Untouched pages of a large buffer cost nothing.
    let mut buffer = vec![0u8; max_bytes];
    loop {
        match endpoint.recv_into(&mut buffer) {
            // A client that goes away in the middle is not this side's problem.
            Ok(_) | Err(RecvError::Job(_)) => {}
            // Too large for this server: refused by letting go of it.
            Err(RecvError::Buffer { .. }) => drop(endpoint.accept()),
            Err(_) => return,
        }
    }
}
