//! What `bench compare` and its workers say to each other.

use std::net::{IpAddr, SocketAddr};

use laxity_interface::Layout;
use serde::{Deserialize, Serialize};

/// How bytes travel.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Transport {
    /// Kernel TCP.
    Tcp {
        /// The congestion control, as the kernel calls it.
        control: String,
    },
    /// Laxity.
    Laxity(LaxitySettings),
}

/// How Laxity is used.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct LaxitySettings {
    /// The fraction that has to arrive.
    pub(crate) min_delivery: f64,
    /// Whether a job ends as soon as that is there, or after its first pass.
    pub(crate) enough: bool,
    /// The key; none is insecure.
    pub(crate) key: Option<[u8; 32]>,
    /// The queues of the network's ports.
    pub(crate) layout: Layout,
}

/// How often.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Load {
    /// One transfer.
    Once,
    /// One after the other, until the window ends.
    Stream,
}

/// Be a receiver.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Receive {
    /// Comes back with what was received.
    pub(crate) tag: usize,
    pub(crate) transport: Transport,
    pub(crate) bind: IpAddr,
    pub(crate) load: Load,
    /// How many senders there will be.
    pub(crate) senders: usize,
    /// Bytes of each transfer.
    pub(crate) bytes: u64,
    /// No transfer takes longer.
    pub(crate) limit_ms: u64,
}

/// Be a sender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Send {
    pub(crate) transport: Transport,
    pub(crate) bind: IpAddr,
    pub(crate) to: SocketAddr,
    pub(crate) load: Load,
    pub(crate) bytes: u64,
    pub(crate) limit_ms: u64,
}

/// When a run begins, and for streams what is counted. Nanoseconds of CLOCK_MONOTONIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Window {
    pub(crate) start_ns: u64,
    pub(crate) from_ns: u64,
    pub(crate) until_ns: u64,
}

/// What a worker is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    /// Set this host's kernel up.
    Prepare {
        /// Whether TCP asks for ECN.
        tcp_ecn: bool,
    },
    Receive(Receive),
    Send(Send),
    /// To all tasks of the worker.
    Start(Window),
    /// How far are you?
    Progress,
    /// The run is over: close every socket.
    Close,
}

/// One transfer, as its receiver saw it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Arrival {
    /// When the last byte that was needed was there; for a stream, the window's end.
    pub(crate) at_ns: u64,
    /// Payload bytes that arrived; for a stream, inside the window.
    pub(crate) bytes: u64,
    /// The part of the transfer that arrived.
    pub(crate) delivered: f64,
}

/// What is known at the end of a run, over all tasks of a worker.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Totals {
    /// Segments or pieces sent again.
    pub(crate) repeated: u64,
    /// Processor time of the worker from start to close.
    pub(crate) cpu_s: f64,
    /// Datagrams that the kernel dropped because the worker did not read them in time.
    pub(crate) socket_drops: u64,
}

/// What a worker tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Event {
    Prepared {
        /// Settings that could not be made.
        unset: Vec<String>,
    },
    /// A receiver can be reached.
    Listening {
        address: SocketAddr,
    },
    /// A task is set up.
    Ready,
    /// A receiver has everything.
    Received {
        tag: usize,
        arrivals: Vec<Arrival>,
    },
    Progress {
        complete: u64,
        bytes: u64,
    },
    Closed(Totals),
    Failed {
        why: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_events_survive_the_way() {
        let send = Send {
            transport: Transport::Laxity(LaxitySettings {
                min_delivery: 0.9,
                enough: true,
                key: Some([7; 32]),
                layout: Layout::Slack,
            }),
            bind: "198.18.0.1".parse().unwrap(),
            to: "198.18.0.9:7".parse().unwrap(),
            load: Load::Once,
            bytes: 25_000_000,
            limit_ms: 10,
        };
        let line = serde_json::to_string(&Order::Send(send)).unwrap();
        assert!(!line.contains('\n'));
        let Order::Send(back) = serde_json::from_str(&line).unwrap() else { panic!("{line}") };
        assert!(matches!(back.transport, Transport::Laxity(s) if s.min_delivery == 0.9));
        let line = serde_json::to_string(&Event::Closed(Totals::default())).unwrap();
        assert!(
            matches!(serde_json::from_str(&line).unwrap(), Event::Closed(t) if t.repeated == 0)
        );
    }
}
