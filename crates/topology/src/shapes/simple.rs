//! One switch, two switches, and racks around a core.

use laxity_interface::{Rate, Span};
use serde::{Deserialize, Serialize};

use super::at_least_one;
use crate::{error::TopologyError, graph::Topology};

/// Hosts `h0`, `h1`, … behind one switch that never is the bottleneck.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Star {
    /// How many hosts.
    pub hosts: u32,
    /// What each host sends and receives.
    pub rate: Rate,
    /// Of each cable.
    #[serde(default)]
    pub delay: Span,
}

/// Hosts `left0`, … and `right0`, … with one link between their switches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Dumbbell {
    /// Hosts on the left.
    pub left: u32,
    /// Hosts on the right.
    pub right: u32,
    /// What each host sends and receives.
    pub rate: Rate,
    /// What the link in the middle carries.
    pub middle: Rate,
    /// Of each cable.
    #[serde(default)]
    pub delay: Span,
}

/// Racks of hosts `r0h0`, …; rack switches hang on one core switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Racks {
    /// Hosts in each rack.
    pub hosts: u32,
    /// What each host sends and receives.
    pub rate: Rate,
    /// What leads from each rack to the core; one entry per rack.
    pub uplinks: Vec<Rate>,
    /// Of each cable.
    #[serde(default)]
    pub delay: Span,
}

impl Star {
    /// Makes the network.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        at_least_one("hosts", self.hosts)?;
        let mut net = Topology::builder();
        let hosts: Vec<_> = (0..self.hosts).map(|h| net.host(format!("h{h}"))).collect();
        let switch = net.switch("switch");
        for host in hosts {
            net.cable(host, switch, self.rate, self.delay);
        }
        net.build()
    }
}

impl Dumbbell {
    /// Makes the network.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        at_least_one("left", self.left)?;
        at_least_one("right", self.right)?;
        let mut net = Topology::builder();
        let left: Vec<_> = (0..self.left).map(|h| net.host(format!("left{h}"))).collect();
        let right: Vec<_> = (0..self.right).map(|h| net.host(format!("right{h}"))).collect();
        let (west, east) = (net.switch("west"), net.switch("east"));
        for (hosts, switch) in [(left, west), (right, east)] {
            for host in hosts {
                net.cable(host, switch, self.rate, self.delay);
            }
        }
        net.cable(west, east, self.middle, self.delay);
        net.build()
    }
}

impl Racks {
    /// Makes the network.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        at_least_one("hosts", self.hosts)?;
        at_least_one("the number of uplinks", self.uplinks.len() as u32)?;
        let mut net = Topology::builder();
        let core = net.switch("core");
        for (rack, uplink) in self.uplinks.iter().enumerate() {
            let top = net.switch(format!("rack{rack}"));
            net.cable(top, core, *uplink, self.delay);
            for host in 0..self.hosts {
                let host = net.host(format!("r{rack}h{host}"));
                net.cable(host, top, self.rate, self.delay);
            }
        }
        net.build()
    }
}

impl Topology {
    /// Hosts behind one switch that never is the bottleneck.
    pub fn star(hosts: u32, rate: Rate, delay: Span) -> Result<Self, TopologyError> {
        Star { hosts, rate, delay }.build()
    }

    /// Two groups of hosts with one link between them.
    pub fn dumbbell(
        left: u32,
        right: u32,
        rate: Rate,
        middle: Rate,
        delay: Span,
    ) -> Result<Self, TopologyError> {
        Dumbbell { left, right, rate, middle, delay }.build()
    }

    /// Racks around a core switch, with one uplink each.
    pub fn racks(
        hosts: u32,
        rate: Rate,
        uplinks: &[Rate],
        delay: Span,
    ) -> Result<Self, TopologyError> {
        Racks { hosts, rate, uplinks: uplinks.to_vec(), delay }.build()
    }
}
