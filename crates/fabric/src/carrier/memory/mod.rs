//! Parcels between threads of one process, in virtual time.
//!
//! For tests, and for programs that want ranks without a network. Time stands still while any rank
//! works and jumps to the next event when all of them wait, so a minute of waiting costs nothing and
//! the same seed gives the same run, whatever the threads do. [`Faults`] make it a bad network.
//!
//! A rank must be waiting, working or dropped: one that keeps its carrier and sleeps holds time up
//! for all.
//!
//! ```
//! use laxity_fabric::{Communicator, Options, ReduceOp, carrier::memory};
//!
//! let threads: Vec<_> = memory::carriers(4, memory::Faults::none(1))
//!     .into_iter()
//!     .map(|carrier| {
//!         std::thread::spawn(move || {
//!             let mut ranks = Communicator::new(carrier, 4);
//!             let mut numbers = [ranks.rank().get() as f32; 10];
//!             ranks.all_reduce(&mut numbers, ReduceOp::Sum, &Options::default()).unwrap();
//!             numbers
//!         })
//!     })
//!     .collect();
//! for thread in threads {
//!     assert_eq!(thread.join().unwrap(), [6.0; 10]);
//! }
//! ```

mod faults;
mod network;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use laxity_interface::Time;

pub use self::{
    faults::{Death, Faults},
    network::Network,
};
use super::{Carrier, Event, Parcel};
use crate::rank::Rank;

/// One rank's end of a network in memory. Dropping it is leaving.
#[derive(Debug)]
pub struct MemoryCarrier {
    rank: Rank,
    shared: Arc<Shared>,
}

/// The carriers of `ranks` ranks that are connected in memory.
pub fn carriers(ranks: u32, faults: Faults) -> Vec<MemoryCarrier> {
    let clock = Clock {
        network: Network::new(ranks, faults),
        now: Time::ZERO,
        waiting: vec![Waiting::No; ranks as usize],
    };
    let shared = Arc::new(Shared { clock: Mutex::new(clock), moved: Condvar::new() });
    let carrier = |rank| MemoryCarrier { rank: Rank::new(rank), shared: Arc::clone(&shared) };
    (0..ranks).map(carrier).collect()
}

#[derive(Debug)]
struct Shared {
    clock: Mutex<Clock>,
    moved: Condvar,
}

#[derive(Debug)]
struct Clock {
    network: Network,
    now: Time,
    waiting: Vec<Waiting>,
}

/// What a rank is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waiting {
    /// It works.
    No,
    /// It waits for an event, or this time.
    Until(Option<Time>),
    /// It has left.
    Left,
}

impl Clock {
    /// When a waiting rank goes on.
    fn due(&self, rank: usize) -> Option<Time> {
        let event = self.network.next_for(Rank::new(rank as u32));
        match self.waiting[rank] {
            Waiting::Until(until) => event.into_iter().chain(until).min(),
            Waiting::No | Waiting::Left => None,
        }
    }

    /// Moves on to the next thing that happens, if everybody waits for it. True if time moved.
    fn advance(&mut self) -> bool {
        let all_wait = self.waiting.iter().all(|waiting| *waiting != Waiting::No);
        let next = (0..self.waiting.len()).filter_map(|rank| self.due(rank)).min();
        match next.filter(|next| all_wait && *next > self.now) {
            Some(next) => {
                self.now = next;
                true
            }
            None => false,
        }
    }
}

impl MemoryCarrier {
    fn clock(&self) -> MutexGuard<'_, Clock> {
        // A rank that panicked has not left anything half done here.
        self.shared.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Carrier for MemoryCarrier {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn now(&self) -> Time {
        self.clock().now
    }

    fn submit(&mut self, parcel: Parcel) {
        let mut clock = self.clock();
        let now = clock.now;
        clock.network.submit(now, self.rank, parcel);
        // What arrives at this very moment is nothing that time will move on to.
        if clock.network.next().is_some_and(|next| next <= now) {
            self.shared.moved.notify_all();
        }
    }

    fn wait_event(&mut self, until: Option<Time>) -> Option<Event> {
        let rank = self.rank;
        let mut clock = self.clock();
        loop {
            let now = clock.now;
            if let Some(event) = clock.network.take(now, rank) {
                clock.waiting[rank.index()] = Waiting::No;
                return Some(event);
            }
            if until.is_some_and(|until| until <= now) {
                clock.waiting[rank.index()] = Waiting::No;
                return None;
            }
            clock.waiting[rank.index()] = Waiting::Until(until);
            if clock.advance() {
                self.shared.moved.notify_all();
            } else {
                clock = self.shared.moved.wait(clock).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

impl Drop for MemoryCarrier {
    fn drop(&mut self) {
        let mut clock = self.clock();
        let now = clock.now;
        clock.waiting[self.rank.index()] = Waiting::Left;
        clock.network.leave(now, self.rank);
        clock.advance();
        self.shared.moved.notify_all();
    }
}
