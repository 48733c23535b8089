//! How a fabric is put together.

use std::collections::BTreeMap;

use crate::{
    config::{MAX_QUEUES, PortConfig},
    fabric::Fabric,
    frame::MacAddress,
    ids::{HostId, NodeId, PortId, SwitchId},
    port::Port,
    routes::Routes,
};

/// The two directions of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// From the first node to the second.
    pub there: PortId,
    /// From the second node to the first.
    pub back: PortId,
}

/// Why a fabric cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A node that was not added.
    #[error("{node} is connected but was never added: add it before it is connected")]
    Unknown {
        /// The node.
        node: NodeId,
    },
    /// A link from a node to itself, or between two hosts.
    #[error("{from} and {to} cannot be connected: a link leads from a host or switch to a switch")]
    Link {
        /// One end.
        from: NodeId,
        /// The other.
        to: NodeId,
    },
    /// A host with several links, or with none.
    #[error("{host} has {links} links: connect it to exactly one switch")]
    Host {
        /// The host.
        host: HostId,
        /// How many links it has.
        links: usize,
    },
    /// Two hosts with the same address, or one with an address for groups.
    #[error("{host} has the address {address}, which is a group's or another host's")]
    Address {
        /// The host.
        host: HostId,
        /// Its address.
        address: MacAddress,
    },
    /// A port without queues, or with more than eight.
    #[error("the port from {from} to {to} has {queues} queues: give it 1 to {MAX_QUEUES}")]
    Queues {
        /// Where the port is.
        from: NodeId,
        /// Where it leads.
        to: NodeId,
        /// How many queues it has.
        queues: usize,
    },
    /// Two hosts without a way between them.
    #[error("no way leads from {from} to {to}: connect their switches")]
    Apart {
        /// One host.
        from: HostId,
        /// The other.
        to: HostId,
    },
}

/// Collects hosts, switches and links; see [`Fabric::builder`].
#[derive(Debug)]
pub struct FabricBuilder {
    seed: u64,
    hosts: Vec<MacAddress>,
    switches: u32,
    ports: Vec<(NodeId, NodeId, PortConfig)>,
}

impl FabricBuilder {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed, hosts: Vec::new(), switches: 0, ports: Vec::new() }
    }

    /// Adds a switch without ports.
    pub fn add_switch(&mut self) -> SwitchId {
        self.switches += 1;
        SwitchId::new(self.switches - 1)
    }

    /// Adds a host with this hardware address.
    pub fn add_host(&mut self, address: MacAddress) -> HostId {
        self.hosts.push(address);
        HostId::new(self.hosts.len() as u32 - 1)
    }

    /// Connects two nodes by a link; each direction has its own port. Several links between two
    /// switches share the flows.
    pub fn connect(
        &mut self,
        one: impl Into<NodeId>,
        other: impl Into<NodeId>,
        there: PortConfig,
        back: PortConfig,
    ) -> Link {
        let (one, other) = (one.into(), other.into());
        let first = self.ports.len() as u32;
        self.ports.push((one, other, there));
        self.ports.push((other, one, back));
        Link { there: PortId::new(first), back: PortId::new(first + 1) }
    }

    /// Checks everything and finds the ways: the shortest, several equally short ones by flow.
    pub fn build(self) -> Result<Fabric, BuildError> {
        for (from, to, config) in &self.ports {
            self.check(*from, *to, config)?;
        }
        let mut addresses = BTreeMap::new();
        for (number, address) in self.hosts.iter().enumerate() {
            let host = HostId::new(number as u32);
            if address.is_group() || addresses.insert(*address, host).is_some() {
                return Err(BuildError::Address { host, address: *address });
            }
            let links = self.ports.iter().filter(|(from, ..)| *from == host.into()).count();
            if links != 1 {
                return Err(BuildError::Host { host, links });
            }
        }
        let ends: Vec<_> = self.ports.iter().map(|(from, to, _)| (*from, *to)).collect();
        let routes = Routes::new(self.hosts.len(), self.switches as usize, &ends)?;
        let ports = self.ports.into_iter().enumerate().map(|(number, (from, to, config))| {
            Port::new(PortId::new(number as u32), from, to, config, self.seed)
        });
        Ok(Fabric::new(ports.collect(), routes, addresses))
    }

    fn check(&self, from: NodeId, to: NodeId, config: &PortConfig) -> Result<(), BuildError> {
        for node in [from, to] {
            let known = match node {
                NodeId::Host(host) => host.index() < self.hosts.len(),
                NodeId::Switch(switch) => switch.index() < self.switches as usize,
            };
            if !known {
                return Err(BuildError::Unknown { node });
            }
        }
        let hosts = matches!((from, to), (NodeId::Host(_), NodeId::Host(_)));
        if from == to || hosts {
            return Err(BuildError::Link { from, to });
        }
        let queues = config.layout.queues.len();
        if queues == 0 || queues > MAX_QUEUES {
            return Err(BuildError::Queues { from, to, queues });
        }
        Ok(())
    }
}
