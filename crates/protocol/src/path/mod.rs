//! What one side knows about the path to a peer: round-trip time, packets out, packets in, pace.

mod intake;
mod pacer;
mod received;
mod rtt;
mod sampler;
mod sent;

pub(crate) use intake::{Intake, intake_rate};
pub(crate) use pacer::Pacer;
pub(crate) use received::Received;
pub(crate) use rtt::Rtt;
pub(crate) use sampler::{Sampler, Stamp};
pub(crate) use sent::{Content, Control, Sent, SentPackets, Verdict};
