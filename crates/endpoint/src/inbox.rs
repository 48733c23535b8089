//! Where offers of several sockets meet those who wait for any of them.

use std::{
    sync::{Condvar, Mutex},
    task::Waker,
    time::Duration,
};

/// A bell that rings when any shard has a new offer.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Debug, Default)]
struct State {
    rings: u64,
    wakers: Vec<Waker>,
}

impl Inbox {
    pub(crate) fn ring(&self) {
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        state.rings += 1;
        for waker in state.wakers.drain(..) {
            waker.wake();
        }
        self.rung.notify_all();
    }

    /// How often it rang: read before looking, so that no ring is missed.
    pub(crate) fn rings(&self) -> u64 {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).rings
    }

    /// Sleeps until it has rung more often than `seen`, or for `time`.
    pub(crate) fn wait(&self, seen: u64, time: Duration) {
        let state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        drop(self.rung.wait_timeout_while(state, time, |state| state.rings <= seen));
    }

    /// Wakes a task at the next ring.
    pub(crate) fn register(&self, waker: &Waker) {
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if !state.wakers.iter().any(|known| known.will_wake(waker)) {
            state.wakers.push(waker.clone());
        }
    }
}
