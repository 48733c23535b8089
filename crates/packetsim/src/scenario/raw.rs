//! The shape of a scenario file: what serde reads, before the checks.

use std::{borrow::Cow, fmt, str::FromStr};

use laxity_interface::{Bytes, Fraction, Layout, Span};
use laxity_topology::Shape;
use serde::{Deserialize, Deserializer, de};
use toml::Spanned;

use super::{amount::Amount, faults::RawFault, hosts::HostSet, sweep::Sweep};
use crate::{scheme::Scheme, sizes::Sizes, workload::GapSpec};

/// A value with its place in the file.
pub(super) type At<T> = Spanned<T>;
/// Values with their place in the file.
pub(super) type Field<T> = Option<Spanned<Sweep<T>>>;

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawScenario {
    /// What it is called.
    pub(super) name: Option<String>,
    /// What it is for, in words.
    pub(super) about: Option<String>,
    /// Seeds: every point is run with each of them.
    pub(super) seeds: Option<At<Sweep<u64>>>,
    pub(super) topology: At<Shape>,
    #[serde(default)]
    pub(super) switch: RawSwitch,
    /// How switches choose among equal paths; what the scheme wants if left out.
    pub(super) routing: Option<RawRouting>,
    #[serde(default)]
    pub(super) limits: RawLimits,
    pub(super) workloads: Vec<At<RawWorkload>>,
    /// What goes wrong.
    #[serde(default)]
    pub(super) faults: Vec<At<RawFault>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawSwitch {
    /// What may wait at a port.
    pub(super) buffer: Field<Bytes>,
    /// What may wait in a whole switch.
    pub(super) memory: Field<Bytes>,
    /// How many times what is free of it one queue may hold.
    pub(super) share: Field<f64>,
    /// Packets that find more waiting are marked.
    pub(super) mark_above: Field<Amount>,
    /// The layout of ports, by name; that of the scheme if left out.
    pub(super) layout: Field<Layout>,
    /// The scheme whose ports these are; that of the first workload if left out.
    pub(super) ports: Option<Named<Scheme>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawRouting {
    Ecmp,
    Spray,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawLimits {
    /// Simulated time after which the simulation ends.
    pub(super) until: Option<Span>,
    /// Events after which it ends.
    pub(super) max_events: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    AllToAll,
    Permutation,
    Random,
    Incast,
    Poisson,
    ParameterServer,
    RingAllReduce,
    TransposeAllReduce,
    List,
}

/// All fields of all kinds; the checks say which belong to which.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawWorkload {
    pub(super) kind: Kind,
    pub(super) name: Option<At<String>>,
    pub(super) scheme: At<Sweep<Named<Scheme>>>,
    #[serde(default)]
    pub(super) background: bool,
    #[serde(default)]
    pub(super) start: Span,
    pub(super) min_delivery: Field<Fraction>,
    pub(super) hosts: Option<At<HostSet>>,
    /// Messages of a flow.
    pub(super) messages: Field<u32>,
    /// The size of each.
    pub(super) size: Field<Named<Sizes>>,
    /// Times between them, and the part of a sender's line that they take.
    pub(super) arrivals: Field<Named<GapSpec>>,
    pub(super) arrival_load: Field<f64>,
    // Patterns.
    pub(super) rounds: Field<u32>,
    pub(super) gap: Option<At<Span>>,
    pub(super) senders: Field<u32>,
    pub(super) receiver: Option<At<String>>,
    // Poisson.
    pub(super) load: Field<f64>,
    pub(super) of: Option<At<LoadOf>>,
    pub(super) count: Field<u32>,
    pub(super) duration: Option<At<Span>>,
    // Training.
    pub(super) workers: Option<At<HostSet>>,
    pub(super) servers: Option<At<HostSet>>,
    pub(super) bytes: Field<Bytes>,
    pub(super) message: Option<At<Bytes>>,
    pub(super) compute: Field<Span>,
    pub(super) iterations: Field<u32>,
    // List.
    pub(super) flows: Option<At<Vec<RawFlow>>>,
}

/// What a load is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LoadOf {
    /// The interfaces of the hosts that take part.
    Hosts,
    /// The links from switches with hosts to switches without.
    Core,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawFlow {
    pub(super) from: String,
    pub(super) to: String,
    #[serde(default)]
    pub(super) at: Span,
    #[serde(default = "one")]
    pub(super) messages: u32,
    pub(super) size: Bytes,
}

const fn one() -> u32 {
    1
}

/// Something that is written by its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Named<T>(pub(super) T);

impl<T: fmt::Display> fmt::Display for Named<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map(Self).map_err(de::Error::custom)
    }
}

impl Kind {
    /// As it is written.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::AllToAll => "all-to-all",
            Self::Permutation => "permutation",
            Self::Random => "random",
            Self::Incast => "incast",
            Self::Poisson => "poisson",
            Self::ParameterServer => "parameter-server",
            Self::RingAllReduce => "ring-all-reduce",
            Self::TransposeAllReduce => "transpose-all-reduce",
            Self::List => "list",
        }
    }

    /// Fields that only some kinds have, of this one.
    pub(super) const fn fields(self) -> &'static [&'static str] {
        match self {
            Self::AllToAll | Self::Permutation | Self::Random => {
                &["hosts", "messages", "size", "arrivals", "arrival-load", "rounds", "gap"]
            }
            Self::Incast => &[
                "hosts",
                "messages",
                "size",
                "arrivals",
                "arrival-load",
                "rounds",
                "gap",
                "senders",
                "receiver",
            ],
            Self::Poisson => &[
                "hosts",
                "messages",
                "size",
                "arrivals",
                "arrival-load",
                "load",
                "of",
                "count",
                "duration",
            ],
            Self::ParameterServer => {
                &["workers", "servers", "bytes", "message", "compute", "iterations"]
            }
            Self::RingAllReduce | Self::TransposeAllReduce => {
                &["hosts", "bytes", "message", "compute", "iterations"]
            }
            Self::List => &["flows"],
        }
    }
}

impl RawWorkload {
    /// Fields that only some kinds have and that are given, with their places.
    pub(super) fn given(&self) -> Vec<(&'static str, std::ops::Range<usize>)> {
        fn at<T>(field: &Option<At<T>>) -> Option<std::ops::Range<usize>> {
            field.as_ref().map(Spanned::span)
        }
        let all = [
            ("hosts", at(&self.hosts)),
            ("messages", at(&self.messages)),
            ("size", at(&self.size)),
            ("arrivals", at(&self.arrivals)),
            ("arrival-load", at(&self.arrival_load)),
            ("rounds", at(&self.rounds)),
            ("gap", at(&self.gap)),
            ("senders", at(&self.senders)),
            ("receiver", at(&self.receiver)),
            ("load", at(&self.load)),
            ("of", at(&self.of)),
            ("count", at(&self.count)),
            ("duration", at(&self.duration)),
            ("workers", at(&self.workers)),
            ("servers", at(&self.servers)),
            ("bytes", at(&self.bytes)),
            ("message", at(&self.message)),
            ("compute", at(&self.compute)),
            ("iterations", at(&self.iterations)),
            ("flows", at(&self.flows)),
        ];
        all.into_iter().filter_map(|(name, at)| Some((name, at?))).collect()
    }
}
