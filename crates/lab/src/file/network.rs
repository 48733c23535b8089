//! A lab that passed every check: names are numbers, defaults are filled in.

use std::{collections::BTreeMap, net::Ipv4Addr};

use laxity_interface::{Bytes, Fraction, Rate, Span, Time};
use laxity_switch::{
    BuildError, Change, Fabric, HostId, Limit, Loss, MacAddress, NodeId, PortConfig, PortId,
    QueueLayout,
};

use super::raw::{Direction, Transport};
use crate::host::{Receive, site};

/// Everything that a lab file says.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Network {
    pub(crate) seed: u64,
    /// Whether the switch cuts and joins for hosts, as cards do.
    pub(crate) offload: bool,
    /// How hosts take in what arrives.
    pub(crate) receive: Receive,
    pub(crate) switches: Vec<String>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) trunks: Vec<Trunk>,
    pub(crate) background: Vec<Background>,
    pub(crate) changes: Vec<TimedChange>,
    pub(crate) programs: Vec<Program>,
}

/// A host and its link.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) switch: usize,
    pub(crate) mtu: u32,
    pub(crate) down: Way,
    pub(crate) up: Way,
}

/// A link between two switches.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Trunk {
    pub(crate) between: [usize; 2],
    pub(crate) there: Way,
    pub(crate) back: Way,
}

/// One direction of a link.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Way {
    pub(crate) rate: Option<Rate>,
    pub(crate) delay: Span,
    pub(crate) loss: Loss,
    pub(crate) layout: QueueLayout,
}

/// How fast a card sends whose way to the switch has no rate, unless its link is faster.
const CARD: Rate = Rate::from_gbps(10);

impl Host {
    /// The way to the switch. A card sends packets that it cut one after the other, not at once.
    fn up(&self, offload: bool) -> PortConfig {
        let mut port = self.up.port();
        if offload && port.rate.is_none() {
            port.rate = Some(self.down.rate.map_or(CARD, |rate| rate.max(CARD)));
            port.layout = QueueLayout::single(Limit::Bytes(Bytes::MAX), None);
        }
        port
    }
}

impl Way {
    fn port(&self) -> PortConfig {
        PortConfig {
            rate: self.rate,
            delay: self.delay,
            layout: self.layout.clone(),
            loss: self.loss,
            ..PortConfig::default()
        }
    }
}

/// Traffic that the lab makes by itself.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Background {
    pub(crate) name: String,
    pub(crate) from: Vec<usize>,
    pub(crate) to: Vec<usize>,
    pub(crate) transport: Transport,
    pub(crate) start: Span,
    pub(crate) duration: Span,
    /// How fast one flow sends; TCP without it as fast as it can.
    pub(crate) rate: Option<Rate>,
    pub(crate) pattern: Pattern,
    pub(crate) congestion: Option<String>,
}

/// When flows begin and how long they are.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Pattern {
    /// One flow per sender and receiver that sends and pauses by turns.
    OnOff { on: Span, off: Span },
    /// Flows that arrive at random, whatever became of the earlier ones.
    Sizes {
        /// Points of the distribution, rising.
        points: Vec<(Bytes, Fraction)>,
        /// Payload of all flows together.
        rate: Rate,
    },
}

/// A change and its time.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TimedChange {
    pub(crate) at: Time,
    pub(crate) what: Vec<Change>,
    pub(crate) words: String,
}

/// A program that a lab file asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// What results call it.
    pub name: String,
    /// The host it runs in.
    pub host: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// When it starts.
    pub start: Span,
    /// How long it may run.
    pub time_limit: Span,
    /// What is added to its environment.
    pub env: BTreeMap<String, String>,
    /// Whether the run fails if it fails.
    pub must_succeed: bool,
    /// Whether it is ended when the others have ended.
    pub server: bool,
}

/// A host as others see it.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct HostInfo {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: Ipv4Addr,
}

impl Network {
    /// The hosts as others see them.
    pub(crate) fn host_infos(&self) -> Vec<HostInfo> {
        let info = |(at, host): (usize, &Host)| HostInfo {
            name: host.name.clone(),
            address: site::address(at),
        };
        self.hosts.iter().enumerate().map(info).collect()
    }

    /// The switches, ports and wires of it.
    pub(crate) fn fabric(&self) -> Result<Fabric, BuildError> {
        let mut builder = Fabric::builder(self.seed);
        let switches: Vec<_> = self.switches.iter().map(|_| builder.add_switch()).collect();
        let hosts: Vec<_> =
            (0..self.hosts.len()).map(|at| builder.add_host(MacAddress(site::mac(at)))).collect();
        // CORRECTNESS: `host_port` and `trunk_port` count on this order.
        for (host, id) in self.hosts.iter().zip(hosts) {
            builder.connect(switches[host.switch], id, host.down.port(), host.up(self.offload));
        }
        for trunk in &self.trunks {
            let [one, other] = trunk.between.map(|at| switches[at]);
            builder.connect(one, other, trunk.there.port(), trunk.back.port());
        }
        builder.build()
    }

    /// What people call a place in the fabric.
    pub(crate) fn node_name(&self, node: NodeId) -> &str {
        match node {
            NodeId::Host(host) => &self.hosts[host.index()].name,
            NodeId::Switch(switch) => &self.switches[switch.index()],
        }
    }

    /// The host of this name.
    pub(crate) fn host(&self, name: &str) -> Option<usize> {
        self.hosts.iter().position(|host| host.name == name)
    }
}

/// The ports of a host's link, in these directions.
pub(super) fn host_ports(host: usize, direction: Direction) -> Vec<PortId> {
    ports(host, direction)
}

/// The ports of a link between switches, in these directions.
pub(super) fn trunk_ports(hosts: usize, trunk: usize, direction: Direction) -> Vec<PortId> {
    ports(hosts + trunk, direction)
}

/// A host by its place.
pub(super) fn host_id(host: usize) -> HostId {
    HostId::new(host as u32)
}

fn ports(link: usize, direction: Direction) -> Vec<PortId> {
    let (there, back) = (PortId::new(2 * link as u32), PortId::new(2 * link as u32 + 1));
    match direction {
        Direction::Down => vec![there],
        Direction::Up => vec![back],
        Direction::Both => vec![there, back],
    }
}
