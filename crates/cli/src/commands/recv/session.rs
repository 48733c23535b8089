//! An open port and the jobs that wait at it.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow};
use laxity_endpoint::{Endpoint, Incoming, Peer, RecvError, ResetCode};

use super::{place::Destination, transfer::Transfer};
use crate::{
    delivery::Delivery,
    failure::{Explain, is_interrupt},
    label::{Label, No},
    progress,
    sys::signal,
    wait::TICK,
};

/// Jobs of other transfers that may wait while one is received.
const MOST_WAITING: usize = 256;

/// The largest job that is begun before the one in front of it has ended.
const MOST_EARLY: u64 = 32 << 20;

/// A port at which transfers arrive, one after the other.
pub(crate) struct Session {
    /// `None` once it was closed.
    endpoint: Option<Endpoint>,
    waiting: VecDeque<(Label, Incoming)>,
    max_bytes: u64,
    /// Those that sent something: they may not have heard our last word yet.
    peers: Vec<(String, Peer)>,
}

/// No transfer came in time.
#[derive(Debug)]
struct NothingCame;

impl std::fmt::Display for NothingCame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("nobody sent anything in time")
    }
}

impl std::error::Error for NothingCame {}

impl Session {
    pub(crate) fn new(endpoint: Endpoint, max_bytes: u64) -> Self {
        Self { endpoint: Some(endpoint), waiting: VecDeque::new(), max_bytes, peers: Vec::new() }
    }

    /// Receives one transfer: a job, or all jobs of a stream.
    pub(crate) fn next_transfer(
        &mut self,
        destination: &mut Destination,
        timeout: Option<Duration>,
    ) -> Result<Delivery> {
        let (label, first) = self.first_offer(timeout)?;
        let peer = first.peer();
        let address = peer.info().map_or_else(|| "a peer".into(), |info| info.address.to_string());
        self.peers.retain(|(known, peer)| *known != address && peer.info().is_some());
        self.peers.push((address.clone(), peer));
        let mut delivery = Delivery::new(label.shown(), address.clone());
        let what = format!("cannot receive `{}` from {address}", label.shown());
        let max_bytes = self.max_bytes;
        let outcome = Transfer::new(self, destination, &mut delivery, max_bytes).run(label, first);
        outcome.explain_progress(what, delivery.so_far(), "")?;
        Ok(delivery)
    }

    fn first_offer(&mut self, timeout: Option<Duration>) -> Result<(Label, Incoming)> {
        let spinner = progress::spinner("waiting for a sender");
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let found = loop {
            let (label, job) = self.offer(
                |_| true,
                || match deadline {
                    Some(at) if at <= Instant::now() => {
                        let waited =
                            format!("no transfer began within {:?}", timeout.unwrap_or_default());
                        let remedy = "start the sender, check its address, or raise --timeout";
                        Err(NothingCame).explain(waited, remedy)
                    }
                    _ => Ok(()),
                },
            )?;
            match label.part {
                // A stream whose beginning was refused or failed, or went to somebody before us.
                Some(part) if part.index > 0 => job.refuse(No::Order.code()),
                _ => break (label, job),
            }
        };
        spinner.finish_and_clear();
        Ok(found)
    }

    /// The oldest job that `wanted` is true of. `tick` may end the wait.
    pub(crate) fn offer(
        &mut self,
        wanted: impl Fn(&Label) -> bool,
        tick: impl Fn() -> Result<()>,
    ) -> Result<(Label, Incoming)> {
        loop {
            let at = self.waiting.iter().position(|(label, _)| wanted(label));
            if let Some(found) = at.and_then(|at| self.waiting.remove(at)) {
                return Ok(found);
            }
            signal::check()?;
            let endpoint = self.endpoint.as_ref().ok_or_else(|| anyhow!("the port was closed"))?;
            match endpoint.accept_timeout(TICK) {
                Ok(job) if self.waiting.len() >= MOST_WAITING => job.refuse(ResetCode::TooMany),
                Ok(job) => self.waiting.push_back((Label::decode(&job.open().label), job)),
                Err(RecvError::Timeout(_)) => tick()?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Looks, without waiting, for a part that will be wanted soon, and begins to receive it: the
    /// sender's pipe does not run dry between two parts.
    pub(crate) fn start_early(&mut self, stream: u64, index: u64) {
        let Some(endpoint) = &self.endpoint else { return };
        if self.waiting.len() < MOST_WAITING
            && let Ok(job) = endpoint.accept_timeout(Duration::ZERO)
        {
            let label = Label::decode(&job.open().label);
            let next = label.part.is_some_and(|p| p.stream == stream && p.index == index);
            // It waits in memory until its turn.
            if next && job.open().bytes <= MOST_EARLY {
                job.start();
            }
            self.waiting.push_back((label, job));
        }
    }

    /// Whether no further transfer can come after this error.
    pub(crate) fn is_over(&self, error: &anyhow::Error) -> bool {
        is_interrupt(error)
            || error.downcast_ref::<NothingCame>().is_some()
            || self.endpoint.is_none()
    }

    /// Bytes that came in since the start, headers and all.
    pub(crate) fn bytes_received(&self) -> u64 {
        self.endpoint.as_ref().map_or(0, |endpoint| endpoint.stats().bytes_received)
    }

    /// Closes the port. Senders are given `patience` to leave first, and ten times as long if they
    /// have not confirmed our last word: it may have got lost.
    pub(crate) fn close(&mut self, patience: Duration) {
        let began = Instant::now();
        let waits = |peer: &Peer| {
            let patience = peer.info().map(|info| patience * if info.ending > 0 { 10 } else { 1 });
            patience.is_some_and(|patience| began.elapsed() < patience)
        };
        while self.peers.iter().any(|(_, peer)| waits(peer)) && signal::check().is_ok() {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.waiting.clear();
        self.endpoint = None;
    }
}
