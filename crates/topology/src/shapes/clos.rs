//! Networks of several tiers: leaves and spines, fat-trees.

use laxity_interface::{Rate, Span};
use serde::{Deserialize, Serialize};

use super::at_least_one;
use crate::{error::TopologyError, graph::Topology};

/// Hosts `h0`, … under leaves, every leaf connected to every spine once. The links between them
/// are as fast as the oversubscription leaves them: hosts · rate / (spines · oversubscription).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LeafSpine {
    /// How many leaves.
    pub leaves: u32,
    /// How many spines.
    pub spines: u32,
    /// Hosts under each leaf.
    pub hosts: u32,
    /// What each host sends and receives.
    pub rate: Rate,
    /// How much more the hosts of a leaf could send than its uplinks carry; 1 is non-blocking.
    #[serde(default = "one")]
    pub oversubscription: u32,
    /// Of each cable.
    #[serde(default)]
    pub delay: Span,
}

/// Hosts `h0`, … under leaves, every leaf connected to every spine by `cables` cables of their own
/// rate: a Clos network of two tiers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Clos {
    /// How many leaves.
    pub leaves: u32,
    /// How many spines.
    pub spines: u32,
    /// Hosts under each leaf.
    pub hosts: u32,
    /// What each host sends and receives.
    pub rate: Rate,
    /// What each cable between a leaf and a spine carries.
    pub uplink: Rate,
    /// Cables between each leaf and each spine.
    #[serde(default = "one")]
    pub cables: u32,
    /// Of each cable.
    #[serde(default)]
    pub delay: Span,
}

/// Three tiers of switches with k ports: k pods of k/2 edge and k/2 aggregation switches, (k/2)²
/// core switches, all links of one rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FatTree {
    /// Ports of a switch; even.
    pub k: u32,
    /// Hosts under each edge switch; k/2 where nothing is said. More is oversubscription.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts_per_edge: Option<u32>,
    /// Of each cable.
    pub rate: Rate,
    /// Of each cable.
    #[serde(default)]
    pub delay: Span,
}

const fn one() -> u32 {
    1
}

impl LeafSpine {
    /// Makes the network.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        at_least_one("spines", self.spines)?;
        at_least_one("oversubscription", self.oversubscription)?;
        let below = u128::from(self.hosts) * u128::from(self.rate.as_bps());
        let uplink = below / (u128::from(self.spines) * u128::from(self.oversubscription));
        let uplink = Rate::bps(u64::try_from(uplink).unwrap_or(u64::MAX));
        let Self { leaves, spines, hosts, rate, delay, .. } = *self;
        Clos { leaves, spines, hosts, rate, uplink, cables: 1, delay }.build()
    }
}

impl Clos {
    /// Makes the network.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        at_least_one("leaves", self.leaves)?;
        at_least_one("spines", self.spines)?;
        at_least_one("hosts", self.hosts)?;
        at_least_one("cables", self.cables)?;
        let mut net = Topology::builder();
        let spines: Vec<_> = (0..self.spines).map(|s| net.switch(format!("spine{s}"))).collect();
        for leaf in 0..self.leaves {
            let switch = net.switch(format!("leaf{leaf}"));
            for host in 0..self.hosts {
                let host = net.host(format!("h{}", leaf * self.hosts + host));
                net.cable(host, switch, self.rate, self.delay);
            }
            for spine in &spines {
                for _ in 0..self.cables {
                    net.cable(switch, *spine, self.uplink, self.delay);
                }
            }
        }
        net.build()
    }
}

impl FatTree {
    /// Makes the network.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        if self.k < 2 || !self.k.is_multiple_of(2) {
            let (what, given) = ("k", self.k.to_string());
            return Err(TopologyError::Shape {
                what,
                given,
                expected: "an even number, 2 or more",
            });
        }
        let half = self.k / 2;
        let per_edge = at_least_one("hosts-per-edge", self.hosts_per_edge.unwrap_or(half))?;
        let mut net = Topology::builder();
        let cores: Vec<_> = (0..half * half).map(|c| net.switch(format!("core{c}"))).collect();
        for pod in 0..self.k {
            let name = |tier, at| format!("{tier}{}", pod * half + at);
            let uppers: Vec<_> = (0..half).map(|a| net.switch(name("agg", a))).collect();
            for (at, upper) in uppers.iter().enumerate() {
                for core in &cores[at * half as usize..][..half as usize] {
                    net.cable(*upper, *core, self.rate, self.delay);
                }
            }
            for edge in 0..half {
                let switch = net.switch(name("edge", edge));
                for upper in &uppers {
                    net.cable(switch, *upper, self.rate, self.delay);
                }
                for host in 0..per_edge {
                    let number = (pod * half + edge) * per_edge + host;
                    let host = net.host(format!("h{number}"));
                    net.cable(host, switch, self.rate, self.delay);
                }
            }
        }
        net.build()
    }
}

impl Topology {
    /// Leaves and spines by their oversubscription, which is 1 where nothing blocks.
    pub fn leaf_spine(
        leaves: u32,
        spines: u32,
        hosts: u32,
        rate: Rate,
        oversubscription: u32,
        delay: Span,
    ) -> Result<Self, TopologyError> {
        LeafSpine { leaves, spines, hosts, rate, oversubscription, delay }.build()
    }

    /// A fat-tree of switches with `k` ports and k/2 hosts under each edge switch.
    pub fn fat_tree(k: u32, rate: Rate, delay: Span) -> Result<Self, TopologyError> {
        FatTree { k, hosts_per_edge: None, rate, delay }.build()
    }
}
