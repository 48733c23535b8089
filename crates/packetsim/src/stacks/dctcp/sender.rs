//! One flow at its sender.

use laxity_interface::{Span, Time};

use super::{DctcpConfig, ack::Ack, board::Board, window::Window};
use crate::{
    flow::{FlowId, HostId},
    packet::PAYLOAD,
    stacks::common::{Coming, Rtt},
};

/// One flow that is sent.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) flow: FlowId,
    pub(super) to: HostId,
    pub(super) stack: u8,
    pub(super) hash: u32,
    pub(super) class: u8,
    /// Whether it waits for its turn.
    pub(super) queued: bool,
    /// When its timer runs out, and when the stack looks at it next.
    pub(super) deadline: u64,
    pub(super) armed: u64,
    /// May send one packet beyond its window.
    probing: bool,
    /// Probes since something arrived.
    probes: u32,
    /// While losses before this segment are repaired, the window does not grow or shrink again.
    repair_until: u32,
    pub(super) board: Board,
    pub(super) window: Window,
    rtt: Rtt,
}

/// What a timer led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fired {
    Probe,
    Timeout,
}

impl Sender {
    pub(super) fn new(
        flow: FlowId,
        to: HostId,
        stack: u8,
        hash: u32,
        (bytes, coming): (u64, Option<Coming>),
        config: &DctcpConfig,
    ) -> Self {
        Self {
            flow,
            to,
            stack,
            hash,
            class: config.class.of(bytes),
            queued: false,
            deadline: u64::MAX,
            armed: u64::MAX,
            probing: false,
            probes: 0,
            repair_until: 0,
            board: Board::new(bytes).with(coming),
            window: Window::new(config),
            rtt: Rtt::new(),
        }
    }

    /// Whether it may send now.
    #[inline]
    pub(super) fn can_send(&self) -> bool {
        let flight = self.board.flight();
        let room = flight == 0 || flight + u64::from(PAYLOAD) <= self.window.bytes();
        self.board.has_work() && (room || self.probing)
    }

    /// The next segment and whether it was sent before.
    #[inline]
    pub(super) fn send(&mut self, now: Time, config: &DctcpConfig, base: Span) -> (u32, bool) {
        self.probing = false;
        self.board.advance(now);
        let sent = self.board.send(now.as_ps());
        // A probe waits for the last packet, the timeout for the oldest.
        if self.deadline == u64::MAX || self.probes < config.probes {
            self.set_deadline(now, config, base);
        }
        sent
    }

    #[inline]
    fn set_deadline(&mut self, now: Time, config: &DctcpConfig, base: Span) {
        if !self.board.is_waiting() {
            self.deadline = u64::MAX;
            return;
        }
        let timeout = self.rtt.timeout(config.min_rto, base);
        let wait = if self.probes < config.probes {
            let delay = if config.ack_every > 1 { config.ack_delay } else { Span::ZERO };
            let probe = self.rtt.probe(base, delay) * (1 << self.probes);
            probe.min(timeout)
        } else {
            timeout
        };
        self.deadline = (now + wait).as_ps();
    }

    /// An acknowledgement.
    #[inline]
    pub(super) fn acknowledge(
        &mut self,
        ack: Ack,
        echo: bool,
        stamp: Time,
        now: Time,
        config: &DctcpConfig,
        base: Span,
    ) {
        self.rtt.sample(now.since(stamp));
        let flight = self.board.flight();
        let reordering = config.by_time.then(|| self.rtt.reordering());
        let progress = self.board.acknowledge(ack, stamp.as_ps(), reordering);
        let (una, next) = self.board.edges();
        let repairing = una < self.repair_until;
        if progress.losses && !repairing {
            self.window.on_loss(next);
            self.repair_until = next;
        }
        let grow = !repairing && !progress.losses;
        self.window.on_ack(progress.bytes, echo, (una, next), flight, grow);
        if progress.bytes > 0 {
            self.probes = 0;
            self.rtt.on_progress();
            self.set_deadline(now, config, base);
        }
    }

    /// The timer ran out.
    pub(super) fn handle_timeout(
        &mut self,
        now: Time,
        config: &DctcpConfig,
        base: Span,
    ) -> Option<Fired> {
        if !self.board.is_waiting() {
            self.deadline = u64::MAX;
            return None;
        }
        let fired = if self.probes < config.probes {
            self.probes += 1;
            self.probing = true;
            // New data says as much as old data sent again, and is of use in any case.
            if self.board.is_all_sent() {
                self.board.send_first_again();
            }
            Fired::Probe
        } else {
            let (_, next) = self.board.edges();
            self.board.lose_all();
            self.window.on_timeout(next);
            self.rtt.on_timeout();
            self.repair_until = next;
            Fired::Timeout
        };
        self.set_deadline(now, config, base);
        Some(fired)
    }
}
