//! Networks of the usual shapes, and how a file describes one.

mod clos;
mod explicit;
mod simple;

use serde::{Deserialize, Serialize};

use crate::{error::TopologyError, graph::Topology};

pub use clos::{Clos, FatTree, LeafSpine};
pub use explicit::{Cable, Graph, GraphLink};
pub use simple::{Dumbbell, Racks, Star};

/// A network as a file describes it; the field `kind` says which shape follows.
///
/// ```
/// use laxity_topology::{Shape, Topology};
/// let text = "kind = 'fat-tree'\nk = 4\nrate = '10Gbps'\ndelay = '1us'";
/// let net = Topology::from_toml(text)?;
/// assert_eq!((net.hosts().len(), net.switch_count()), (16, 20));
///
/// let wrong = Shape::from_toml("kind = 'star'\nhost = 3\nrate = '1Gbps'").unwrap_err();
/// assert!(wrong.to_string().contains("unknown field `host`"), "{wrong}");
/// # Ok::<(), laxity_topology::TopologyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Shape {
    /// Hosts behind one switch that never is the bottleneck.
    Star(Star),
    /// Two groups of hosts with one link between them.
    Dumbbell(Dumbbell),
    /// Leaves and spines, described by their oversubscription.
    LeafSpine(LeafSpine),
    /// Leaves and spines, described by their links.
    Clos(Clos),
    /// Three tiers of switches with k ports.
    FatTree(FatTree),
    /// Racks behind one core switch, each with an uplink of its own.
    Racks(Racks),
    /// Every node and link by name.
    Graph(Graph),
}

impl Shape {
    /// Reads a description in TOML.
    pub fn from_toml(text: &str) -> Result<Self, TopologyError> {
        toml::from_str(text).map_err(|error| TopologyError::Text { reason: error.to_string() })
    }

    /// Reads a description in JSON.
    pub fn from_json(text: &str) -> Result<Self, TopologyError> {
        let read = serde_json::from_str(text);
        read.map_err(|error| TopologyError::Text { reason: error.to_string() })
    }

    /// Makes the network.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        match self {
            Self::Star(star) => star.build(),
            Self::Dumbbell(dumbbell) => dumbbell.build(),
            Self::LeafSpine(leaf_spine) => leaf_spine.build(),
            Self::Clos(clos) => clos.build(),
            Self::FatTree(fat_tree) => fat_tree.build(),
            Self::Racks(racks) => racks.build(),
            Self::Graph(graph) => graph.build(),
        }
    }
}

impl Topology {
    /// Reads a network in TOML: any [`Shape`].
    pub fn from_toml(text: &str) -> Result<Self, TopologyError> {
        Shape::from_toml(text)?.build()
    }

    /// Reads a network in JSON: any [`Shape`].
    pub fn from_json(text: &str) -> Result<Self, TopologyError> {
        Shape::from_json(text)?.build()
    }
}

/// Refuses zero.
fn at_least_one(what: &'static str, given: u32) -> Result<u32, TopologyError> {
    match given {
        0 => Err(TopologyError::Shape { what, given: "0".into(), expected: "1 or more" }),
        _ => Ok(given),
    }
}
