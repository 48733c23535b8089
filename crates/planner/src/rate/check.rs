//! Bad demands are named before anything is planned.

use crate::{demand::Demand, error::PlanError, network::Network};

/// Refuses demands that make no sense.
pub(super) fn demands(network: &Network, demands: &[Demand]) -> Result<(), PlanError> {
    let mut keys: Vec<_> = demands.iter().map(|demand| demand.key).collect();
    keys.sort_unstable();
    if let Some(pair) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(PlanError::DuplicateFlow { flow: pair[0] });
    }
    demands.iter().try_for_each(|demand| one(network, demand))
}

fn one(network: &Network, demand: &Demand) -> Result<(), PlanError> {
    let flow = demand.key;
    if demand.size.is_zero() {
        return Err(PlanError::ZeroSize { flow });
    }
    if demand.remaining().is_zero() {
        return Err(PlanError::Ended { flow, size: demand.size.get() });
    }
    if let Some(deadline) = demand.deadline
        && deadline < demand.released
    {
        let released = demand.released;
        return Err(PlanError::DeadlineBeforeRelease { flow, deadline, released });
    }
    if demand.path.is_empty() {
        return Err(PlanError::EmptyRoute { flow });
    }
    let mut before = None;
    for (at, link) in demand.path.iter().enumerate() {
        if link.index() >= network.len() {
            return Err(PlanError::MissingLink { flow, link: *link, links: network.len() });
        }
        if demand.path[..at].contains(link) {
            return Err(PlanError::RouteTwice { flow, link: *link });
        }
        if let Some((from, to)) = network.ends(*link) {
            if before.is_some_and(|before| before != from) {
                return Err(PlanError::BrokenRoute { flow, link: *link });
            }
            before = Some(to);
        }
    }
    Ok(())
}
