//! Training with parameter servers, as the CadentFlow paper models it.
//!
//! One iteration: the forward pass reads parameters from servers, a step starts when the one before
//! has ended and its parameters are there; the backward pass writes gradients in the other order, a
//! gradient leaves when it is ready; the iteration ends when every gradient has arrived. The flows of
//! the forward pass are one coflow (all may start at once, each is due when its reader could start if
//! nothing ever waited), those of the backward pass another (each may start when it is ready, all are
//! due when computing could end). Inference is the forward pass alone.
//!
//! Workers are identical, so one of them is simulated and the links that others share with it are
//! divided by their number; [`Setting::every_worker`] simulates them all, with the same result.
//! (Under deadlines up to a few percent faster: flows that are due at once are served one after the
//! other, so one worker gets ahead of the others.)

mod measure;
mod plan;
mod sharing;

use laxity_interface::Rate;
use laxity_planner::{Options, Pace, Scheme};

use crate::profile::Device;

pub use measure::{Iteration, MeasureError, measure, measure_world};
pub use plan::world;
pub use sharing::{Inside, Sharing, measure_sharing, sharing_world};

/// Which server holds a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Placement {
    /// One after the other, in the order of creation: what TensorFlow does unless told otherwise.
    #[default]
    RoundRobin,
    /// Each to the server that has the fewest bytes so far, the largest first.
    Balanced,
}

/// What is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Kind {
    /// Forward and backward.
    #[default]
    Training,
    /// Forward only.
    Inference,
}

/// How the network is controlled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Control {
    /// The paper's baseline: max-min between flows, and every node sends its own flows in the best
    /// order, without knowing of other nodes.
    Tcp,
    /// Like [`Tcp`](Self::Tcp), but the order holds in each connection and a node's connections to
    /// different hosts go side by side.
    TcpConnections,
    /// Max-min between all flows at once.
    TcpFlows,
    /// Coflows: everything of a pass ends together.
    Madd,
    /// CadentFlow with priorities.
    Priority,
    /// CadentFlow with deadlines.
    Deadline,
    /// CadentFlow with weights.
    Weighted,
    /// CadentFlow with all of these.
    Combined,
}

impl Control {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Tcp,
        Self::TcpConnections,
        Self::TcpFlows,
        Self::Madd,
        Self::Priority,
        Self::Deadline,
        Self::Weighted,
        Self::Combined,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::TcpConnections => "tcp-connections",
            Self::TcpFlows => "tcp-flows",
            Self::Madd => "madd",
            Self::Priority => "priority",
            Self::Deadline => "deadline",
            Self::Weighted => "weighted",
            Self::Combined => "combined",
        }
    }

    /// Whether every read and write of a parameter has a priority of its own, its place in the order of all.
    ///
    /// So CadentFlow has it from TensorFlow's graph, where every variable is read by an operation of its
    /// own. If the parameters of one step shared a priority they would share the network, and the
    /// largest, which the step waits for, would give way to the small ones. Nodes that order for themselves
    /// send the parameters of one step by size instead, smallest first: that is the better order for
    /// them, and a baseline should have its best.
    pub const fn tags_every_read(self) -> bool {
        !matches!(self, Self::Tcp | Self::TcpConnections)
    }

    /// What the planner is asked for.
    pub fn options(self) -> Options {
        let scheme = match self {
            Self::Tcp => Scheme::NodeOrdered,
            Self::TcpConnections => Scheme::ConnectionOrdered,
            Self::TcpFlows => Scheme::MaxMin,
            Self::Madd => Scheme::Madd,
            Self::Priority => Scheme::Priority,
            Self::Deadline => Scheme::Deadline,
            Self::Weighted => Scheme::Weighted,
            Self::Combined => Scheme::Combined,
        };
        Options::new(scheme).pace(Pace::Full)
    }
}

impl std::fmt::Display for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// Where and how a model is trained.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// How many workers.
    pub workers: u32,
    /// How many parameter servers.
    pub servers: u32,
    /// What every host sends and receives.
    pub nic: Rate,
    /// What computes.
    pub device: Device,
    /// Which server holds which parameter.
    pub placement: Placement,
    /// What is run.
    pub kind: Kind,
    /// How many iterations, one after the other.
    pub iterations: u32,
    /// Whether each worker is simulated, not one for all.
    pub every_worker: bool,
}

impl Setting {
    /// One iteration of training with K80s behind 10 Gbit/s.
    pub const fn new(workers: u32, servers: u32) -> Self {
        Self {
            workers,
            servers,
            nic: Rate::from_gbps(10),
            device: Device::K80,
            placement: Placement::RoundRobin,
            kind: Kind::Training,
            iterations: 1,
            every_worker: false,
        }
    }

    /// Inference instead of training.
    #[must_use]
    pub const fn inference(mut self) -> Self {
        self.kind = Kind::Inference;
        self
    }

    /// Sets what every host sends and receives.
    #[must_use]
    pub const fn nic(mut self, nic: Rate) -> Self {
        self.nic = nic;
        self
    }

    /// How many workers the one that is simulated stands for.
    pub(crate) const fn stands_for(&self) -> u32 {
        if self.every_worker { 1 } else { self.workers }
    }
}
