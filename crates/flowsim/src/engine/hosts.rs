//! Hosts run one operation at a time.

use std::collections::{BTreeMap, BTreeSet};

use laxity_topology::NodeId;

use crate::graph::Node;

#[derive(Debug, Default)]
struct Host {
    busy: bool,
    ready: BTreeSet<Node>,
}

/// Which hosts are busy, and what waits for them.
#[derive(Debug, Default)]
pub(super) struct Hosts(BTreeMap<NodeId, Host>);

impl Hosts {
    /// An operation could run; returns it if it may start now.
    pub(super) fn ready(&mut self, host: Option<NodeId>, node: Node) -> Option<Node> {
        let Some(host) = host else { return Some(node) };
        let host = self.0.entry(host).or_default();
        if host.busy {
            host.ready.insert(node);
            return None;
        }
        host.busy = true;
        Some(node)
    }

    /// An operation has ended; returns the next one of its host.
    pub(super) fn free(&mut self, host: Option<NodeId>) -> Option<Node> {
        let host = self.0.get_mut(&host?)?;
        let next = host.ready.pop_first();
        host.busy = next.is_some();
        next
    }
}
