//! The shape of a lab file: what serde reads and writes, before the checks.

use std::{borrow::Cow, collections::BTreeMap};

use laxity_interface::{Bytes, Fraction, Layout, Rate, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::text::{Amount, List};
use crate::host::Receive;

/// A private network: hosts, what lies between them, what happens on it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[schemars(rename = "Lab")]
pub(crate) struct RawLab {
    /// What random loss and random traffic are drawn from; 1 if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seed: Option<u64>,
    /// Whether hosts send and receive up to 64 KB in one piece, as with real network cards, which the
    /// switch cuts into packets and joins; true if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offload: Option<bool>,
    /// How hosts take in what arrives; with interrupts if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) receive: Option<Receive>,
    /// What every link is like that does not say otherwise.
    pub(crate) link: RawLink,
    /// What the way from every host to its switch is like beyond the link's delay.
    pub(crate) up: RawWay,
    /// Queues of switch ports, by a name of your own.
    pub(crate) queues: BTreeMap<String, RawQueues>,
    /// The switches; one called `switch` if left out.
    pub(crate) switches: Vec<RawSwitch>,
    /// The hosts.
    pub(crate) hosts: Vec<RawHosts>,
    /// Links between switches.
    pub(crate) links: Vec<RawTrunk>,
    /// Traffic that the lab makes by itself.
    pub(crate) background: Vec<RawBackground>,
    /// What changes, and when.
    pub(crate) changes: Vec<RawChange>,
    /// Programs that `lab run` runs.
    pub(crate) programs: Vec<RawProgram>,
}

/// What a link is like. For a host's link this is the port of the switch that leads to it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[schemars(rename = "Link")]
pub(crate) struct RawLink {
    /// How fast it is; as fast as the machine allows if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<Rate>,
    /// How long a packet travels, one way; nothing if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<Span>,
    /// The fraction of packets that gets lost, each on its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) loss: Option<Fraction>,
    /// Loss in bursts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) burst_loss: Option<RawBurst>,
    /// The name of its queues: one of `queues`, or `single`, `shared` or `slack` with 256 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) queue: Option<String>,
    /// The largest packet, IP header included, 1500 if left out. Only for hosts' links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mtu: Option<u32>,
}

/// The other direction of a link, where it differs.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[schemars(rename = "Way")]
pub(crate) struct RawWay {
    /// How fast it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<Rate>,
    /// How long a packet travels; as in the other direction if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<Span>,
    /// The fraction of packets that gets lost, each on its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) loss: Option<Fraction>,
    /// Loss in bursts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) burst_loss: Option<RawBurst>,
    /// The name of its queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) queue: Option<String>,
}

/// Bursts in which everything is lost (Gilbert's chain).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "BurstLoss")]
pub(crate) struct RawBurst {
    /// The probability per packet that a burst begins.
    pub(crate) begin: Fraction,
    /// The probability per packet that it ends.
    pub(crate) end: Fraction,
}

/// Queues of a port: one of the layouts that have a name, or up to eight of your own.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Queues")]
pub(crate) struct RawQueues {
    /// Which of them.
    pub(crate) kind: QueueKind,
    /// How much may wait in all of them. For `own`: what queues without a limit share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) buffer: Option<Bytes>,
    /// Above how much waiting packets are marked. For `shared` in each queue and for `slack` in
    /// queue 0, in packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ecn: Option<Amount>,
    /// The queues of kind `own`; the first is served first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) queue: Vec<RawQueue>,
}

/// How queues are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) enum QueueKind {
    /// As the layout of this name.
    Named(Layout),
    /// As listed.
    Own,
}

/// The name of [`QueueKind::Own`].
const OWN: &str = "own";

impl QueueKind {
    fn names() -> impl Iterator<Item = &'static str> {
        Layout::ALL.into_iter().map(Layout::name).chain([OWN])
    }
}

impl TryFrom<String> for QueueKind {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        if name == OWN {
            return Ok(Self::Own);
        }
        name.parse().map(Self::Named).map_err(|_| {
            let names: Vec<_> = Self::names().map(|name| format!("`{name}`")).collect();
            format!("there is no kind `{name}` of queues: use one of {}", names.join(", "))
        })
    }
}

impl From<QueueKind> for String {
    fn from(kind: QueueKind) -> Self {
        match kind {
            QueueKind::Named(layout) => layout.to_string(),
            QueueKind::Own => OWN.to_owned(),
        }
    }
}

impl JsonSchema for QueueKind {
    fn schema_name() -> Cow<'static, str> {
        "QueueKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = Self::names().collect();
        json_schema!({ "description": "How queues are laid out.", "enum": names })
    }
}

/// One queue.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[schemars(rename = "Queue")]
pub(crate) struct RawQueue {
    /// How much may wait: `64KiB`, or `7packets`; a part of the shared buffer if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<Amount>,
    /// Above how much waiting packets are marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ecn: Option<Amount>,
    /// The code points that go here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) dscp: Vec<u8>,
    /// Whether code points that no queue lists go here; else they go to the first.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) rest: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// A switch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Switch")]
pub(crate) struct RawSwitch {
    /// Its name.
    pub(crate) name: String,
}

/// One host, or several that are alike.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Hosts")]
pub(crate) struct RawHosts {
    /// Its name; with `count`, what their names begin with.
    pub(crate) name: String,
    /// How many: `name = "h"`, `count = 3` gives h1, h2, h3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) count: Option<u32>,
    /// The switch it hangs on; needed where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) switch: Option<String>,
    /// What its link is like, where it differs from the others.
    #[serde(default)]
    pub(crate) link: RawLink,
    /// What its way to the switch is like, where it differs from the others.
    #[serde(default)]
    pub(crate) up: RawWay,
}

/// A link between two switches.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Trunk")]
pub(crate) struct RawTrunk {
    /// The two switches.
    pub(crate) between: [String; 2],
    /// What it is like, in both directions.
    #[serde(default)]
    pub(crate) link: RawLink,
    /// What the direction from the second to the first is like, where it differs.
    #[serde(default)]
    pub(crate) back: RawWay,
}

/// Traffic that the lab makes by itself.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Background")]
pub(crate) struct RawBackground {
    /// A name for `lab status`; its number if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// The host or hosts that send.
    pub(crate) from: List,
    /// The host or hosts that receive.
    pub(crate) to: List,
    /// Over TCP or UDP; TCP if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) transport: Option<Transport>,
    /// When it begins; with the lab if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<Span>,
    /// How long it goes on.
    pub(crate) duration: Span,
    /// How fast one flow sends while it sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<Rate>,
    /// On/off traffic: how long each flow sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) on: Option<Span>,
    /// On/off traffic: how long it then pauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) off: Option<Span>,
    /// Flows of random sizes: points of the distribution, each a size and the fraction of flows up to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) sizes: Vec<(Bytes, Fraction)>,
    /// Flows of random sizes: how much of the receivers' links they fill, in payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) load: Option<Fraction>,
    /// The congestion control of TCP flows; the machine's own if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) congestion: Option<String>,
}

/// What carries background traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP of the kernel.
    #[default]
    Tcp,
    /// UDP, paced.
    Udp,
}

/// Something that changes.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Change")]
pub(crate) struct RawChange {
    /// When, counted from when the lab is up.
    pub(crate) at: Span,
    /// The host, or the host whose link it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) host: Option<String>,
    /// The two switches whose link it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) between: Option<[String; 2]>,
    /// Which direction of the link; `down` if left out (to the host, from the first switch to the second).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) direction: Option<Direction>,
    /// The link's new rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<Rate>,
    /// The link's new delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<Span>,
    /// The link's new loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) loss: Option<Fraction>,
    /// The link's new loss in bursts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) burst_loss: Option<RawBurst>,
    /// Whether the host, or the link, disappears or comes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<State>,
}

/// A direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the switch to the host; from the first switch to the second.
    #[default]
    Down,
    /// From the host to the switch; from the second switch to the first.
    Up,
    /// Both.
    Both,
}

/// Whether something is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// It disappears.
    Gone,
    /// It comes back.
    Back,
}

/// A program that `lab run` runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Program")]
pub(crate) struct RawProgram {
    /// Where it runs.
    pub(crate) host: String,
    /// A name for the results; the host's, or the host's and a number, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// The program and its arguments as a list, or one text for the shell.
    pub(crate) command: List,
    /// When it starts; at once if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<Span>,
    /// How long it may run before it is ended and counts as failed; a minute if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) time_limit: Option<Span>,
    /// What is added to its environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) env: BTreeMap<String, String>,
    /// Whether the run fails if it fails; yes if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) must_succeed: Option<bool>,
    /// Whether it serves the others: it is ended when they have ended, and that is its good end.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) server: bool,
}
