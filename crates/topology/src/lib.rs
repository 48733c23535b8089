//! Networks as data: hosts, switches, directed links, and routes over equal-cost shortest paths.
//!
//! The flow simulator, the packet simulator and the planner share these networks. Nodes and links
//! have dense numbers, neighbours lie side by side, and sets of next hops are stored once, so a
//! network of a thousand hosts is a few megabytes. Nothing moves here: no packets, no rates, no
//! time. [`Shape`] is a network as a file says it, [`Topology`] the network, [`Routes`] the ways
//! through it while some of its links may be down.
//!
//! ```
//! use laxity_interface::{Rate, Span};
//! use laxity_topology::{Routes, Topology};
//!
//! let mut net = Topology::leaf_spine(4, 2, 8, Rate::from_gbps(10), 2, Span::from_us(1))?;
//! assert_eq!((net.hosts().len(), net.links().len()), (32, 2 * (32 + 4 * 2)));
//! let routes = Routes::new(&net);
//! let (a, b) = (net.host("h0")?, net.host("h31")?);
//! let path = routes.path(&net, a, b, 7)?;
//! assert_eq!(path.len(), 4); // h0, leaf, spine, leaf, h31
//!
//! net.fail(path[1]);
//! let other = Routes::new(&net).path(&net, a, b, 7)?;
//! assert!(!other.contains(&path[1]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod builder;
mod error;
mod graph;
mod ids;
mod routes;
mod shapes;

pub use builder::TopologyBuilder;
pub use error::{RouteError, TopologyError};
pub use graph::{Link, NodeKind, Topology};
pub use ids::{LinkId, NodeId, Path};
pub use routes::{Routes, flow_hash};
pub use shapes::{Cable, Clos, Dumbbell, FatTree, Graph, GraphLink, LeafSpine, Racks, Shape, Star};
