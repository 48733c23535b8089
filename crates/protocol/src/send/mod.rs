//! Jobs this side sends: what is cut from them, in which order, and what is sent again.

mod chunks;
mod cut;
mod job;
mod last_word;
mod messages;
mod pool;
mod request;

pub(crate) use job::{Room, SendJob};
pub(crate) use last_word::to_elements;
pub(crate) use pool::{Body, Pool};
pub use request::{GroupSpec, MessageOrder, Payload, SendRequest, SendRequestError};
