//! What clients and the daemon say to each other: one JSON object a line.

mod channel;

use std::path::PathBuf;

use laxity_interface::{Bytes, Span};
use laxity_switch::{Count, PortCounters};
use serde::{Deserialize, Serialize};

pub(crate) use channel::Channel;

use crate::{
    engine::{Health, LateTimes},
    file::{HostInfo, LabChange, LabFile},
    host::Receive,
};

/// What a new daemon is told on its standard input.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    /// The lab's name.
    pub(crate) name: String,
    /// Where its files go.
    pub(crate) folder: PathBuf,
    /// What tells it from every other lab there ever was.
    pub(crate) id: String,
    /// What it is like.
    pub(crate) file: LabFile,
    /// Whether the switch may ask for real-time priority.
    pub(crate) realtime: bool,
    /// The open file with the lock on the folder, by its number.
    pub(crate) lock: i32,
}

/// Said on the daemon's standard input: the lab stays when whoever made it goes.
pub(crate) const KEEP: &str = "keep";

/// What a daemon answers on its standard output.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ready {
    /// The lab is up.
    Up,
    /// It is not, and will not be.
    Failed(String),
}

/// What a client asks.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub(crate) enum Request {
    /// Who are you?
    Introduce,
    /// The way into a host: the answer carries namespaces.
    Enter {
        /// Its name.
        host: String,
    },
    /// How is it going?
    Status,
    /// Change the network.
    Change {
        /// How.
        change: LabChange,
    },
    /// Forget how late the switch has been so far, and programs.
    ResetHealth,
    /// End.
    Down,
}

/// What the daemon answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// This is who it is.
    Introduction(Introduction),
    /// The way in comes along; whether a user namespace comes first.
    Enter {
        /// Whether there is one.
        user: bool,
    },
    /// How it is going.
    Status(Box<Status>),
    /// As asked.
    Done,
    /// Not as asked.
    Refused {
        /// Why, and what to do.
        reason: String,
    },
}

/// Who a lab is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Introduction {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) process: u32,
    pub(crate) hosts: Vec<HostInfo>,
}

/// How a lab is doing.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Status {
    /// Its name.
    pub name: String,
    /// The process that holds it.
    pub process: u32,
    /// How long it has been up.
    pub up_for: Span,
    /// Its hosts.
    pub hosts: Vec<HostInfo>,
    /// Its ports: two for every link.
    pub ports: Vec<PortStatus>,
    /// Frames to an address that nobody has.
    pub unroutable: Count,
    /// How hosts take in what arrives: as was wished, or what the system allows instead. `None`: the
    /// switch's core does that work too.
    pub receive: Option<Receive>,
    /// How late the switch was, and what it could not do.
    pub health: Health,
    /// How long hosts' programs waited for a processor, in the same time as `health`: all hosts share this machine's.
    pub turns: LateTimes,
    /// Its background traffic.
    pub background: Vec<BackgroundStatus>,
    /// Its timed changes.
    pub changes: Vec<ChangeStatus>,
}

/// One direction of a link.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct PortStatus {
    /// The host or switch that sends.
    pub from: String,
    /// The host or switch that receives.
    pub to: String,
    /// What went through.
    pub counters: PortCounters,
}

/// Traffic that the lab makes by itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct BackgroundStatus {
    /// Its name.
    pub name: String,
    /// Whether it is on: begun, and not over.
    pub running: bool,
    /// How many flows began.
    pub flows: u64,
    /// Flows that could not begin, because too many others had not ended.
    pub skipped: u64,
    /// Payload of the flows that began.
    pub offered: Bytes,
    /// Payload that arrived.
    pub delivered: Bytes,
    /// What went wrong last, if anything did.
    pub trouble: Option<String>,
}

/// Something that changes at a time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ChangeStatus {
    /// When, counted from when the lab was up.
    pub at: Span,
    /// What.
    pub what: String,
    /// Whether it has happened.
    pub done: bool,
}
