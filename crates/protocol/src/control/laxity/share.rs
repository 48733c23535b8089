//! How much of a shared queue to claim.
//!
//! A queue that somebody else keeps full cannot be emptied by yielding to it, and who does not yield
//! at all pushes the others out. So from the first loss that comes with a queue, what is on the way
//! is capped like the window of a CUBIC flow (RFC 9438): three tenths less at such a loss, then growth
//! as a TCP in our place would grow. On a path without such losses there is no cap.

use laxity_interface::{Span, Time};

/// What remains of the cap after a loss to congestion.
const BETA: f64 = 0.7;
/// Steepness of the cubic, packets per second³.
const C: f64 = 0.4;
/// Packets per round trip that make up for [`BETA`] in Reno's terms (RFC 9438 §4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Epochs without a queue after which nobody else can be there: the cap then opens quickly.
const ALONE: u32 = 16;
/// One with a queue, which may be our own or a busy host, takes away so many of them.
const DOUBT: u32 = 4;
/// By so much per such epoch.
const OPENING: f64 = 1.25;

/// The cap.
#[derive(Clone, Debug, Default)]
pub(super) struct Share {
    cut: Option<Cut>,
    saved: Option<Cut>,
    /// Epochs in which no queue was seen, less [`DOUBT`] for each with one.
    calm: u32,
}

/// The latest loss to congestion and what followed. In packets.
#[derive(Clone, Copy, Debug)]
struct Cut {
    at: Time,
    /// Where the cubic has its plateau.
    peak: f64,
    cap: f64,
    /// What Reno would have reached.
    reno: f64,
}

impl Share {
    /// Bytes that may be on the way; none while nothing was lost to congestion.
    pub(super) fn cap(&self, packet: u64) -> Option<u64> {
        self.cut.map(|cut| (cut.cap * packet as f64) as u64)
    }

    /// What is about to happen may have to be taken back.
    pub(super) fn remember(&mut self) {
        self.saved = self.cut;
    }

    /// Packets were lost to a full queue while `in_flight` bytes were on the way.
    pub(super) fn on_congestion(&mut self, now: Time, in_flight: u64, packet: u64) {
        let had = in_flight as f64 / packet as f64;
        let before = self.cut.map_or(had, |cut| cut.cap.min(had));
        // Who loses below its last peak gives up some of it, so that newcomers find room.
        let falling = self.cut.is_some_and(|cut| before < cut.peak);
        let peak = if falling { before * (1.0 + BETA) / 2.0 } else { before };
        let cap = (before * BETA).max(2.0);
        self.cut = Some(Cut { at: now, peak, cap, reno: cap });
        self.calm = 0;
    }

    /// What was lost since [`remember`](Self::remember) was not lost to congestion after all.
    pub(super) fn undo(&mut self) {
        self.cut = self.saved;
    }

    /// Nothing was ever lost to congestion.
    pub(super) fn clear(&mut self) {
        (self.cut, self.saved) = (None, None);
    }

    /// Packets arrived while the cap was what held more back.
    pub(super) fn on_ack(&mut self, now: Time, packets: u64, rtt: Span) {
        let Some(cut) = &mut self.cut else { return };
        let packets = packets as f64;
        let since = (now.since(cut.at) + rtt).as_secs_f64();
        let k = (cut.peak * (1.0 - BETA) / C).cbrt();
        let cubic = C * (since - k).powi(3) + cut.peak;
        cut.reno += ALPHA * packets / cut.cap;
        let target = cubic.max(cut.reno).min(cut.cap * 1.5);
        cut.cap += ((target - cut.cap) / cut.cap * packets).max(0.0);
    }

    /// An epoch is over; `limited`: the cap held something back.
    pub(super) fn on_epoch(&mut self, queued: bool, limited: bool) {
        self.calm =
            if queued { self.calm.saturating_sub(DOUBT) } else { (self.calm + 1).min(2 * ALONE) };
        if let Some(cut) = &mut self.cut
            && self.calm > ALONE
            && !queued
            && limited
        {
            cut.cap *= OPENING;
        }
    }
}
