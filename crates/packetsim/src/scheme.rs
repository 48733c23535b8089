//! Transports by name, each with the network it was made for.

use std::{fmt, str::FromStr};

use laxity_interface::{Bytes, Layout, Rate, Span};

use crate::{
    flow::HostId,
    setup::{NicSetup, PortSetup, Routing},
    stack::Stack,
    stacks::{
        aeolus::{self, Aeolus},
        approx::Approx,
        bounded::Bounded,
        dctcp::{Classes, Dctcp, DctcpConfig},
        laxity::{Form, Laxity},
        ndp::{self, Ndp},
        pfabric::{self, Pfabric},
        reserved::Reserved,
        udp::{self, Udp},
    },
};

/// A named way to carry flows: what hosts run and how ports are set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scheme {
    /// The protocol crate: our transport as it ships, and the papers' forms.
    Protocol(Form),
    /// The simplified protocol of seed paper 001.
    Bounded,
    /// DCTCP.
    Dctcp(Tcp, Approx),
    /// pFabric.
    Pfabric(Approx),
    /// Aeolus over ExpressPass.
    Aeolus(Approx),
    /// NDP.
    Ndp(Approx),
    /// UDP at line rate.
    Udp,
}

/// Which DCTCP.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Tcp {
    /// As a careful operator runs it today.
    Strong,
    /// As most papers compare with it.
    Plain,
    /// Strong, and smaller flows in higher queues.
    Priority,
}

/// What ports have to start with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortBase {
    /// What may wait at one port.
    pub buffer: Bytes,
    /// Packets above which queues that mark do.
    pub mark_above_packets: u32,
    /// Speed of the hosts' links.
    pub rate: Rate,
}

/// What stacks may know of the network when they are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct World {
    /// Speed of the hosts' interfaces.
    pub line_rate: Rate,
    /// Round trip in the empty network.
    pub base_rtt: Span,
    /// How many hosts there are.
    pub hosts: usize,
}

/// Sizes of flows that divide the queues of [`Tcp::Priority`], in KiB.
const PRIORITIES: [u64; 7] = [16, 32, 64, 128, 256, 512, 1024];

impl Scheme {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Protocol(Form::Laxity),
        Self::Protocol(Form::AtpBase),
        Self::Protocol(Form::AtpRc),
        Self::Protocol(Form::AtpMrdf),
        Self::Protocol(Form::AtpFixTlr),
        Self::Protocol(Form::AtpFixPrio),
        Self::Protocol(Form::AtpFull),
        Self::Bounded,
        Self::Dctcp(Tcp::Strong, Approx::Whole),
        Self::Dctcp(Tcp::Strong, Approx::EarlySend),
        Self::Dctcp(Tcp::Strong, Approx::SampleSend),
        Self::Dctcp(Tcp::Plain, Approx::Whole),
        Self::Dctcp(Tcp::Plain, Approx::EarlySend),
        Self::Dctcp(Tcp::Plain, Approx::SampleSend),
        Self::Dctcp(Tcp::Priority, Approx::Whole),
        Self::Dctcp(Tcp::Priority, Approx::EarlySend),
        Self::Dctcp(Tcp::Priority, Approx::SampleSend),
        Self::Pfabric(Approx::Whole),
        Self::Pfabric(Approx::EarlySend),
        Self::Pfabric(Approx::SampleSend),
        Self::Aeolus(Approx::Whole),
        Self::Aeolus(Approx::EarlySend),
        Self::Aeolus(Approx::SampleSend),
        Self::Ndp(Approx::Whole),
        Self::Ndp(Approx::EarlySend),
        Self::Ndp(Approx::SampleSend),
        Self::Udp,
    ];

    /// The name without what it does to flows that may lose something.
    fn stem(self) -> &'static str {
        match self {
            Self::Protocol(form) => match form {
                Form::Laxity => "laxity",
                Form::AtpBase => "atp-base",
                Form::AtpRc => "atp-rc",
                Form::AtpMrdf => "atp-mrdf",
                Form::AtpFixTlr => "atp-fixtlr",
                Form::AtpFixPrio => "atp-fixprio",
                Form::AtpFull => "atp-full",
            },
            Self::Bounded => "bounded",
            Self::Dctcp(Tcp::Strong, _) => "dctcp",
            Self::Dctcp(Tcp::Plain, _) => "dctcp-plain",
            Self::Dctcp(Tcp::Priority, _) => "dctcp-prio",
            Self::Pfabric(_) => "pfabric",
            Self::Aeolus(_) => "aeolus",
            Self::Ndp(_) => "ndp",
            Self::Udp => "udp",
        }
    }

    /// How flows that may lose something are made fit for a transport that loses nothing.
    pub fn approx(self) -> Option<Approx> {
        match self {
            Self::Dctcp(_, approx)
            | Self::Pfabric(approx)
            | Self::Aeolus(approx)
            | Self::Ndp(approx) => Some(approx),
            Self::Protocol(_) | Self::Bounded | Self::Udp => None,
        }
    }

    /// What it is, in a sentence.
    pub fn about(self) -> String {
        let what = match self {
            Self::Protocol(form) => match form {
                Form::Laxity => "the shipping protocol, least left first in hosts and switches",
                Form::AtpBase => "NetApprox' ATP_Base: line rate, lost packets again after all",
                Form::AtpRc => "ATP_Base with rate control against a fixed target loss rate",
                Form::AtpMrdf => "ATP_RC with fewest remaining bytes first",
                Form::AtpFixTlr => "NetApprox with target loss rate and queue of the beginning",
                Form::AtpFixPrio => "NetApprox with moving target and the queue of the beginning",
                Form::AtpFull => "NetApprox as written: target and queue move",
            },
            Self::Bounded => "DCTCP that ends at a fraction of the bytes and waits for no timer",
            Self::Dctcp(Tcp::Strong, _) => "DCTCP with tail-loss probes and 1 ms timeouts",
            Self::Dctcp(Tcp::Plain, _) => "DCTCP without probes, 10 ms timeouts",
            Self::Dctcp(Tcp::Priority, _) => "strong DCTCP, smaller flows in higher queues",
            Self::Pfabric(_) => "pFabric: least remaining first in hosts and switches",
            Self::Aeolus(_) => "Aeolus over ExpressPass: a first burst, then credits",
            Self::Ndp(_) => "NDP: trimmed packets, pulls, all paths",
            Self::Udp => "every packet once at line rate",
        };
        match self.approx() {
            Some(Approx::EarlySend) => format!("{what}; stops when enough has arrived"),
            Some(Approx::SampleSend) => format!("{what}; sends only a sample that is enough"),
            Some(Approx::Whole) => format!("{what}; everything arrives"),
            None => what.to_owned(),
        }
    }

    /// The layout of its ports, where that has a name; what comes closest for the others.
    pub fn layout(&self) -> Layout {
        match self {
            Self::Protocol(Form::Laxity) => Layout::default(),
            Self::Protocol(_) => Layout::Slack,
            _ => Layout::Shared,
        }
    }

    /// The ports of its switches.
    pub fn ports(&self, base: &PortBase) -> PortSetup {
        match self {
            Self::Protocol(_) | Self::Bounded | Self::Dctcp(..) => {
                PortSetup::named(self.layout(), base.buffer, base.mark_above_packets)
            }
            Self::Pfabric(_) => PortSetup::ranked(pfabric::buffer(base.rate).min(base.buffer)),
            Self::Aeolus(_) => {
                PortSetup::fifo(base.buffer, None).with_droppable_above(aeolus::THRESHOLD)
            }
            Self::Ndp(_) => PortSetup::trimming(base.buffer, ndp::QUEUE),
            Self::Udp => {
                let data = base.buffer.get().saturating_sub(udp::RESERVE.get());
                PortSetup::fifo(base.buffer, None).with_droppable_above(Bytes::new(data))
            }
        }
    }

    /// The interfaces of its hosts: one packet ready behind the one on the wire.
    pub fn nic(&self) -> NicSetup {
        NicSetup::default()
    }

    /// How its switches choose among equal paths.
    pub fn routing(&self) -> Routing {
        match self {
            Self::Ndp(_) => Routing::Spray,
            _ => Routing::Ecmp,
        }
    }

    /// What one host runs where ports are its own.
    pub fn stack(&self, host: HostId, seed: u64, world: &World) -> Box<dyn Stack> {
        self.stack_on(self.layout(), host, seed, world)
    }

    /// What one host runs where ports have this layout, and hosts were told.
    pub fn stack_on(&self, layout: Layout, host: HostId, seed: u64, _: &World) -> Box<dyn Stack> {
        match *self {
            Self::Protocol(Form::Laxity) => Box::new(Laxity::new(Form::Laxity, layout, host, seed)),
            Self::Protocol(form) => Box::new(Reserved::new(form, layout, host, seed)),
            Self::Bounded => Box::new(Bounded::new()),
            Self::Dctcp(tcp, approx) => {
                let config = match tcp {
                    Tcp::Strong => DctcpConfig::strong(),
                    Tcp::Plain => DctcpConfig::plain(),
                    Tcp::Priority => DctcpConfig {
                        class: Classes::BySize(PRIORITIES.map(Bytes::from_kib).to_vec()),
                        ..DctcpConfig::strong()
                    },
                };
                Box::new(Dctcp::new(config.with_approx(approx)))
            }
            Self::Pfabric(approx) => Box::new(Pfabric::new(approx)),
            Self::Aeolus(approx) => Box::new(Aeolus::new(approx)),
            Self::Ndp(approx) => Box::new(Ndp::new(approx)),
            Self::Udp => Box::new(Udp::new()),
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = self.approx().map_or("", Approx::suffix);
        f.pad(&format!("{}{suffix}", self.stem()))
    }
}

/// A name that no scheme has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no scheme `{name}`: {}", names())]
pub struct UnknownScheme {
    /// The name.
    pub name: String,
}

fn names() -> String {
    let names: Vec<String> = Scheme::ALL.iter().map(Scheme::to_string).collect();
    names.join(", ")
}

impl FromStr for Scheme {
    type Err = UnknownScheme;

    fn from_str(text: &str) -> Result<Self, UnknownScheme> {
        let found = Self::ALL.iter().find(|scheme| scheme.to_string() == text).copied();
        found.ok_or_else(|| UnknownScheme { name: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_is_one_scheme() {
        let names: BTreeSet<String> = Scheme::ALL.iter().map(Scheme::to_string).collect();
        assert_eq!(names.len(), Scheme::ALL.len());
        for scheme in Scheme::ALL {
            assert_eq!(scheme.to_string().parse().as_ref(), Ok(scheme));
        }
        let error = "tcp".parse::<Scheme>().unwrap_err().to_string();
        assert!(error.contains("`tcp`") && error.contains("dctcp-plain-es"), "{error}");
    }

    #[test]
    fn ports_are_those_of_the_papers() {
        let (buffer, mark_above_packets) = (Bytes::new(1_500_000), 65);
        let ports = |name: &str, gbps| {
            let base = PortBase { buffer, mark_above_packets, rate: Rate::from_gbps(gbps) };
            name.parse::<Scheme>().unwrap().ports(&base)
        };
        assert_eq!(ports("pfabric-es", 10).buffer, Bytes::new(36_500), "36 KB in the paper");
        assert_eq!(ports("ndp", 10).queues[1].limit_packets, Some(8));
        assert_eq!(ports("aeolus-ss", 40).queues[1].droppable_above, Some(Bytes::new(6000)));
        assert_eq!(ports("dctcp-es", 40).queues[0].mark_above_packets, Some(65));
        assert_eq!(ports("atp-full", 40).queues[7].limit, Some(Bytes::new(1518)));
        assert_eq!(ports("laxity", 40), ports("dctcp-prio-es", 40), "the same switches");
    }
}
