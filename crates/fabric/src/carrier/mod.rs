//! What carries parcels between ranks: one small trait, several transports.
//!
//! Collectives and roles never see sockets. They make [`Parcel`]s and are told of [`Event`]s; a
//! [`Carrier`] moves parcels and knows the time. So the same code runs over Laxity's endpoint, over
//! kernel TCP, and in virtual time inside the packet simulator.

mod any;
mod envelope;
pub mod fluid;
#[cfg(test)]
mod impostor_tests;
pub mod laxity;
pub mod memory;
pub mod simulated;
pub mod tcp;

use std::{fmt, ops::Range, sync::Arc};

use bytes::Bytes;
use laxity_interface::{Fraction, Span, Time};

pub use self::any::AnyCarrier;
pub use self::envelope::{Channel, Envelope, EnvelopeError, Lane, Signature};
use crate::{collective::Network, rank::Rank};

/// Bytes for one other rank.
#[derive(Clone, PartialEq, Debug)]
pub struct Parcel {
    /// Who gets it.
    pub to: Rank,
    /// What it belongs to and what it is; arrives exactly, whatever the body may lose.
    pub envelope: Envelope,
    /// The elements, in the byte order of the machine's own (little endian). May be empty.
    pub body: Bytes,
    /// What may be lost of the body, and when it is wanted.
    pub slack: Slack,
}

/// What a parcel may lose and how much it hurries.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Slack {
    /// The least part of the body that must arrive. 1: everything.
    pub min_delivery: Fraction,
    /// 0 first.
    pub priority: u32,
    /// From now: after this, what has arrived is delivered if it is at least `min_delivery`, and
    /// more is not waited for.
    pub deadline: Option<Span>,
    /// From now: after this the parcel is given up ([`Event::Failed`]).
    pub limit: Option<Span>,
}

impl Slack {
    /// Everything arrives.
    pub const EXACT: Self =
        Self { min_delivery: Fraction::ONE, priority: 0, deadline: None, limit: None };

    /// At least this part arrives.
    pub const fn at_least(min_delivery: Fraction) -> Self {
        Self { min_delivery, ..Self::EXACT }
    }
}

/// What a carrier reports.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A parcel has come, as complete as it will get.
    Arrived(Arrival),
    /// A parcel that this rank submitted has reached its end.
    Sent {
        /// To whom.
        to: Rank,
        /// Which.
        envelope: Envelope,
        /// What did not arrive, in elements of the body, ascending, not touching.
        missing: Vec<Range<usize>>,
    },
    /// A parcel that this rank submitted, or one that was on the way to it, will not arrive, though
    /// the other rank may live.
    Failed {
        /// The other rank.
        peer: Rank,
        /// Which.
        envelope: Envelope,
        /// Why, for a person.
        reason: String,
    },
    /// A rank is gone: nothing will come from it or reach it. Reported once per rank.
    Lost {
        /// Who.
        peer: Rank,
        /// Why, for a person: what was seen and where.
        reason: String,
        /// It has left in order: it said goodbye, and has all that it needed from this rank.
        left: bool,
    },
}

/// A parcel at its receiver.
#[derive(Clone, PartialEq, Debug)]
pub struct Arrival {
    /// Who sent it.
    pub from: Rank,
    /// What it belongs to.
    pub envelope: Envelope,
    /// The elements; missing ones are zero.
    pub body: Bytes,
    /// What did not arrive, in elements of the body, ascending, not touching. Empty: all there.
    pub missing: Vec<Range<usize>>,
}

/// Ends a carrier's waits from other threads.
#[derive(Clone)]
pub struct Bell(Arc<dyn Fn() + Send + Sync>);

impl Bell {
    pub(crate) fn new(ring: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(ring))
    }

    /// Ends the current wait, or else the next one. Many rings may become one.
    pub fn ring(&self) {
        (self.0)();
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bell").finish_non_exhaustive()
    }
}

/// Moves parcels between ranks and knows the time.
///
/// Connections are made when the first parcel for a rank is submitted. A carrier never blocks in
/// [`submit`](Self::submit); its memory is bounded by what was submitted and by its own limit on
/// parcels that nobody has taken yet.
pub trait Carrier {
    /// This rank.
    fn rank(&self) -> Rank;

    /// The time, from any fixed start.
    fn now(&self) -> Time;

    /// Takes a parcel to be carried. What happens to it is reported by [`Event`]s; a parcel for a
    /// rank that is known to be lost is reported as [`Event::Failed`].
    fn submit(&mut self, parcel: Parcel);

    /// The next event; waits for one until `until` (`None`: as long as it takes). `Some(now)` asks
    /// without waiting. `None` is returned when the time has come and nothing happened, or when its
    /// [bell](Self::bell) was rung.
    fn wait_event(&mut self, until: Option<Time>) -> Option<Event>;

    /// What other threads can end its waits with. `None` where nothing can: then who drives it has to look for
    /// their wishes often.
    fn bell(&self) -> Option<Bell> {
        None
    }

    /// What to take the network for until it is measured. All ranks have the same transport, so all
    /// expect the same.
    fn expects(&self) -> Network {
        Network::default()
    }
}
