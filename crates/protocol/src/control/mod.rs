//! Rate control. The papers' form and better ones sit side by side behind one trait.
//!
//! A lane feeds its controller with what happened to its packets and asks for two numbers: how fast,
//! and how much at most on the way. Nothing here knows about jobs; slack comes in as the target loss
//! rate of the epoch.

mod assigned;
mod dctcp;
mod laxity;
mod slack;

use std::fmt;

use laxity_interface::{Rate, Span, Time};

pub use assigned::Assigned;
pub use dctcp::Dctcp;
pub use laxity::Laxity;
pub use slack::{Slack, TargetRule};

/// What an acknowledgement told about one lane.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Bytes it acknowledged.
    pub bytes: u64,
    /// Packets it acknowledged.
    pub packets: u64,
    /// How many of those met congestion (ECN CE).
    pub marked: u64,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Span,
    /// Smallest round-trip time seen lately.
    pub min_rtt: Span,
    /// Latest round-trip time of the path.
    pub latest_rtt: Span,
    /// What busy hosts usually add to it until an acknowledgement is looked at.
    pub host_delay: Span,
    /// How fast the network delivered, if this acknowledgement allows to say.
    pub delivery: Option<Rate>,
    /// The application and not the network limited that.
    pub app_limited: bool,
    /// Bytes the lane had delivered when the newest acknowledged packet left.
    pub delivered_at_send: u64,
    /// Bytes the lane has delivered now.
    pub delivered: u64,
    /// Bytes still on the way.
    pub in_flight: u64,
}

/// One round trip's worth of a lane's packets.
#[derive(Clone, Copy, Debug)]
pub struct Epoch {
    /// Packets of which it became known that they arrived.
    pub acked: u64,
    /// Packets of which it became known that they were lost.
    pub lost: u64,
    /// Arrived packets that met congestion.
    pub marked: u64,
    /// Nothing was heard although packets were out for longer than a round trip.
    pub silent: bool,
    /// What the lane's jobs can still afford to lose (equation 1).
    pub target_loss_rate: f64,
    /// What the jobs under way could lose when they began: 1 − d.
    pub promised_loss_rate: f64,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Span,
    /// A full packet.
    pub packet: u64,
}

impl Epoch {
    /// LR of the epoch: never smoothed, since a smoothed loss rate never returns to a target of 0.
    /// `None` if nothing is known.
    pub fn loss_rate(&self, marks_count: bool) -> Option<f64> {
        let known = self.acked + self.lost;
        if known == 0 {
            return self.silent.then_some(1.0);
        }
        let bad = self.lost + if marks_count { self.marked.min(self.acked) } else { 0 };
        Some(bad as f64 / known as f64)
    }
}

/// Why the rate is what it is.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// Nothing is known about the path yet.
    Start,
    /// Looking for the bandwidth by doubling.
    Startup,
    /// The queue built while doubling is given time to empty.
    Drain,
    /// Following the measured delivery rate.
    Delivery,
    /// Trying whether there is more.
    Probe,
    /// Losses stay within the slack: faster.
    WithinSlack {
        /// Loss rate of the epoch.
        loss: f64,
        /// What could be afforded.
        target: f64,
    },
    /// Losses exceed the slack: slower.
    BeyondSlack {
        /// Loss rate of the epoch.
        loss: f64,
        /// What could be afforded.
        target: f64,
    },
    /// Congestion marks: slower.
    Marks {
        /// Share of marked packets, smoothed.
        share: f64,
    },
    /// Loss: slower.
    Loss,
    /// Window grows.
    Window,
    /// A queue was full: as much as a TCP in our place would put into it.
    FullQueue,
    /// Several senders share the receiver's link.
    Shared {
        /// How many.
        senders: u64,
    },
    /// At the lower bound, so that the network is still felt.
    Minimum,
    /// The cluster controller said so.
    Assigned,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("nothing is known about the path yet"),
            Self::Startup => f.write_str("doubling until the path is full"),
            Self::Drain => f.write_str("letting the queue empty that the start built"),
            Self::Delivery => f.write_str("following the measured delivery rate"),
            Self::Probe => f.write_str("trying whether the path has more"),
            Self::WithinSlack { loss, target } => {
                write!(f, "losing {:.2} % of an affordable {:.2} %", loss * 100.0, target * 100.0)
            }
            Self::BeyondSlack { loss, target } => {
                write!(f, "losing {:.2} %, affordable {:.2} %", loss * 100.0, target * 100.0)
            }
            Self::Marks { share } => write!(f, "{:.1} % congestion marks", share * 100.0),
            Self::Loss => f.write_str("packets were lost"),
            Self::Window => f.write_str("window grows with each acknowledgement"),
            Self::FullQueue => f.write_str("sharing a full queue as a TCP would"),
            Self::Shared { senders } => write!(f, "{senders} senders share the receiver's link"),
            Self::Minimum => f.write_str("at the minimum that still feels the network"),
            Self::Assigned => f.write_str("assigned by the controller"),
        }
    }
}

/// A rate controller of one lane.
pub trait Controller: fmt::Debug + Send {
    /// Packets were acknowledged.
    fn on_ack(&mut self, now: Time, ack: &AckSample);

    /// Packets were found lost.
    fn on_loss(&mut self, now: Time, bytes: u64, packets: u64);

    /// How many senders the receiver hears, this one included, and what it gets from all of them
    /// together, if that is known. Told with every acknowledgement: while packets wait behind those of
    /// others, an epoch is long.
    fn on_receiver(&mut self, senders: u64, intake: Option<Rate>) {
        let _ = (senders, intake);
    }

    /// A round trip is over.
    fn on_epoch(&mut self, now: Time, epoch: &Epoch);

    /// How fast to send.
    fn rate(&self) -> Rate;

    /// How many bytes may be on the way at once.
    fn window(&self) -> u64;

    /// Why.
    fn reason(&self) -> Reason;
}

/// The controllers by name, with what each needs to know.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum ControllerKind {
    /// Ours: follows the delivery rate, ignores losses the slack covers, yields to marks and queues.
    Laxity,
    /// The paper's, equations 1 to 3: compares losses with the dynamic target loss rate.
    Slack {
        /// Reaction speed m.
        reaction: f64,
        /// Count a congestion mark as a loss (for networks without slack queues).
        marks_count: bool,
    },
    /// The paper's strawman: the target is 1 − d for ever.
    FixedTlr {
        /// Reaction speed m.
        reaction: f64,
    },
    /// A window that follows congestion marks, and halves on loss.
    Dctcp,
    /// A fixed rate, to be changed from outside.
    Assigned(Rate),
}

impl ControllerKind {
    /// The paper's controller with its usual reaction speed.
    pub const SLACK: Self = Self::Slack { reaction: 1.0 / 16.0, marks_count: false };

    /// Makes one.
    pub fn build(self, start: &Start) -> Box<dyn Controller> {
        match self {
            Self::Laxity => Box::new(Laxity::new(start)),
            Self::Slack { reaction, marks_count } => {
                Box::new(Slack::new(start, reaction, marks_count, TargetRule::Dynamic))
            }
            Self::FixedTlr { reaction } => {
                Box::new(Slack::new(start, reaction, false, TargetRule::First))
            }
            Self::Dctcp => Box::new(Dctcp::new(start)),
            Self::Assigned(rate) => Box::new(Assigned::new(rate)),
        }
    }
}

/// What a controller knows when it starts.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// The interface's speed, if known.
    pub line_rate: Option<Rate>,
    /// A full packet.
    pub packet: u64,
    /// Round-trip time of the handshake.
    pub rtt: Span,
    /// Packets that may leave before anything is known.
    pub initial_packets: u64,
    /// The first rate of the papers' controllers, if it was set.
    pub slack_start: Option<Rate>,
}

/// The rate at which `bytes` leave in one `rtt`.
pub(crate) fn per_rtt(bytes: u64, rtt: Span) -> Rate {
    let seconds = rtt.as_secs_f64().max(1e-9);
    Rate::bps((bytes as f64 * 8.0 / seconds) as u64)
}
