//! Traces of coflows, and what schedulers make of them.
//!
//! The fabric is one switch that never is the bottleneck: every port has a link in and a link out.
//! A coflow has completed when its last flow has. [`Trace::parse`] reads the format of the public
//! coflow benchmark, [`Trace::generate`] makes a trace of the same kind out of a seed.

mod fair;
mod generate;
mod ordered;
mod trace;

use laxity_interface::{Rate, Span, Time};
use laxity_planner::{PlanError, Scheme};

pub use trace::{Coflow, Piece, Trace, TraceError};

/// Who decides about rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheduler {
    /// Max-min between all flows, whatever coflow they belong to.
    PerFlow,
    /// The coflow with the smallest bottleneck first.
    Varys,
    /// Without knowing sizes, coflows that have sent less first.
    Aalo,
    /// Coflows by bottleneck-select-scale-iterate.
    Sincronia,
}

impl Scheduler {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::PerFlow, Self::Varys, Self::Aalo, Self::Sincronia];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PerFlow => "per-flow",
            Self::Varys => "varys",
            Self::Aalo => "aalo",
            Self::Sincronia => "sincronia",
        }
    }
}

impl std::fmt::Display for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// How a trace is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fabric {
    /// What each port sends and receives.
    pub port: Rate,
    /// How long bandwidth that a flow leaves behind may lie idle before it is handed out again. Rates
    /// are always decided anew when a coflow comes or goes.
    pub tick: Span,
}

impl Default for Fabric {
    /// Ports of 1 Gbit/s, as the trace's authors use, and a second.
    fn default() -> Self {
        Self { port: Rate::from_gbps(1), tick: Span::from_secs(1) }
    }
}

/// When a coflow was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Its position in the trace.
    pub coflow: usize,
    /// When it arrived.
    pub arrived: Time,
    /// When its last flow was done.
    pub end: Time,
}

impl Completion {
    /// Its completion time.
    pub const fn time(&self) -> Span {
        self.end.since(self.arrived)
    }
}

/// What came out of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// One for each coflow, in the order of the trace.
    pub completions: Vec<Completion>,
    /// How often rates were decided.
    pub plans: u64,
}

impl Run {
    /// The mean completion time in seconds.
    pub fn mean_s(&self) -> f64 {
        let all: f64 = self.completions.iter().map(|c| c.time().as_secs_f64()).sum();
        all / self.completions.len().max(1) as f64
    }

    /// The completion time in seconds that this part of all coflows stays below.
    pub fn quantile_s(&self, part: f64) -> f64 {
        let mut all: Vec<_> = self.completions.iter().map(Completion::time).collect();
        all.sort_unstable();
        let at = ((all.len() as f64 * part).ceil() as usize).clamp(1, all.len().max(1));
        all.get(at - 1).map_or(0.0, |span| span.as_secs_f64())
    }
}

/// Runs a trace. `progress` hears how many coflows are done.
pub fn run(
    trace: &Trace,
    fabric: &Fabric,
    scheduler: Scheduler,
    progress: impl FnMut(usize),
) -> Result<Run, PlanError> {
    match scheduler {
        Scheduler::PerFlow => Ok(fair::run(trace, fabric, progress)),
        Scheduler::Varys => ordered::run(trace, fabric, Scheme::Varys, progress),
        Scheduler::Aalo => ordered::run(trace, fabric, Scheme::Aalo, progress),
        Scheduler::Sincronia => ordered::run(trace, fabric, Scheme::Sincronia, progress),
    }
}

/// What a rate in bit/s moves in a picosecond, in a byte.
const BYTE: u128 = 8 * 1_000_000_000_000;

/// The links of a port: out, and in.
fn links(ports: u32, from: u32, to: u32) -> [u32; 2] {
    [from, ports + to]
}
