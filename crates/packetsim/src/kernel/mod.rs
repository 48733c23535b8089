//! What the simulation stands on: events in order, and packets that are nowhere else.

mod event;
mod heap;
mod pool;

pub(crate) use event::{Class, MOST_TARGETS};
pub(crate) use heap::Heap;
pub(crate) use pool::{Handle, List, NONE, Pool};
