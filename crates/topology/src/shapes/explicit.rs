//! A network with every node and link by name.

use std::collections::BTreeMap;

use laxity_interface::{Rate, Span};
use serde::{Deserialize, Serialize};

use crate::{error::TopologyError, graph::Topology};

/// Every node and link by name.
///
/// ```
/// let net = laxity_topology::Topology::from_toml(
///     r#"
///     kind = "graph"
///     hosts = ["a", "b"]
///     switches = ["s"]
///     cables = [{ between = ["a", "s"], rate = "10Gbps", delay = "1us" }]
///     links = [{ from = "s", to = "b", rate = "1Gbps" }, { from = "b", to = "s", rate = "2Gbps" }]
///     "#,
/// )?;
/// assert_eq!(net.links().len(), 4);
/// # Ok::<(), laxity_topology::TopologyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Graph {
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// Names of the switches.
    #[serde(default)]
    pub switches: Vec<String>,
    /// Links in both directions.
    #[serde(default)]
    pub cables: Vec<Cable>,
    /// Links in one direction.
    #[serde(default)]
    pub links: Vec<GraphLink>,
}

/// Links in both directions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Cable {
    /// The nodes at its ends.
    pub between: [String; 2],
    /// What each direction carries.
    pub rate: Rate,
    /// How long a bit takes.
    #[serde(default)]
    pub delay: Span,
}

/// A link in one direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GraphLink {
    /// Where it starts.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// What it carries.
    pub rate: Rate,
    /// How long a bit takes.
    #[serde(default)]
    pub delay: Span,
}

impl Graph {
    /// Makes the network.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        let mut net = Topology::builder();
        let mut nodes = BTreeMap::new();
        for name in &self.hosts {
            nodes.insert(name.as_str(), net.host(name.as_str()));
        }
        for name in &self.switches {
            nodes.insert(name.as_str(), net.switch(name.as_str()));
        }
        let node = |name: &str, from: &str, to: &str| {
            nodes.get(name).copied().ok_or_else(|| TopologyError::MissingNode {
                from: from.to_owned(),
                to: to.to_owned(),
                missing: name.to_owned(),
            })
        };
        for Cable { between: [a, b], rate, delay } in &self.cables {
            net.cable(node(a, a, b)?, node(b, a, b)?, *rate, *delay);
        }
        for GraphLink { from, to, rate, delay } in &self.links {
            net.link(node(from, from, to)?, node(to, from, to)?, *rate, *delay);
        }
        net.build()
    }
}
