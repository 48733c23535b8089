//! One of the carriers, chosen when the program runs.

use std::time::Duration;

use laxity_interface::Time;

use super::{Bell, Carrier, Event, Parcel, laxity::LaxityCarrier, tcp::TcpCarrier};
use crate::{collective::Network, rank::Rank};

/// One of the carriers over real networks.
#[derive(Debug)]
pub enum AnyCarrier {
    /// Kernel TCP.
    Tcp(TcpCarrier),
    /// Laxity's own transport.
    Laxity(Box<LaxityCarrier>),
}

impl AnyCarrier {
    /// Carries everything that was submitted, says goodbye to all and waits until they have heard it,
    /// but no longer than `patience`. True if all have.
    pub fn shutdown(self, patience: Duration) -> bool {
        match self {
            Self::Tcp(carrier) => carrier.shutdown(patience),
            Self::Laxity(carrier) => carrier.shutdown(patience),
        }
    }

    /// Connections that were refused, and why: the latest few.
    pub fn refusals(&self) -> Vec<String> {
        match self {
            Self::Tcp(carrier) => carrier.refusals(),
            Self::Laxity(carrier) => carrier.refusals(),
        }
    }
}

impl Carrier for AnyCarrier {
    fn rank(&self) -> Rank {
        match self {
            Self::Tcp(carrier) => carrier.rank(),
            Self::Laxity(carrier) => carrier.rank(),
        }
    }

    fn now(&self) -> Time {
        match self {
            Self::Tcp(carrier) => carrier.now(),
            Self::Laxity(carrier) => carrier.now(),
        }
    }

    fn submit(&mut self, parcel: Parcel) {
        match self {
            Self::Tcp(carrier) => carrier.submit(parcel),
            Self::Laxity(carrier) => carrier.submit(parcel),
        }
    }

    fn wait_event(&mut self, until: Option<Time>) -> Option<Event> {
        match self {
            Self::Tcp(carrier) => carrier.wait_event(until),
            Self::Laxity(carrier) => carrier.wait_event(until),
        }
    }

    fn bell(&self) -> Option<Bell> {
        match self {
            Self::Tcp(carrier) => carrier.bell(),
            Self::Laxity(carrier) => carrier.bell(),
        }
    }

    fn expects(&self) -> Network {
        match self {
            Self::Tcp(carrier) => carrier.expects(),
            Self::Laxity(carrier) => carrier.expects(),
        }
    }
}
