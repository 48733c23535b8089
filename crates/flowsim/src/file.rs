//! Worlds as files: a network and jobs with their operations and flows.
//!
//! ```
//! let text = r#"
//!     [network]
//!     kind = "star"
//!     hosts = 2
//!     rate = "1Gbps"
//!
//!     [[jobs]]
//!     name = "figure 1"
//!     flows = [
//!         { name = "f1", from = "h0", to = "h1", size = "62.5MB", priority = 0 },
//!         { name = "f2", from = "h0", to = "h1", size = "62.5MB", priority = 1 },
//!     ]
//!     operations = [
//!         { name = "c1", host = "h1", takes = "500ms", needs = ["f1"] },
//!         { name = "c2", host = "h1", takes = "500ms", needs = ["f2"], after = ["c1"] },
//!         { name = "c3", host = "h1", takes = "500ms", after = ["c2"] },
//!     ]
//! "#;
//! let world = laxity_flowsim::file::from_toml(text, None)?;
//! assert_eq!(world.works[0].flows.len(), 2);
//! # Ok::<(), laxity_flowsim::file::FileError>(())
//! ```

use std::collections::BTreeMap;

use laxity_interface::{Bytes, FlowId, Fraction, Job, JobError, Objective, Rate, Span, Time};
use laxity_planner::Weight;
use laxity_topology::{NodeId, Path, Shape, Topology, TopologyError};
use serde::Deserialize;

use crate::{
    work::{Flow, Operation, OperationId, Work},
    world::{Reservation, Slow, World},
};

/// What can be wrong with a file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The text cannot be read.
    #[error("the file cannot be read: {reason}")]
    Text {
        /// What the parser says, with line and column.
        reason: String,
    },
    /// A field makes no sense.
    #[error("{path}: {reason}")]
    Field {
        /// Which field, such as `jobs[0].flows[2].from`.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no network in the file, and none was given.
    #[error("there is no [network] in the file: add one, or give a network file")]
    NoNetwork,
    /// There are two networks.
    #[error("there is a [network] in the file and another was given: leave one out")]
    TwoNetworks,
    /// The network makes no sense.
    #[error("network: {0}")]
    Network(#[from] TopologyError),
    /// The job makes no sense.
    #[error(transparent)]
    Job(#[from] JobError),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawWorld {
    network: Option<Shape>,
    jobs: Vec<RawWork>,
    #[serde(default)]
    reservations: Vec<RawReservation>,
    #[serde(default)]
    slow: Vec<RawSlow>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawWork {
    name: String,
    #[serde(default)]
    arrives: Time,
    #[serde(default)]
    objective: Objective,
    #[serde(default = "one")]
    weight: f64,
    #[serde(default = "yes")]
    takes_part: bool,
    #[serde(default)]
    flows: Vec<RawFlow>,
    #[serde(default)]
    operations: Vec<RawOperation>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawFlow {
    name: String,
    from: String,
    to: String,
    size: Bytes,
    /// Names of nodes, from the first host to the last.
    #[serde(default)]
    route: Vec<String>,
    #[serde(default)]
    after: Vec<String>,
    #[serde(default)]
    release: Span,
    deadline: Option<Span>,
    priority: Option<u32>,
    #[serde(default = "one")]
    weight: f64,
    #[serde(default = "all")]
    min_delivery: Fraction,
    #[serde(default)]
    coflow: u32,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawOperation {
    name: String,
    host: Option<String>,
    takes: Span,
    #[serde(default)]
    after: Vec<String>,
    #[serde(default)]
    needs: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawReservation {
    from: String,
    to: String,
    rate: Rate,
    #[serde(default)]
    start: Time,
    end: Option<Time>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawSlow {
    host: String,
    factor: f64,
    #[serde(default)]
    start: Time,
    end: Option<Time>,
}

const fn one() -> f64 {
    1.0
}

const fn yes() -> bool {
    true
}

const fn all() -> Fraction {
    Fraction::ONE
}

/// Reads a world in TOML; the network is in it or given.
pub fn from_toml(text: &str, net: Option<Topology>) -> Result<World, FileError> {
    let raw = toml::from_str(text);
    build(raw.map_err(|error| FileError::Text { reason: error.to_string() })?, net)
}

/// Reads a world in JSON; the network is in it or given.
pub fn from_json(text: &str, net: Option<Topology>) -> Result<World, FileError> {
    let raw = serde_json::from_str(text);
    build(raw.map_err(|error| FileError::Text { reason: error.to_string() })?, net)
}

/// A job of `laxity-interface` alone on a network.
pub fn from_job(job: &Job, net: Topology) -> Result<World, FileError> {
    let mut work = Work::new(job.name());
    work.objective = job.objective().clone();
    for (at, flow) in job.flows().iter().enumerate() {
        let path = |field: &str| format!("flows[{at}].{field}");
        let from = host(&net, flow.from().as_str(), || path("from"))?;
        let to = host(&net, flow.to().as_str(), || path("to"))?;
        let tags = job.tags_of(flow);
        work.flow(Flow {
            release: flow.release(),
            deadline: job.deadline_of(flow),
            priority: tags.priority(),
            weight: weight(tags.weight().unwrap_or(1.0), || path("weight"))?,
            min_delivery: job.min_delivery_of(flow),
            ..Flow::new(format!("flow {}", flow.id()), from, to, flow.size())
        });
    }
    Ok(World::new(net).work(work))
}

fn host(net: &Topology, name: &str, path: impl FnOnce() -> String) -> Result<NodeId, FileError> {
    let found = net.host(name);
    found.map_err(|error| FileError::Field { path: path(), reason: error.to_string() })
}

fn weight(value: f64, path: impl FnOnce() -> String) -> Result<Weight, FileError> {
    Weight::new(value).ok_or_else(|| {
        let reason = format!("{value} is no weight: give a number from 1/1024 to 65536");
        FileError::Field { path: path(), reason }
    })
}

fn build(raw: RawWorld, net: Option<Topology>) -> Result<World, FileError> {
    let net = match (raw.network, net) {
        (Some(_), Some(_)) => return Err(FileError::TwoNetworks),
        (Some(shape), None) => shape.build()?,
        (None, Some(net)) => net,
        (None, None) => return Err(FileError::NoNetwork),
    };
    let mut world = World::new(net);
    for (at, work) in raw.jobs.into_iter().enumerate() {
        let work = build_work(&world.net, work, &format!("jobs[{at}]"))?;
        world.works.push(work);
    }
    for (at, reserved) in raw.reservations.into_iter().enumerate() {
        let path = |field: &str| format!("reservations[{at}].{field}");
        let link = link(&world.net, &reserved.from, &reserved.to, || path("to"))?;
        let (from, until) = (reserved.start, reserved.end.unwrap_or(Time::MAX));
        world.reservations.push(Reservation { link, from, until, rate: reserved.rate });
    }
    for (at, slow) in raw.slow.into_iter().enumerate() {
        let host = host(&world.net, &slow.host, || format!("slow[{at}].host"))?;
        let (from, until) = (slow.start, slow.end.unwrap_or(Time::MAX));
        world.slow.push(Slow { host, from, until, factor: slow.factor });
    }
    Ok(world)
}

fn build_work(net: &Topology, raw: RawWork, path: &str) -> Result<Work, FileError> {
    let mut work = Work::new(raw.name).arrives(raw.arrives);
    work.objective = raw.objective;
    work.takes_part = raw.takes_part;
    work.weight = weight(raw.weight, || format!("{path}.weight"))?;
    let operations = numbered(raw.operations.iter().map(|o| &o.name), path, "operations")?;
    let flows = numbered(raw.flows.iter().map(|f| &f.name), path, "flows")?;
    let find = |known: &BTreeMap<String, u32>, what: &str, names: &[String], path: String| {
        let one = |name: &String| {
            known.get(name).copied().ok_or_else(|| FileError::Field {
                path: path.clone(),
                reason: format!("there is no {what} `{name}` in this job"),
            })
        };
        names.iter().map(one).collect::<Result<Vec<_>, _>>()
    };
    for (at, flow) in raw.flows.into_iter().enumerate() {
        let path = |field: &str| format!("{path}.flows[{at}].{field}");
        let after = find(&operations, "operation", &flow.after, path("after"))?;
        work.flow(Flow {
            path: route(net, &flow, || path("route"))?,
            after: after.into_iter().map(OperationId).collect(),
            release: flow.release,
            deadline: flow.deadline,
            priority: flow.priority,
            weight: weight(flow.weight, || path("weight"))?,
            min_delivery: flow.min_delivery,
            coflow: flow.coflow,
            ..Flow::new(
                flow.name.clone(),
                host(net, &flow.from, || path("from"))?,
                host(net, &flow.to, || path("to"))?,
                flow.size,
            )
        });
    }
    for (at, operation) in raw.operations.into_iter().enumerate() {
        let path = |field: &str| format!("{path}.operations[{at}].{field}");
        let after = find(&operations, "operation", &operation.after, path("after"))?;
        let needs = find(&flows, "flow", &operation.needs, path("needs"))?;
        let on = operation.host.as_deref().map(|name| host(net, name, || path("host")));
        work.operation(Operation {
            host: on.transpose()?,
            after: after.into_iter().map(OperationId).collect(),
            needs: needs.into_iter().map(FlowId).collect(),
            ..Operation::new(operation.name, operation.takes)
        });
    }
    Ok(work)
}

/// Names with their positions; no name twice.
fn numbered<'a>(
    names: impl Iterator<Item = &'a String>,
    path: &str,
    what: &str,
) -> Result<BTreeMap<String, u32>, FileError> {
    let mut known = BTreeMap::new();
    for (at, name) in names.enumerate() {
        if known.insert(name.clone(), at as u32).is_some() {
            let path = format!("{path}.{what}[{at}].name");
            let reason = format!("`{name}` is there twice: names are unique in a job");
            return Err(FileError::Field { path, reason });
        }
    }
    Ok(known)
}

/// The links between the nodes of a route.
fn route(
    net: &Topology,
    flow: &RawFlow,
    path: impl Fn() -> String,
) -> Result<Option<Path>, FileError> {
    if flow.route.is_empty() {
        return Ok(None);
    }
    let ends = [flow.route.first(), flow.route.last()];
    if ends != [Some(&flow.from), Some(&flow.to)] {
        let reason = format!("it must lead from `{}` to `{}`", flow.from, flow.to);
        return Err(FileError::Field { path: path(), reason });
    }
    let links = flow.route.windows(2).map(|pair| link(net, &pair[0], &pair[1], &path));
    Ok(Some(links.collect::<Result<Vec<_>, _>>()?.into()))
}

fn link(
    net: &Topology,
    from: &str,
    to: &str,
    path: impl FnOnce() -> String,
) -> Result<laxity_topology::LinkId, FileError> {
    let missing = |name: &str| format!("there is no node `{name}` in this network");
    let found = match (net.node(from), net.node(to)) {
        (Some(from), Some(to)) => net.link_between(from, to).map_err(|error| error.to_string()),
        (None, _) => Err(missing(from)),
        (_, None) => Err(missing(to)),
    };
    found.map_err(|reason| FileError::Field { path: path(), reason })
}
