//! What is decided about a flow, and why.

use std::fmt;

use laxity_interface::{FlowId, HostName, Rate, Span, Time};
use laxity_planner::{Decision, Demand, Reason as PlanReason};

/// A flow of a job, by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowName {
    /// Its job.
    pub job: String,
    /// Its number in the job.
    pub flow: FlowId,
}

impl FlowName {
    /// The flow of this number.
    pub fn new(job: impl Into<String>, flow: FlowId) -> Self {
        Self { job: job.into(), flow }
    }
}

impl fmt::Display for FlowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.job, self.flow)
    }
}

/// The queue that a flow's packets ask switches for: 0 goes first, 7 last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Class(u8);

impl Class {
    /// The last.
    pub const LAST: Self = Self(7);

    /// The queue of this number, or the last.
    pub fn new(number: u32) -> Self {
        Self(number.min(Self::LAST.0.into()) as u8)
    }

    /// Its number.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The queue that a decision asks for. Pacing does the work; where it is imprecise, queues keep the
    /// same order: a priority is its own level, then what must be in time, then what has a share, then
    /// what only uses what is left.
    pub fn of(demand: &Demand, decision: &Decision) -> Self {
        if let Some(level) = demand.priority {
            return Self::new(level);
        }
        match decision.reason {
            PlanReason::MeetsDeadline { .. } | PlanReason::AfterEarlier { .. } => Self(1),
            _ if decision.rate > decision.spare => Self(3),
            _ if decision.rate > Rate::ZERO => Self(5),
            _ => Self(6),
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a flow goes as it does.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// The planner's reason, with names instead of numbers.
    Planned(String),
    /// The planner has no answer; its host follows its own rule.
    NoPlan {
        /// What it said.
        error: String,
    },
    /// Host: the controller is not there. The flow goes at once, as fast as the transport can.
    Away {
        /// For how long it has not been.
        since: Span,
    },
    /// Host: the controller is there and has said nothing in time. The flow goes at once, as fast as the
    /// transport can.
    NotInTime {
        /// How long was waited.
        waited: Span,
    },
    /// Host: the controller does not take its job. The flow goes at once, as fast as the transport can.
    JobRefused {
        /// What it said.
        what: String,
    },
}

impl Reason {
    /// Whether a controller decided it.
    pub fn is_planned(&self) -> bool {
        matches!(self, Self::Planned(_))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Planned(text) => f.write_str(text),
            Self::NoPlan { error } => write!(f, "the planner has no answer: {error}"),
            Self::Away { since } => {
                write!(f, "the controller has been away for {since}: at once, by the local rule")
            }
            Self::NotInTime { waited } => {
                write!(f, "the controller said nothing for {waited}: at once, by the local rule")
            }
            Self::JobRefused { what } => {
                write!(
                    f,
                    "the controller does not take the job ({what}): at once, by the local rule"
                )
            }
        }
    }
}

/// What a flow does from now on.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowPlan {
    /// How fast; zero: wait until there is another plan.
    pub rate: Rate,
    /// The part of it that others left over.
    pub spare: Rate,
    /// Its place among the flows of its sender, 0 first.
    pub order: u32,
    /// The queue that it asks switches for.
    pub class: Class,
    /// When it starts, by the clock of whoever holds the plan.
    pub start: Time,
    /// Whom to send it to.
    pub next_hop: HostName,
    /// Why.
    pub reason: Reason,
}

impl fmt::Display for FlowPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rate {
            Rate::ZERO => write!(f, "wait; then to {}", self.next_hop),
            rate => {
                write!(f, "{rate} to {}, place {}, class {}", self.next_hop, self.order, self.class)
            }
        }
    }
}
