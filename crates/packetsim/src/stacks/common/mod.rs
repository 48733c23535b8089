//! What the simulated transports have in common: packets, timers, books.

mod book;
mod coming;
mod cut;
mod outgoing;
mod rtt;
mod timers;
pub(crate) mod wire;

pub(crate) use book::{Book, Departure};
pub(crate) use coming::Coming;
pub(crate) use cut::{Arrivals, Cut};
pub(crate) use outgoing::Outgoing;
pub(crate) use rtt::Rtt;
pub(crate) use timers::Timers;
