//! What the simulation stands on: events in order, and packets that are nowhere else.

mod event;
mod heap;
mod pool;
mod queue;
mod wheel;

pub(crate) use event::{Class, Event, MOST_TARGETS};
pub(crate) use pool::{Handle, List, NONE, Pool};
pub(crate) use queue::Queue;
