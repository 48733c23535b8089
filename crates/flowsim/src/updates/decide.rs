//! What the planner's rules say about the updates that wait.

use laxity_interface::{Bytes, Time};
use laxity_planner::{
    Network, Steps,
    updates::{Group, Update, UpdateReason, aggregate, drop_late, order},
};
use laxity_topology::{LinkId, NodeId, Path, RouteError};

use super::Rules;
use crate::error::SimError;

/// What is known at one moment.
pub(super) struct View<'a> {
    pub(super) now: Time,
    pub(super) network: &'a Network,
    pub(super) server: NodeId,
    /// Hosts that could sum now.
    pub(super) helpers: &'a [NodeId],
    pub(super) version: u64,
}

/// What is done with the updates that wait, which are positions in the list that was given.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) dropped: Vec<(usize, UpdateReason)>,
    /// Groups in the order in which they reach the server.
    pub(super) groups: Vec<Group>,
}

/// The network as the rules see it: the bandwidth of this moment, less what is on its way already.
fn residual(view: &View<'_>, taken: &[(Path, Time, Bytes)]) -> Network {
    let mut left = view.network.clone();
    for (at, rate) in view.network.left(view.now).into_iter().enumerate() {
        left.set(LinkId(at as u32), Steps::constant(rate));
    }
    for (path, from, size) in taken {
        let steps = left.residual(path);
        if let Some(end) = steps.t_end(*from, *size) {
            left.reserve_path(path, &steps.used(*from, end));
        }
    }
    left
}

/// Drops, orders and aggregates the updates that wait.
pub(super) fn decide(
    view: &View<'_>,
    rules: &Rules,
    taken: &[(Path, Time, Bytes)],
    waiting: &[Update],
    route: impl Fn(NodeId, NodeId) -> Result<Path, RouteError>,
) -> Result<Verdict, SimError> {
    let network = residual(view, taken);
    let wrong = |source| SimError::Plan { at: view.now, source };
    let bound = rules.staleness;
    let (kept, dropped) = match bound {
        Some(_) => {
            let found = drop_late(view.now, &network, waiting, view.version, bound, rules.patience)
                .map_err(wrong)?;
            let kept: Vec<_> = found.kept.updates.iter().map(|one| one.update).collect();
            (kept, found.dropped)
        }
        None => {
            let found = order(view.now, &network, waiting, view.version).map_err(wrong)?;
            (found.updates.iter().map(|one| one.update).collect(), Vec::new())
        }
    };
    let groups = if rules.aggregate && !view.helpers.is_empty() && kept.len() > 1 {
        let some: Vec<_> = kept.iter().map(|at| waiting[*at].clone()).collect();
        let (server, helpers) = (view.server, view.helpers);
        let found = aggregate(view.now, &network, &some, server, helpers, false, route);
        let mut groups = found.map_err(wrong)?.groups;
        for group in &mut groups {
            group.updates.iter_mut().for_each(|at| *at = kept[*at]);
        }
        groups
    } else {
        vec![Group { at: None, updates: kept, ready: view.now, ends: view.now }]
    };
    Ok(Verdict { dropped, groups })
}
