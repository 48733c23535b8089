//! What acknowledgements and silence say about packets that were sent.

use laxity_interface::{Rate, Span, Time};
use smallvec::SmallVec;

use super::{Connection, Shared, lane::EpochView};
use crate::{
    config::{ClassRule, Config},
    path::{Content, Control, Sent, Verdict, intake_rate},
    slack::{Class, LaneKind, promised_loss_rate, target_loss_rate},
    wire::Ack,
};

/// Round trips after which a packet is given up that only those of queues served first overtook: they may
/// never empty theirs. [`Class::patience`] says when its job leaves the queue.
const GIVEN_UP: u64 = 64;

impl Connection {
    pub(super) fn handle_ack(&mut self, now: Time, ack: &Ack, shared: &mut Shared) {
        let Some(&(_, largest)) = ack.ranges.first() else { return };
        if !self.sent.is_plausible(largest) {
            // Acknowledges what was never sent: not worth believing in any part.
            shared.stats.acks_refused += 1;
            return;
        }
        self.peer_senders = ack.active_senders.max(1);
        // Who is left as the last sender is told nothing more.
        self.peer_intake = intake_rate(ack.intake).or(self.peer_intake);
        let (newest, acked) = self.settle_acked(ack, shared);
        if acked {
            (self.probes, self.probed) = (0, now);
        }
        // Only the newest packet is acknowledged without delay by others that came after it; what an
        // older acknowledgement should have said measures its loss, not the path.
        if let Some((Verdict::Acked, sent_at)) = newest.filter(|_| largest >= self.timed) {
            let held = Span::from_us(ack.delay_us);
            self.rtt.sample_path(now, self.arrived.since(sent_at), held);
            self.rtt.sample(now.since(sent_at), held.min(shared.config.max_ack_delay * 4));
            self.timed = largest + 1;
        }
        let marks = ack.ce.saturating_sub(self.marks_seen);
        self.marks_seen = self.marks_seen.max(ack.ce);
        shared.stats.packets_marked += marks;
        self.find_losses(now, shared);
        self.end_ack(now, marks, false, shared);
        let memory = (self.rtt.smoothed() * 4).max(Span::from_ms(10));
        self.sent.forget(now, memory);
    }

    /// Takes the packets off the books that an acknowledgement is the first to name. Returns what became
    /// of the newest of them and when it left, and whether any was not thought lost.
    fn settle_acked(&mut self, ack: &Ack, shared: &mut Shared) -> (Option<(Verdict, Time)>, bool) {
        let (mut newest, mut acked) = (None, false);
        let mut controls: SmallVec<[(Control, u64); 4]> = SmallVec::new();
        for &(first, last) in ack.ranges.iter().rev() {
            self.sent.ack_range(first, last, |verdict, sent| {
                let late = verdict == Verdict::LateAcked;
                shared.stats.packets_late += u64::from(late);
                acked |= !late;
                newest = Some((verdict, sent.at));
                if let Some(lane) = sent.lane {
                    let lane = &mut self.lanes[lane as usize];
                    lane.acked(sent.at, u64::from(sent.bytes), sent.stamp, late);
                }
                for content in &sent.contents {
                    match *content {
                        Content::Piece(job, piece) => {
                            if let Some(job) = self.sends.get_mut(&job) {
                                job.acked(piece);
                            }
                        }
                        Content::Control(control) => controls.push((control, sent.number)),
                    }
                }
            });
        }
        for (control, number) in controls {
            self.confirmed(control, number, shared);
        }
        (newest, acked)
    }

    /// A control frame is known to have arrived, in packet `number`.
    fn confirmed(&mut self, control: Control, number: u64, shared: &mut Shared) {
        match control {
            Control::Open(job) => {
                if let Some(job) = self.sends.get_mut(&job) {
                    job.introduced = true;
                    job.known_from.get_or_insert(number);
                }
            }
            Control::Final(job, space, from) => {
                if let Some(found) = self.recvs.get_mut(&job) {
                    found.parts.insert((space, from), true);
                    if found.parts.values().all(|confirmed| *confirmed) {
                        self.forget_recv(job, shared);
                    }
                }
            }
            Control::ResetReceived(job) => drop(self.resets.remove(&(job, true))),
            Control::ResetSent(job) => drop(self.resets.remove(&(job, false))),
            Control::Window(_)
            | Control::Probe(_)
            | Control::Status(_)
            | Control::Hold(_)
            | Control::Go(_)
            | Control::Ping => {}
        }
    }

    /// Looks for packets that later ones overtook.
    pub(super) fn find_losses(&mut self, now: Time, shared: &mut Shared) {
        let mut lost = std::mem::take(&mut self.lost);
        let (delay, patience) = (self.rtt.loss_delay(), self.rtt.smoothed() * GIVEN_UP);
        // Those of a job that others go before are late, not lost.
        let taken = self.taken(&shared.config);
        let turns = self.sends.values().map(|job| job.longest_turn(taken, patience));
        let patience = turns.max().unwrap_or(patience);
        let note = |sent: &Sent| lost.push(sent.clone());
        let outlook = self.sent.detect(now, delay, patience, note);
        self.loss_due = outlook.due;
        if outlook.doubt {
            self.queue(Control::Ping);
        }
        for sent in lost.drain(..) {
            self.settle_lost(&sent, shared);
        }
        self.lost = lost;
    }

    pub(super) fn settle_lost(&mut self, sent: &Sent, shared: &mut Shared) {
        shared.stats.packets_lost += 1;
        let mut counts = true;
        for content in &sent.contents {
            match *content {
                Content::Piece(job, piece) => {
                    if let Some(job) = self.sends.get_mut(&job) {
                        counts &= job.lost(piece, sent.number, sent.at);
                    }
                }
                Content::Control(control) => self.repeat(control),
            }
        }
        if let Some(lane) = sent.lane {
            self.lanes[lane as usize].lost(u64::from(sent.bytes), counts);
        }
    }

    /// Sends a control frame again if it still means something.
    fn repeat(&mut self, control: Control) {
        let wanted = match control {
            Control::Open(job) => self.sends.get(&job).is_some_and(|job| !job.introduced),
            Control::Window(job) | Control::Probe(job) => self.sends.contains_key(&job),
            Control::Final(job, ..) => self.recvs.get(&job).is_some_and(|job| job.ended.is_some()),
            Control::Status(job) => self.recvs.get(&job).is_some_and(|job| job.ended.is_none()),
            Control::Hold(job) => self.holding.contains(&job),
            Control::Go(job) => self.recvs.contains_key(&job),
            Control::ResetSent(job) => self.resets.contains_key(&(job, false)),
            Control::ResetReceived(job) => self.resets.contains_key(&(job, true)),
            Control::Ping => false,
        };
        if wanted {
            self.queue(control);
        }
    }

    /// Tells the lanes that an acknowledgement (or a silence) is complete, and ends epochs.
    pub(super) fn end_ack(&mut self, now: Time, marks: u64, silent: bool, shared: &Shared) {
        let acked: u64 = self.lanes.iter().map(|lane| lane.acked_packets()).sum();
        let mut epoch_ended = false;
        for at in 0..self.lanes.len() {
            let own = self.lanes[at].acked_packets();
            // The receiver counts marks per connection: share them out by packets.
            let marked = if acked == 0 { 0 } else { (marks * own).div_ceil(acked) };
            let (target_loss_rate, promised_loss_rate) = self.lane_targets(self.lanes[at].kind);
            let view = EpochView {
                target_loss_rate,
                promised_loss_rate,
                packet: self.open.as_ref().map_or(1, |open| open.max_datagram as u64),
                min_epoch: shared.config.min_epoch,
            };
            let rtt = self.rtt.smoothed();
            let lane = &mut self.lanes[at];
            lane.settle(now, self.arrived, &self.rtt, marked);
            lane.hear_receiver(self.peer_senders, self.peer_intake);
            epoch_ended |= lane.end_epoch(now, rtt, silent, view);
            lane.pacer.follow(now, lane.rate());
        }
        if epoch_ended {
            self.classify(now, &shared.config);
        }
        let estimates = [self.lanes[0].loss_estimate, self.lanes[1].loss_estimate];
        for job in self.sends.values_mut() {
            job.look_ahead(estimates);
        }
    }

    /// What the receiver takes from all who send to it, as far as that is known.
    fn taken(&self, config: &Config) -> Option<Rate> {
        config.line_rate.or(self.peer_intake)
    }

    /// What a lane's jobs may lose now, and what they could when they began.
    fn lane_targets(&self, kind: LaneKind) -> (f64, f64) {
        let budgets = || self.sends.values().flat_map(|job| job.slack_budgets());
        match kind {
            LaneKind::Exact => (0.0, 0.0),
            LaneKind::Slack => (target_loss_rate(budgets()), promised_loss_rate(budgets())),
        }
    }

    /// Moves jobs between classes of the network as their slack moves, or what is left of them.
    pub(super) fn classify(&mut self, now: Time, config: &Config) {
        let (rtt, rule) = (self.rtt.smoothed(), config.class_rule);
        let (senders, taken) = (self.peer_senders, self.taken(config));
        for job in self.sends.values_mut() {
            let slack = Class::of(job.target_loss_rate());
            let first = *job.first_class.get_or_insert(slack);
            (job.class, job.place) = match rule {
                ClassRule::Ordinary => (Class::EXACT, 0.0),
                ClassRule::Dynamic => (slack, 0.0),
                ClassRule::First => (first, 0.0),
                ClassRule::Remaining => {
                    let left = job.needed_bytes();
                    let class = Class::of_remaining(left, job.dice);
                    job.note_senders(senders);
                    let patience = job.turn(taken, rtt * class.patience());
                    match job.is_starving(now, patience) {
                        true => (Class::EXACT, 0.0),
                        false => (class, left as f64 / job.weight),
                    }
                }
            };
        }
    }
}
