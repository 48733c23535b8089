//! Why something was decided.

use std::fmt;

use laxity_interface::{Bytes, Rate, Span, Time};
use laxity_topology::{LinkId, NodeId};

use crate::demand::{FlowKey, JobKey};

/// Why a flow gets its rate, a job its part, or an update its place.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The flow may not start yet.
    NotReleased {
        /// When it may.
        at: Time,
    },
    /// Everything that must be delivered has been.
    Enough,
    /// It has its fair share of the link that holds it back.
    FairShare {
        /// The link.
        link: LinkId,
        /// How many flows share it.
        flows: u32,
    },
    /// It has the share of its weight on the link that holds it back.
    WeightedShare {
        /// The link.
        link: LinkId,
        /// How many flows share it.
        flows: u32,
        /// Its weight.
        weight: f64,
    },
    /// Its ends take no more.
    AtLimit {
        /// The most they take.
        limit: Rate,
    },
    /// Its connection sends another flow first.
    Behind {
        /// That flow.
        flow: FlowKey,
    },
    /// Its node sends another flow first.
    BehindOwn {
        /// The node.
        node: NodeId,
        /// That flow.
        flow: FlowKey,
    },
    /// It is paced to end together with the slowest of its coflow.
    WithSlowest {
        /// The link on which the coflow takes longest.
        link: LinkId,
        /// When all of it ends at these rates.
        ends_in: Span,
    },
    /// Coflows before it leave nothing on a link that it needs.
    CoflowWaits {
        /// Its place in the order, 0 for first.
        place: u32,
        /// The link that is taken.
        link: LinkId,
    },
    /// It is its coflow's turn.
    CoflowTurn {
        /// The place of the coflow in the order, 0 for first.
        place: u32,
        /// How many coflows there are.
        of: u32,
    },
    /// Its coflow sits in a queue by what it has sent.
    InQueue {
        /// The queue, 0 for first.
        queue: u32,
        /// What the coflow has sent.
        sent: Bytes,
    },
    /// Its priority has its turn.
    PriorityTurn {
        /// Its priority; none comes last.
        level: Option<u32>,
        /// The link that holds it back.
        link: LinkId,
    },
    /// Higher priorities leave nothing on a link that it needs.
    PriorityWaits {
        /// Its priority; none comes last.
        level: Option<u32>,
        /// The link that is taken.
        link: LinkId,
    },
    /// It has the least rate that meets its deadline.
    MeetsDeadline {
        /// The deadline.
        deadline: Time,
        /// The least rate.
        least: Rate,
    },
    /// It gets less than its deadline asks for now: earlier ones go first.
    AfterEarlier {
        /// The deadline.
        deadline: Time,
        /// The rate that would meet it from now on.
        least: Rate,
    },
    /// Its deadline cannot be met; lateness is spread as the objective asks.
    Late {
        /// The deadline.
        deadline: Time,
        /// How late it is expected to be.
        by: Span,
    },
    /// It has no deadline and gets what those with one leave.
    LeftByDeadlines {
        /// The link that holds it back.
        link: LinkId,
    },
    /// Its job does not take part: it has a fair share, at least of the part kept for such jobs.
    Outsider {
        /// The link that holds it back.
        link: LinkId,
    },
    /// A job has a part of the link on which that means most.
    JobPart {
        /// The job.
        job: JobKey,
        /// The link.
        link: LinkId,
        /// Its part of that link.
        part: Rate,
    },
    /// A job has a part that makes it this much slower than alone.
    JobSlowdown {
        /// The job.
        job: JobKey,
        /// Completion time over completion time alone.
        slowdown: f64,
    },
    /// A coflow has this place, by its bottleneck.
    CoflowOrder {
        /// Its place, 0 for first.
        place: u32,
        /// The link on which it takes longest.
        link: LinkId,
        /// How long it takes there.
        bottleneck: Span,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_none = |level: &Option<u32>| match level {
            Some(level) => format!("priority {level}"),
            None => "no priority".to_owned(),
        };
        match self {
            Self::NotReleased { at } => write!(f, "may not start before {at}"),
            Self::Enough => {
                f.write_str("what must be delivered has been; more goes only where there is room")
            }
            Self::FairShare { link, flows: 1 } => write!(f, "has link {link} for itself"),
            Self::FairShare { link, flows } => {
                write!(f, "fair share of link {link}, which is full with {flows} flows")
            }
            Self::WeightedShare { link, flows, weight } => {
                write!(
                    f,
                    "share by weight {weight} of link {link}, which is full with {flows} flows"
                )
            }
            Self::AtLimit { limit } => write!(f, "its ends take no more than {limit}"),
            Self::Behind { flow } => write!(f, "waits: its connection sends flow {flow} first"),
            Self::BehindOwn { node, flow } => {
                write!(f, "waits: node {node} sends flow {flow} first, whatever other nodes do")
            }
            Self::WithSlowest { link, ends_in } => write!(
                f,
                "paced to end in {ends_in} with the slowest of its coflow, which is held back by link \
                 {link}; faster would not help"
            ),
            Self::CoflowWaits { place, link } => {
                write!(f, "waits: {place} coflows before it leave nothing on link {link}")
            }
            Self::CoflowTurn { place: 0, of } => write!(f, "its coflow is the first of {of}"),
            Self::CoflowTurn { place, of } => {
                write!(f, "takes what {place} of {of} coflows before it leave")
            }
            Self::InQueue { queue, sent } => {
                write!(
                    f,
                    "its coflow has sent {sent} and is in queue {queue}; smaller ones go first"
                )
            }
            Self::PriorityTurn { level, link } => {
                write!(f, "{} has its turn; link {link} holds it back", or_none(level))
            }
            Self::PriorityWaits { level, link } => {
                write!(f, "{} waits: higher ones leave nothing on link {link}", or_none(level))
            }
            Self::MeetsDeadline { deadline, least } => {
                write!(f, "meets its deadline at {deadline} with no more than {least}")
            }
            Self::AfterEarlier { deadline, least } => write!(
                f,
                "due at {deadline}; earlier deadlines go first, so it gets less than {least} for now \
                 and catches up"
            ),
            Self::Late { deadline, by } => {
                write!(f, "its deadline at {deadline} cannot be met; expected to be {by} late")
            }
            Self::LeftByDeadlines { link } => {
                write!(f, "has no deadline: takes what those with one leave on link {link}")
            }
            Self::Outsider { link } => {
                write!(f, "its job does not take part: fair share of what is left of link {link}")
            }
            Self::JobPart { job, link, part } => {
                write!(f, "job {job} has {part} of link {link}, its tightest")
            }
            Self::JobSlowdown { job, slowdown } => {
                write!(f, "job {job} takes {slowdown:.2} times as long as it would alone")
            }
            Self::CoflowOrder { place, link, bottleneck } => {
                write!(f, "coflow at place {place}: it needs {bottleneck} on link {link}")
            }
        }
    }
}
