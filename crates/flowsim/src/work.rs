//! Work: operations that compute and flows that send, and who waits for whom.

use laxity_interface::{Bytes, FlowId, Fraction, Objective, Span, Time};
use laxity_planner::Weight;
use laxity_topology::{NodeId, Path};

/// The number of an operation of its work: dense, in the order in which they were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId(pub u32);

impl OperationId {
    /// As a position in a vector.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Something that takes time on a host.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// What people call it.
    pub name: String,
    /// Where it runs. A host runs one operation at a time, those added first before others. Without
    /// a host it runs as soon as it can.
    pub host: Option<NodeId>,
    /// How long it takes on a host that is not slow.
    pub takes: Span,
    /// Operations of the same work that must have ended.
    pub after: Vec<OperationId>,
    /// Flows of the same work that must have arrived.
    pub needs: Vec<FlowId>,
}

impl Operation {
    /// An operation that waits for nothing and runs nowhere in particular.
    pub fn new(name: impl Into<String>, takes: Span) -> Self {
        Self { name: name.into(), host: None, takes, after: Vec::new(), needs: Vec::new() }
    }

    /// Says where it runs.
    #[must_use]
    pub const fn on(mut self, host: NodeId) -> Self {
        self.host = Some(host);
        self
    }

    /// Adds operations that must have ended.
    #[must_use]
    pub fn after(mut self, operations: impl IntoIterator<Item = OperationId>) -> Self {
        self.after.extend(operations);
        self
    }

    /// Adds flows that must have arrived.
    #[must_use]
    pub fn needs(mut self, flows: impl IntoIterator<Item = FlowId>) -> Self {
        self.needs.extend(flows);
        self
    }
}

/// A flow that is an update of a model: it counts for a server when it has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update {
    /// The server, as a position in [`World::servers`](crate::World::servers).
    pub server: usize,
    /// The operation at whose start the model was read; without one, at the release of the flow.
    pub read_at: Option<OperationId>,
}

/// Data from one host to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// What people call it.
    pub name: String,
    /// The host that sends.
    pub from: NodeId,
    /// The host that receives.
    pub to: NodeId,
    /// The links it crosses; without any, an equal-cost shortest path.
    pub path: Option<Path>,
    /// How much.
    pub size: Bytes,
    /// Operations of the same work that must have ended before it may start.
    pub after: Vec<OperationId>,
    /// How long after the arrival of the work it may start at the earliest.
    pub release: Span,
    /// How long after the arrival of the work it should be there.
    pub deadline: Option<Span>,
    /// The operation at whose end the clock of the deadline starts, instead of the arrival.
    pub deadline_after: Option<OperationId>,
    /// Strict order, 0 first.
    pub priority: Option<u32>,
    /// Its share beside others.
    pub weight: Weight,
    /// The part that must arrive; only `combined` makes use of it.
    pub min_delivery: Fraction,
    /// Which coflow of its work it belongs to.
    pub coflow: u32,
    /// Whether it is an update.
    pub update: Option<Update>,
}

impl Flow {
    /// A flow that may start when its work arrives.
    pub fn new(name: impl Into<String>, from: NodeId, to: NodeId, size: Bytes) -> Self {
        Self {
            name: name.into(),
            from,
            to,
            path: None,
            size,
            after: Vec::new(),
            release: Span::ZERO,
            deadline: None,
            deadline_after: None,
            priority: None,
            weight: Weight::ONE,
            min_delivery: Fraction::ONE,
            coflow: 0,
            update: None,
        }
    }

    /// Adds operations that must have ended.
    #[must_use]
    pub fn after(mut self, operations: impl IntoIterator<Item = OperationId>) -> Self {
        self.after.extend(operations);
        self
    }

    /// Sets a priority, 0 for first.
    #[must_use]
    pub const fn priority(mut self, order: u32) -> Self {
        self.priority = Some(order);
        self
    }

    /// Sets a deadline, counted from the arrival of the work.
    #[must_use]
    pub const fn deadline(mut self, deadline: Span) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Lets the clock of its deadline start at the end of an operation.
    #[must_use]
    pub const fn deadline_after(mut self, operation: Option<OperationId>) -> Self {
        self.deadline_after = operation;
        self
    }

    /// Sets a weight.
    #[must_use]
    pub const fn weight(mut self, weight: Weight) -> Self {
        self.weight = weight;
        self
    }

    /// Sets when it may start, counted from the arrival of the work.
    #[must_use]
    pub const fn release(mut self, release: Span) -> Self {
        self.release = release;
        self
    }

    /// Sets what must arrive.
    #[must_use]
    pub const fn min_delivery(mut self, fraction: Fraction) -> Self {
        self.min_delivery = fraction;
        self
    }

    /// Puts it into a coflow of its work.
    #[must_use]
    pub const fn coflow(mut self, coflow: u32) -> Self {
        self.coflow = coflow;
        self
    }

    /// Sends it over these links.
    #[must_use]
    pub fn path(mut self, path: Path) -> Self {
        self.path = Some(path);
        self
    }

    /// Makes it an update.
    #[must_use]
    pub const fn update(mut self, update: Update) -> Self {
        self.update = Some(update);
        self
    }
}

/// One job with its operations and flows.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// What people call it.
    pub name: String,
    /// When it arrives.
    pub arrives: Time,
    /// What its schedule is judged by.
    pub objective: Objective,
    /// Its share beside other work.
    pub weight: Weight,
    /// Whether it told its needs; see [`laxity_planner::JobView::takes_part`].
    pub takes_part: bool,
    /// What it computes.
    pub operations: Vec<Operation>,
    /// What it sends.
    pub flows: Vec<Flow>,
}

impl Work {
    /// Work without operations and flows that arrives at 0.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            arrives: Time::ZERO,
            objective: Objective::LastFlow,
            weight: Weight::ONE,
            takes_part: true,
            operations: Vec::new(),
            flows: Vec::new(),
        }
    }

    /// Sets when it arrives.
    #[must_use]
    pub const fn arrives(mut self, at: Time) -> Self {
        self.arrives = at;
        self
    }

    /// Adds an operation.
    pub fn operation(&mut self, operation: Operation) -> OperationId {
        self.operations.push(operation);
        OperationId(self.operations.len() as u32 - 1)
    }

    /// Adds a flow.
    pub fn flow(&mut self, flow: Flow) -> FlowId {
        self.flows.push(flow);
        FlowId(self.flows.len() as u32 - 1)
    }
}
