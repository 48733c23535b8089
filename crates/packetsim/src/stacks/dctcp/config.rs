//! What can be chosen about DCTCP.

use laxity_interface::{Bytes, Span};

use crate::stacks::approx::Approx;

/// DCTCP's parameters. [`strong`](Self::strong) is what a careful operator runs today,
/// [`plain`](Self::plain) what papers compare with.
#[derive(Debug, Clone, PartialEq)]
pub struct DctcpConfig {
    /// Window of a new flow, in packets.
    pub initial_window: u32,
    /// The smallest window after a mark, in packets.
    pub min_window: u32,
    /// The gain g of the moving average of marks.
    pub gain: f64,
    /// The shortest timeout of last resort; it doubles each time.
    pub min_rto: Span,
    /// Probes that are sent before a timeout of last resort (RFC 8985, §7, sends one; outside of
    /// recovery only, we also send it inside).
    pub probes: u32,
    /// Whether a packet counts as lost once one that was sent a quarter of a round trip later is
    /// acknowledged (RFC 8985, §6). Without, a packet that was sent again and lost again waits for
    /// the timeout.
    pub by_time: bool,
    /// Packets per acknowledgement: 1, or 2 with DCTCP's rule for changes of the mark (RFC 8257,
    /// §3.2).
    pub ack_every: u32,
    /// How long an acknowledgement waits for a second packet.
    pub ack_delay: Span,
    /// Which queue data goes to. Acknowledgements go to queue 0.
    pub class: Classes,
    /// Whether a flow ends as soon as its minimum has arrived: the receiver stops the sender.
    pub stop_when_enough: bool,
    /// Whether only as many messages are sent as have to arrive, spread evenly over the flow.
    pub sample: bool,
}

/// How flows get their queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Classes {
    /// All the same.
    Same(u8),
    /// By size: the first threshold that is not below the flow's bytes counts, and its position is
    /// the class; larger flows come behind all thresholds.
    BySize(Vec<Bytes>),
}

impl Classes {
    pub(super) fn of(&self, bytes: u64) -> u8 {
        match self {
            Self::Same(class) => *class,
            Self::BySize(limits) => limits.partition_point(|limit| limit.get() < bytes) as u8,
        }
    }
}

impl DctcpConfig {
    /// Selective acknowledgements, losses by time, tail-loss probes, timeouts from 1 ms.
    pub fn strong() -> Self {
        Self {
            initial_window: 10,
            min_window: 1,
            gain: 1.0 / 16.0,
            min_rto: Span::from_ms(1),
            probes: 2,
            by_time: true,
            ack_every: 1,
            ack_delay: Span::from_us(40),
            class: Classes::Same(0),
            stop_when_enough: false,
            sample: false,
        }
    }

    /// What is sent of a flow.
    pub(super) fn approx(&self) -> Approx {
        match (self.sample, self.stop_when_enough) {
            (true, _) => Approx::SampleSend,
            (false, true) => Approx::EarlySend,
            (false, false) => Approx::Whole,
        }
    }

    /// The same over what `approx` leaves of flows.
    #[must_use]
    pub fn with_approx(mut self, approx: Approx) -> Self {
        self.stop_when_enough = approx == Approx::EarlySend;
        self.sample = approx == Approx::SampleSend;
        self
    }

    /// Selective acknowledgements and three duplicates, no probes, timeouts from 10 ms: the baseline
    /// of most papers.
    pub fn plain() -> Self {
        Self {
            min_window: 2,
            min_rto: Span::from_ms(10),
            probes: 0,
            by_time: false,
            ..Self::strong()
        }
    }
}

impl Default for DctcpConfig {
    fn default() -> Self {
        Self::strong()
    }
}
