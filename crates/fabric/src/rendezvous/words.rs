//! What ranks and the store say to each other.

use std::net::SocketAddr;

use laxity_interface::Span;
use serde::{Deserialize, Serialize};

use super::{
    identity::{Member, Roster},
    settings::Transport,
};

/// What a client asks. A client asks one thing at a time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Puts a value.
    Set { key: String, value: Vec<u8> },
    /// Reads a value, if it is there.
    Get { key: String },
    /// Waits until all of these are there, then reads them.
    Wait { keys: Vec<String>, patience: Span },
    /// Adds to a number and reads the sum. A number that is not there is 0.
    Add { key: String, by: i64 },
    /// Waits until all ranks are at this place.
    Barrier { name: String, patience: Span },
    /// Takes a rank.
    Register { rank: u32, world: u32, member: Member, transport: Transport },
    /// Waits until all ranks have registered.
    Roster { patience: Span },
    /// Wants to hear who is lost, from now on.
    Watch,
    /// A registered rank goes in peace.
    Leave,
}

/// What the store answers, or says unasked to those who watch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// Done.
    Done,
    /// A value, if there is one.
    Value(Option<Vec<u8>>),
    /// Values in the order asked.
    Values(Vec<Vec<u8>>),
    /// The sum.
    Sum(i64),
    /// All ranks.
    Roster(Roster),
    /// The time was up and these keys were not there.
    MissingKeys(Vec<String>),
    /// The time was up and these ranks were not there; where the others are, a few of them; and why
    /// some were turned away.
    MissingRanks {
        missing: Vec<u32>,
        world: u32,
        present: Vec<(u32, SocketAddr)>,
        refused: Vec<String>,
    },
    /// No, and why.
    Refused(String),
    /// A rank is gone.
    Gone { rank: u32, left: bool, reason: String },
}

impl Request {
    pub(crate) fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("plain data")
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

impl Reply {
    pub(crate) fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("plain data")
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}
