//! Parcels through the packet simulator, in virtual time.
//!
//! Each rank is a host of a simulated network, each parcel a flow of one of its transports: the
//! shipping protocol, or one that it is compared with. Ranks run in threads of one process; the
//! simulation goes on only while all of them wait, so the same seed gives the same run on any
//! machine. Payload is carried beside the simulation: packets have its size, ranks get its bytes,
//! without those that the network lost.
//!
//! A flow ends the moment enough of it is there, so deadlines of parcels have nothing to cut short.
//!
//! ```
//! use laxity_fabric::{Communicator, Options, ReduceOp, carrier::simulated};
//! use laxity_interface::{Bytes, Rate, Span};
//! use laxity_packetsim::{PortSetup, Scheme, Setup};
//! use laxity_topology::Topology;
//!
//! let scheme: Scheme = "laxity".parse()?;
//! let network = Topology::star(4, Rate::from_gbps(10), Span::from_us(2))?;
//! let ports = PortSetup::fifo_packets(Bytes::from_kib(256), Some(65));
//! let carriers = simulated::carriers(&Setup::new(network, ports, 1), scheme, 4)?;
//! let threads: Vec<_> = carriers
//!     .into_iter()
//!     .map(|carrier| {
//!         std::thread::spawn(move || {
//!             let mut ranks = Communicator::new(carrier, 4);
//!             let mut numbers = vec![ranks.rank().get() as f32; 10_000];
//!             ranks.all_reduce(&mut numbers, ReduceOp::Sum, &Options::default()).unwrap();
//!             numbers[9_999]
//!         })
//!     })
//!     .collect();
//! for thread in threads {
//!     assert_eq!(thread.join().unwrap(), 6.0);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod traffic;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use laxity_interface::{Span, Time};
use laxity_packetsim::{Limits, Scheme, Setup, SetupError, Simulation, Stopped, World};

use self::traffic::Traffic;
use super::{Carrier, Event, Parcel};
use crate::rank::Rank;

/// How long ranks take to notice that another has left.
pub const DETECTION: Span = Span::from_ms(10);

/// Why a simulated network cannot carry parcels.
#[derive(Debug, thiserror::Error)]
pub enum SimulatedError {
    /// More ranks than hosts.
    #[error("{ranks} ranks need as many hosts; the network has {hosts}")]
    Hosts {
        /// Ranks that were asked for.
        ranks: u32,
        /// Hosts that there are.
        hosts: usize,
    },
    /// The network itself does not work.
    #[error("the simulated network cannot be built")]
    Setup(#[from] SetupError),
}

/// One rank's end of a simulated network. Dropping it is leaving.
#[derive(Debug)]
pub struct SimulatedCarrier {
    rank: Rank,
    submitted: u64,
    shared: Arc<Shared>,
}

/// The carriers of `ranks` ranks on the first hosts of a simulated network.
///
/// A rank must be waiting, working or dropped: one that keeps its carrier and sleeps holds time up
/// for all.
pub fn carriers(
    setup: &Setup,
    scheme: Scheme,
    ranks: u32,
) -> Result<Vec<SimulatedCarrier>, SimulatedError> {
    let hosts = setup.topology.hosts().len();
    if hosts < ranks as usize {
        return Err(SimulatedError::Hosts { ranks, hosts });
    }
    let probe = Simulation::new(setup, |_| Vec::new())?;
    let world = World {
        line_rate: probe.line_rate(laxity_packetsim::HostId(0)),
        base_rtt: probe.base_rtt(),
        hosts,
    };
    let simulation = Simulation::new(setup, |host| vec![scheme.stack(host, setup.seed, &world)])?;
    let answer_takes = Span::from_ps(world.base_rtt.as_ps() / 2);
    let state = State {
        simulation,
        traffic: Traffic::new(ranks as usize, answer_takes, DETECTION),
        waiting: vec![Waiting::No; ranks as usize],
        working: ranks as usize,
    };
    let shared = Arc::new(Shared {
        state: Mutex::new(state),
        moved: (0..ranks).map(|_| Condvar::new()).collect(),
    });
    let carrier =
        |rank| SimulatedCarrier { rank: Rank::new(rank), submitted: 0, shared: shared.clone() };
    Ok((0..ranks).map(carrier).collect())
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// One for each rank: waking all for the sake of one costs more than the simulation.
    moved: Vec<Condvar>,
}

#[derive(Debug)]
struct State {
    simulation: Simulation,
    traffic: Traffic,
    waiting: Vec<Waiting>,
    /// How many ranks do not wait.
    working: usize,
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

impl State {
    fn set(&mut self, rank: Rank, to: Waiting) {
        let waiting = &mut self.waiting[rank.index()];
        let worked = usize::from(*waiting == Waiting::No);
        *waiting = to;
        self.working = self.working - worked + usize::from(to == Waiting::No);
    }

    /// Lets the network work until somebody has to go on; says who.
    fn advance(&mut self) -> Vec<Rank> {
        let untils = self.waiting.iter().filter_map(|waiting| match waiting {
            Waiting::Until(until) => *until,
            Waiting::No | Waiting::Left => None,
        });
        let wake = untils.min();
        self.traffic.set_wake(wake);
        let stopped = self.simulation.advance(&mut self.traffic, Limits::default());
        let mut woken = self.traffic.told();
        let now = self.simulation.now();
        woken.extend((0..self.waiting.len() as u32).map(Rank::new).filter(|rank| {
            matches!(self.waiting[rank.index()], Waiting::Until(Some(until)) if until <= now)
        }));
        assert!(
            stopped != Stopped::Idle || !woken.is_empty(),
            "all ranks wait without a limit and nothing is under way"
        );
        woken
    }
}

impl SimulatedCarrier {
    fn state(&self) -> MutexGuard<'_, State> {
        // A rank that panicked has not left anything half done here.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets time go on if nobody works, and wakes those who have to go on.
    fn go_on(&self, state: &mut State) {
        let anybody = state.waiting.iter().any(|waiting| matches!(waiting, Waiting::Until(_)));
        if state.working == 0 && anybody {
            for rank in state.advance() {
                // Counted as working from here on, or the next one to wait would move time on
                // before it has looked.
                if state.waiting[rank.index()] != Waiting::Left {
                    state.set(rank, Waiting::No);
                    self.shared.moved[rank.index()].notify_one();
                }
            }
        }
    }
}

impl Carrier for SimulatedCarrier {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn now(&self) -> Time {
        self.state().simulation.now()
    }

    fn submit(&mut self, parcel: Parcel) {
        let sequence = self.submitted;
        self.submitted += 1;
        self.state().traffic.give(self.rank, sequence, parcel);
    }

    fn wait_event(&mut self, until: Option<Time>) -> Option<Event> {
        let rank = self.rank;
        let mut state = self.state();
        loop {
            if let Some(event) = state.traffic.take(rank) {
                return Some(event);
            }
            if until.is_some_and(|until| until <= state.simulation.now()) {
                return None;
            }
            state.set(rank, Waiting::Until(until));
            self.go_on(&mut state);
            let moved = &self.shared.moved[rank.index()];
            while state.waiting[rank.index()] != Waiting::No {
                state = moved.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

impl Drop for SimulatedCarrier {
    fn drop(&mut self) {
        let mut state = self.state();
        let now = state.simulation.now();
        state.set(self.rank, Waiting::Left);
        state.traffic.leave(now, self.rank);
        self.go_on(&mut state);
    }
}
