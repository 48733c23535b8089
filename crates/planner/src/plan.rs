//! Plans: what comes out, and what a caller may choose.

use std::{fmt, str::FromStr};

use laxity_interface::{Bytes, Fraction, Rate, Time};

use crate::{demand::JobKey, reason::Reason};

/// How bandwidth is given to flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Scheme {
    /// Progressive filling, per flow.
    #[default]
    MaxMin,
    /// Progressive filling with shares in proportion to the flows' weights.
    Weighted,
    /// Every node sends its own flows in the best order, without knowing of others; max-min between
    /// what nodes send.
    NodeOrdered,
    /// The same, but the order holds in each connection: those of a node go side by side.
    ConnectionOrdered,
    /// Every flow of a coflow ends with its slowest; what is left is handed out after.
    Madd,
    /// The coflow with the smallest bottleneck first, with the rates of `madd`, back-filled.
    Varys,
    /// Coflows by bottleneck-select-scale-iterate, greedily.
    Sincronia,
    /// Without knowing sizes: coflows that have sent less go first.
    Aalo,
    /// Strictly by priority, max-min inside a level.
    Priority,
    /// Earliest deadline first at the least rates that meet the deadlines.
    Deadline,
    /// Deadlines first, then priorities, then weights; sizes shrink to what must be delivered.
    Combined,
}

/// A text that is no [`Scheme`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a scheme: use one of {}", Scheme::ALL.map(Scheme::name).join(", "))]
pub struct SchemeError {
    /// The text as given.
    pub text: String,
}

impl Scheme {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::MaxMin,
        Self::Weighted,
        Self::NodeOrdered,
        Self::ConnectionOrdered,
        Self::Madd,
        Self::Varys,
        Self::Sincronia,
        Self::Aalo,
        Self::Priority,
        Self::Deadline,
        Self::Combined,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MaxMin => "max-min",
            Self::Weighted => "weighted",
            Self::NodeOrdered => "node-ordered",
            Self::ConnectionOrdered => "connection-ordered",
            Self::Madd => "madd",
            Self::Varys => "varys",
            Self::Sincronia => "sincronia",
            Self::Aalo => "aalo",
            Self::Priority => "priority",
            Self::Deadline => "deadline",
            Self::Combined => "combined",
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Scheme {
    type Err = SchemeError;
    fn from_str(text: &str) -> Result<Self, SchemeError> {
        let found = Self::ALL.into_iter().find(|scheme| scheme.name() == text);
        found.ok_or_else(|| SchemeError { text: text.to_owned() })
    }
}

/// How jobs share the network among each other, before the scheme decides inside each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum BetweenJobs {
    /// No borders: tags of different jobs are compared with each other.
    #[default]
    Merged,
    /// Every job gets the same part of every link that it uses.
    MaxMin,
    /// Parts of every link in proportion to the jobs' weights.
    Weights,
    /// Parts such that the worst slowdown, against being alone, is as small as can be.
    WorstSlowdown,
}

/// How fast flows with a deadline are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Pace {
    /// Just fast enough, so that others get the most.
    #[default]
    Least,
    /// The earliest takes all it can: best against arrivals that nobody knows of yet.
    Full,
}

/// Which coflow `madd` serves first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum CoflowOrder {
    /// The one with the smallest effective bottleneck; of equals the one that arrived first.
    #[default]
    Smallest,
    /// As they arrived: callers that have an order of their own say it so.
    Arrival,
}

/// The queues of `aalo`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AaloQueues {
    /// A coflow leaves the first queue when it has sent this much.
    pub first: Bytes,
    /// Each queue holds coflows up to this many times the size of the one before.
    pub factor: u32,
    /// How many queues there are.
    pub count: u32,
}

impl Default for AaloQueues {
    /// Those of the paper: 10 queues, the first up to 10 MB, each ten times the one before.
    fn default() -> Self {
        Self { first: Bytes::new(10_000_000), factor: 10, count: 10 }
    }
}

/// What a caller may choose.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// How bandwidth is given to the flows of a job, or to all.
    pub scheme: Scheme,
    /// How jobs share among each other.
    pub between: BetweenJobs,
    /// The part of each link that jobs which do not take part can always have.
    pub outsiders: Fraction,
    /// How fast flows with a deadline are sent.
    pub pace: Pace,
    /// Which coflow `madd` serves first.
    pub coflows: CoflowOrder,
    /// The queues of `aalo`.
    pub aalo: AaloQueues,
    /// Whether bandwidth that the scheme leaves is handed out to whoever can use it.
    pub spare: bool,
}

impl Options {
    /// A scheme, with no borders between jobs, a tenth for outsiders, and spare bandwidth used.
    pub fn new(scheme: Scheme) -> Self {
        Self {
            scheme,
            between: BetweenJobs::Merged,
            outsiders: Fraction::new(0.1).expect("a tenth is a fraction"),
            pace: Pace::Least,
            coflows: CoflowOrder::default(),
            aalo: AaloQueues::default(),
            spare: true,
        }
    }

    /// Sets how jobs share among each other.
    #[must_use]
    pub const fn between(mut self, between: BetweenJobs) -> Self {
        self.between = between;
        self
    }

    /// Sets how fast flows with a deadline are sent.
    #[must_use]
    pub const fn pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }
}

/// What one flow gets, and why.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// Its rate.
    pub rate: Rate,
    /// The part of it that the scheme did not ask for: bandwidth that was left.
    pub spare: Rate,
    /// Why.
    pub reason: Reason,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rate, self.reason)?;
        match self.spare {
            Rate::ZERO => Ok(()),
            spare => write!(f, "; {spare} of it is bandwidth that was left"),
        }
    }
}

/// The rates of all flows from now on.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// One for each demand, in their order.
    pub decisions: Vec<Decision>,
    /// What was decided about whole jobs: their place in an order or their part of the network.
    pub jobs: Vec<(JobKey, Reason)>,
    /// When the plan has to be made anew though no flow came or went: a flow is released, a
    /// reservation changes, a coflow changes its queue, a deadline passes.
    pub valid_until: Option<Time>,
}

impl Plan {
    /// The rate of each demand, in their order.
    pub fn rates(&self) -> Vec<Rate> {
        self.decisions.iter().map(|decision| decision.rate).collect()
    }
}
