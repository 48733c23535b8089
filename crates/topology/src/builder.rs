//! Building a network node by node.

use std::collections::BTreeMap;

use laxity_interface::{HostName, Rate, Span};

use crate::{
    error::TopologyError,
    graph::{Link, NodeKind, Topology},
    ids::NodeId,
};

/// A network in the making. Names and ends are checked when it is built.
///
/// ```
/// use laxity_interface::{Rate, Span};
/// use laxity_topology::Topology;
/// let mut builder = Topology::builder();
/// let (a, b) = (builder.host("a"), builder.host("b"));
/// let s = builder.switch("s");
/// builder.cable(a, s, Rate::from_gbps(10), Span::from_us(1));
/// builder.cable(b, s, Rate::from_gbps(1), Span::from_us(1));
/// assert_eq!(builder.build()?.links().len(), 4);
/// # Ok::<(), laxity_topology::TopologyError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct TopologyBuilder {
    names: Vec<String>,
    kinds: Vec<NodeKind>,
    links: Vec<Link>,
}

impl Topology {
    /// Starts a network without nodes.
    pub fn builder() -> TopologyBuilder {
        TopologyBuilder::default()
    }
}

impl TopologyBuilder {
    /// Adds a host.
    pub fn host(&mut self, name: impl Into<String>) -> NodeId {
        self.node(name.into(), NodeKind::Host)
    }

    /// Adds a switch.
    pub fn switch(&mut self, name: impl Into<String>) -> NodeId {
        self.node(name.into(), NodeKind::Switch)
    }

    fn node(&mut self, name: String, kind: NodeKind) -> NodeId {
        self.names.push(name);
        self.kinds.push(kind);
        NodeId(self.names.len() as u32 - 1)
    }

    /// Adds a link in one direction.
    pub fn link(&mut self, from: NodeId, to: NodeId, capacity: Rate, delay: Span) {
        self.links.push(Link { from, to, capacity, delay });
    }

    /// Adds a link in each direction: first from `a` to `b`, then back.
    pub fn cable(&mut self, a: NodeId, b: NodeId, capacity: Rate, delay: Span) {
        self.link(a, b, capacity, delay);
        self.link(b, a, capacity, delay);
    }

    /// Checks names and links.
    pub fn build(self) -> Result<Topology, TopologyError> {
        let mut seen = BTreeMap::new();
        let mut names = Vec::with_capacity(self.names.len());
        for (at, name) in self.names.iter().enumerate() {
            let name = HostName::new(name)
                .map_err(|source| TopologyError::BadName { name: name.clone(), source })?;
            if seen.insert(name.clone(), at).is_some() {
                return Err(TopologyError::DuplicateNode { name: name.to_string() });
            }
            names.push(name);
        }
        let called = |node: NodeId| {
            names.get(node.index()).map_or_else(|| format!("#{node}"), HostName::to_string)
        };
        for link in &self.links {
            let (from, to) = (called(link.from), called(link.to));
            for end in [link.from, link.to] {
                if end.index() >= names.len() {
                    return Err(TopologyError::MissingNode { from, to, missing: called(end) });
                }
            }
            if link.from == link.to {
                return Err(TopologyError::Loop { node: from });
            }
            if link.capacity == Rate::ZERO {
                return Err(TopologyError::NoCapacity { from, to });
            }
        }
        Topology::assemble(names, self.kinds, self.links)
    }
}
