//! One of a connection's two payload lanes: its rate, its pace, its books.

use laxity_interface::{Rate, Span, Time};

use crate::{
    control::{AckSample, Controller, Epoch, Reason},
    ids::JobId,
    path::{Pacer, Rtt, Sampler, Stamp},
    slack::LaneKind,
};

/// Bytes on the way at most, whatever a controller believes: each packet is remembered until its fate
/// is known. 100 Gbit/s over 5 ms fit.
const MAX_IN_FLIGHT: u64 = 64 << 20;
/// How quickly the loss estimate for the end of jobs follows the facts.
const LOSS_GAIN: f64 = 0.25;

#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) kind: LaneKind,
    controller: Box<dyn Controller>,
    /// What the controller says, asked once for every acknowledgement and not for every packet.
    rate: Rate,
    window: u64,
    pub(crate) pacer: Pacer,
    pub(crate) sampler: Sampler,
    pub(crate) in_flight: u64,
    /// A piece that was taken from its job but did not fit the batch.
    pub(crate) stash: Option<(JobId, u32)>,
    /// Smoothed loss rate; only for looking ahead, never for rate control.
    pub(crate) loss_estimate: f64,
    epoch: Counts,
    epoch_ends: Time,
    ack: Gathered,
}

#[derive(Debug, Default)]
struct Counts {
    acked: u64,
    lost: u64,
    marked: u64,
}

/// What one acknowledgement frame settled, until it is complete.
#[derive(Debug, Default)]
struct Gathered {
    bytes: u64,
    packets: u64,
    newest: Option<(Time, Stamp)>,
    lost_bytes: u64,
    lost_packets: u64,
}

/// Facts about the path that an epoch needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EpochView {
    pub(crate) target_loss_rate: f64,
    pub(crate) promised_loss_rate: f64,
    pub(crate) packet: u64,
    pub(crate) min_epoch: Span,
}

impl Lane {
    pub(crate) fn new(kind: LaneKind, controller: Box<dyn Controller>) -> Self {
        Self {
            kind,
            rate: controller.rate(),
            window: controller.window(),
            controller,
            pacer: Pacer::default(),
            sampler: Sampler::default(),
            in_flight: 0,
            stash: None,
            loss_estimate: 0.0,
            epoch: Counts::default(),
            epoch_ends: Time::ZERO,
            ack: Gathered::default(),
        }
    }

    /// Whether the window has room.
    pub(crate) fn has_room(&self) -> bool {
        self.in_flight < self.window()
    }

    /// How many bytes may be on the way at once: what the controller says, within bounds.
    pub(crate) fn window(&self) -> u64 {
        self.window.min(MAX_IN_FLIGHT)
    }

    /// How fast packets leave.
    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// Why the rate is what it is.
    pub(crate) fn reason(&self) -> Reason {
        self.controller.reason()
    }

    /// Another controller takes over.
    pub(crate) fn set_controller(&mut self, controller: Box<dyn Controller>) {
        self.controller = controller;
        self.ask_controller();
    }

    fn ask_controller(&mut self) {
        (self.rate, self.window) = (self.controller.rate(), self.controller.window());
    }

    /// A packet leaves.
    pub(crate) fn sent(&mut self, now: Time, bytes: u64) -> Stamp {
        let stamp = self.sampler.on_sent(now, self.in_flight);
        self.in_flight += bytes;
        stamp
    }

    /// A packet of this lane was acknowledged; `late` ones were counted out before.
    pub(crate) fn acked(&mut self, at: Time, bytes: u64, stamp: Stamp, late: bool) {
        if !late {
            self.in_flight -= bytes;
        }
        self.ack.bytes += bytes;
        self.ack.packets += 1;
        if self.ack.newest.is_none_or(|(newest, _)| newest <= at) {
            self.ack.newest = Some((at, stamp));
        }
    }

    /// A packet of this lane is lost. `counts`: the network is to blame.
    pub(crate) fn lost(&mut self, bytes: u64, counts: bool) {
        self.in_flight -= bytes;
        if counts {
            self.ack.lost_bytes += bytes;
            self.ack.lost_packets += 1;
        }
    }

    /// Packets of this lane in the acknowledgement under way.
    pub(crate) fn acked_packets(&self) -> u64 {
        self.ack.packets
    }

    /// The acknowledgement, which reached this host at `arrived`, is complete: tells the controller.
    pub(crate) fn settle(&mut self, now: Time, arrived: Time, rtt: &Rtt, marked: u64) {
        let ack = std::mem::take(&mut self.ack);
        self.epoch.acked += ack.packets;
        self.epoch.lost += ack.lost_packets;
        self.epoch.marked += marked;
        if ack.lost_packets > 0 {
            self.controller.on_loss(now, ack.lost_bytes, ack.lost_packets);
        }
        if let Some((at, stamp)) = ack.newest {
            let sample = self.sampler.on_delivered(arrived, ack.bytes, stamp, at, rtt.min());
            self.controller.on_ack(
                now,
                &AckSample {
                    bytes: ack.bytes,
                    packets: ack.packets,
                    marked,
                    smoothed_rtt: rtt.smoothed(),
                    min_rtt: rtt.min(),
                    latest_rtt: rtt.path(),
                    host_delay: rtt.hosts(),
                    delivery: sample.map(|sample| sample.rate),
                    app_limited: sample.is_some_and(|sample| sample.app_limited),
                    delivered_at_send: stamp.delivered(),
                    delivered: self.sampler.delivered(),
                    in_flight: self.in_flight,
                },
            );
        }
        self.ask_controller();
    }

    /// Tells the controller what the receiver says about all who send to it.
    pub(crate) fn hear_receiver(&mut self, senders: u64, intake: Option<Rate>) {
        self.controller.on_receiver(senders, intake);
        self.ask_controller();
    }

    /// Ends the epoch if a round trip has passed. `silent`: nothing was heard for too long.
    pub(crate) fn end_epoch(
        &mut self,
        now: Time,
        rtt: Span,
        silent: bool,
        view: EpochView,
    ) -> bool {
        if now < self.epoch_ends && !silent {
            return false;
        }
        let silent = silent && self.in_flight > 0;
        let counts = std::mem::take(&mut self.epoch);
        let known = counts.acked + counts.lost;
        if known > 0 {
            let loss = counts.lost as f64 / known as f64;
            self.loss_estimate += LOSS_GAIN * (loss - self.loss_estimate);
        }
        self.controller.on_epoch(
            now,
            &Epoch {
                acked: counts.acked,
                lost: counts.lost,
                marked: counts.marked,
                silent,
                target_loss_rate: view.target_loss_rate,
                promised_loss_rate: view.promised_loss_rate,
                smoothed_rtt: rtt,
                packet: view.packet,
            },
        );
        self.ask_controller();
        self.epoch_ends = now + rtt.max(view.min_epoch);
        true
    }
}
