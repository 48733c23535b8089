//! Laxity's own controller.
//!
//! The papers' rule compares losses with slack and nothing else, so it needs to know the line rate,
//! finds a fair share slowly and pays for every queue it fills. This one measures what the path really
//! delivers, as BBR does (Cardwell et al., 2017), and uses slack for what it is good for: losses that
//! the jobs can afford do not slow it down. Losses beyond that make it believe its newest measurement
//! instead of its best, but only with evidence that they come from congestion: a queue that shows in
//! the round-trip time, marks, or other senders. Losses without such evidence are the path's own, and
//! slowing down would not make them fewer; the rate is raised to make up for them instead.
//! What is on the way has an upper bound from the first loss to a full queue on ([`share`]): so a TCP
//! beside us keeps its part whatever slack the jobs have.
//! Congestion marks take rate away in proportion, as in DCTCP. Where the receiver says that several
//! senders share its link, nobody has more than a fair part of what it can take on the way, and marks
//! push nobody below that.

#[cfg(test)]
mod crowd_tests;
mod losses;
mod queue;
mod share;

use std::collections::VecDeque;

use laxity_interface::{Rate, Span, Time};

use self::{
    losses::PathLoss,
    queue::{Queue, Trips},
    share::Share,
};
use super::{AckSample, Controller, Epoch, Reason, Start, per_rtt};

/// Doubling per round trip: 2/ln 2.
const STARTUP_GAIN: f64 = 2.885;
/// Empties in one round trip what the startup queued.
const DRAIN_GAIN: f64 = 1.0 / STARTUP_GAIN;
/// One round trip of probing, one of making up for it, six of calm.
const CYCLE: [f64; 8] = [1.25, 0.8, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// A probe has found more if the bandwidth grew by this.
const FOUND: f64 = 1.15;
/// Rounds a delivery rate is remembered.
const MEMORY: u64 = 10;
/// Losses below this say nothing about congestion.
const NOISE: f64 = 0.02;
/// So much loss is taken for congestion without further evidence.
const COLLAPSE: f64 = 0.5;
/// Who doubles its rate and overflows a queue loses at least so many packets, and one of so many. Fewer
/// may be chance.
const OVERSHOOT: (u64, u64) = (4, 16);
/// Acknowledgements come late and in bunches: so much more may be on the way, unless hosts are quick and
/// the path is short.
const SLOP: Span = Span::from_us(300);
/// Round trips that are longer than the shortest for reasons other than our own queue (a busy host)
/// must not bind the window; so much of that is allowed for.
const HOST_DELAY: Span = Span::from_ms(10);
/// Senders to one receiver have so many times on the way what its link holds in a round trip, together.
const CROWD: u64 = 8;
/// What a receiver says makes a sender at most so many times as fast at once.
const TRUST: f64 = 8.0;
/// Rounds that the queue of the startup is given to empty, whatever the bytes on the way say: where the
/// host delays packets they never come down.
const DRAIN_ROUNDS: u64 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Startup,
    Drain,
    Cruise,
}

/// See the module's text.
#[derive(Clone, Debug)]
pub struct Laxity {
    phase: Phase,
    packet: u64,
    line_rate: Option<Rate>,
    /// The rate before anything is measured, and the bytes that may leave until then.
    first: Rate,
    initial: u64,
    /// Best delivery rates by round, best first, newest last.
    best: VecDeque<(u64, f64)>,
    /// Best delivery rates of the present round and of the one before.
    newest: f64,
    before: f64,
    round: u64,
    round_ends: u64,
    /// The delivery rate at which startup last grew, and for how many rounds it has not.
    plateau: (f64, u32),
    min_rtt: Span,
    smoothed_rtt: Span,
    host_delay: Span,
    /// The bandwidth before the latest probe.
    probe_base: f64,
    /// The startup was ended by a loss that may turn out not to be congestion.
    interrupted: bool,
    /// The round in which draining began.
    drain_began: u64,
    cycle: (usize, Time),
    mark_share: f64,
    /// Round trips of the epoch, and what they have told about the queue.
    trips: Trips,
    queue: Queue,
    path_loss: PathLoss,
    senders: u64,
    /// What the receiver gets from all of them.
    intake: Option<Rate>,
    share: Share,
    /// Losses that the acknowledgement under way made known.
    fresh_losses: u64,
    /// Most bytes on the way in this epoch.
    most_in_flight: u64,
    reason: Reason,
}

impl Laxity {
    /// Starts with the initial window per round trip.
    pub fn new(start: &Start) -> Self {
        let first = per_rtt(start.initial_packets * start.packet, start.rtt);
        let first = start.line_rate.map_or(first, |line| first.min(line));
        Self {
            phase: Phase::Startup,
            packet: start.packet,
            line_rate: start.line_rate,
            first,
            initial: start.initial_packets * start.packet,
            best: VecDeque::new(),
            newest: 0.0,
            before: 0.0,
            round: 0,
            round_ends: 0,
            plateau: (0.0, 0),
            min_rtt: start.rtt,
            smoothed_rtt: start.rtt,
            host_delay: Span::ZERO,
            probe_base: f64::INFINITY,
            interrupted: false,
            drain_began: 0,
            cycle: (2, Time::ZERO),
            mark_share: 0.0,
            trips: Trips::default(),
            queue: Queue::new(start.rtt),
            path_loss: PathLoss::default(),
            senders: 1,
            intake: None,
            share: Share::default(),
            fresh_losses: 0,
            most_in_flight: 0,
            reason: Reason::Start,
        }
    }

    /// The bandwidth as believed, bits per second.
    fn bandwidth(&self) -> f64 {
        self.best.front().map_or(self.first.as_bps() as f64, |&(_, rate)| rate)
    }

    fn learn(&mut self, rate: f64) {
        self.newest = self.newest.max(rate);
        while self.best.back().is_some_and(|&(_, old)| old <= rate) {
            self.best.pop_back();
        }
        self.best.push_back((self.round, rate));
        while self.best.front().is_some_and(|&(round, _)| round + MEMORY < self.round) {
            self.best.pop_front();
        }
    }

    fn end_round(&mut self, app_limited: bool) {
        if self.phase == Phase::Startup && !app_limited {
            let (grown, stuck) = self.plateau;
            if self.bandwidth() >= grown * 1.25 {
                self.plateau = (self.bandwidth(), 0);
            } else {
                self.plateau = (grown, stuck + 1);
                if stuck + 1 >= 3 {
                    self.drain();
                }
            }
        }
        (self.before, self.newest) = (self.newest, 0.0);
    }

    fn drain(&mut self) {
        (self.phase, self.drain_began) = (Phase::Drain, self.round);
    }

    fn advance(&mut self, now: Time, in_flight: u64) {
        let drained =
            in_flight <= self.pipe(self.min_rtt) || self.round >= self.drain_began + DRAIN_ROUNDS;
        if self.phase == Phase::Drain && drained {
            self.phase = Phase::Cruise;
            self.cycle = (2, now);
        }
        if self.phase == Phase::Cruise && now.since(self.cycle.1) > self.smoothed_rtt {
            // A probe that found more is followed by another: the path may have much more.
            let found = self.cycle.0 == 1 && self.bandwidth() > self.probe_base * FOUND;
            let next = if found { 0 } else { (self.cycle.0 + 1) % CYCLE.len() };
            if next == 0 {
                self.probe_base = self.bandwidth();
            }
            self.cycle = (next, now);
        }
        self.reason = match self.phase {
            Phase::Startup => Reason::Startup,
            Phase::Drain => Reason::Drain,
            Phase::Cruise if CYCLE[self.cycle.0] > 1.0 => Reason::Probe,
            Phase::Cruise => Reason::Delivery,
        };
    }

    /// How much more than the path holds may be on the way.
    fn slop(&self) -> Span {
        SLOP.min(self.min_rtt.max(self.host_delay * 8))
    }

    /// Bytes the path holds in `span` at the believed bandwidth.
    fn pipe(&self, span: Span) -> u64 {
        Rate::bps(self.bandwidth() as u64).bytes_in(span).get()
    }

    fn gain(&self) -> f64 {
        match self.phase {
            Phase::Startup => STARTUP_GAIN,
            Phase::Drain => DRAIN_GAIN,
            Phase::Cruise => CYCLE[self.cycle.0],
        }
    }

    /// Bytes that the share of a full queue allows on the way: never less than what keeps a path busy
    /// that is ours alone.
    fn share_cap(&self) -> u64 {
        let cap = self.share.cap(self.packet).unwrap_or(u64::MAX);
        cap.max(self.pipe(self.min_rtt + self.host_delay + self.slop() / 2))
    }

    /// Whether it is the share of a full queue that limits what is on the way.
    fn limited(&self, in_flight: u64) -> bool {
        self.share.cap(self.packet).is_some_and(|cap| in_flight + 2 * self.packet >= cap)
    }

    /// What the interface can send, bits per second.
    fn line(&self) -> f64 {
        self.line_rate.map_or(f64::INFINITY, |line| line.as_bps() as f64)
    }

    /// Bytes that this sender may have on the way to a receiver that hears several: all of them
    /// together keep its link busy and do not flood the switch in front of it. It bounds what is on
    /// the way and not the rate, so that whoever a switch prefers is not held back.
    fn fair_window(&self) -> u64 {
        match self.taken() {
            Some(rate) if self.senders > 1 => {
                // What waits in hosts is in nobody's way.
                rate.bytes_in(self.min_rtt * CROWD + self.host_delay).get() / self.senders
            }
            _ => u64::MAX,
        }
    }

    /// What the receiver takes from all senders: its link's rate if links are alike and ours is known,
    /// otherwise what it says that it gets.
    fn taken(&self) -> Option<Rate> {
        self.line_rate.or(self.intake)
    }

    /// What congestion marks leave of a rate: up to a half is taken away, as in DCTCP. But senders to one
    /// receiver all meet the marks that their bursts cause together, and would yield to each other until
    /// its link stands idle; so none goes below an equal part of what the receiver gets from them. Where
    /// that is our line's rate, an old measurement or the end of the startup does not either: it was made
    /// behind the others. What is on the way still follows what was measured.
    fn yield_to_marks(&self, rate: f64) -> f64 {
        let yielding = rate * (1.0 - self.mark_share / 2.0);
        match self.taken() {
            Some(taken) if self.senders > 1 => {
                let equal = taken.as_bps() as f64 / self.senders as f64;
                yielding.max(match self.line_rate {
                    Some(_) => equal,
                    None => rate.min(equal * self.gain()),
                })
            }
            _ => yielding,
        }
    }

    /// How many times what the path holds may be on the way, by its own round trip and by the one seen.
    /// Marks in a crowd, which do not bind the rate there, take the part away that waits in queues.
    fn room(&self) -> (f64, f64) {
        let marks = if self.senders > 1 { self.mark_share } else { 0.0 };
        (2.0 - marks, 1.25 - marks / 4.0)
    }

    /// Of `before` senders some have ended: those who stay may count on an equal part of the receiver's
    /// link, whatever they had while they waited behind it, and the others cause no more marks.
    fn inherit(&mut self, before: u64) {
        self.mark_share *= self.senders as f64 / before as f64;
        if let Some(rate) = self.taken() {
            let equal = rate.as_bps() as f64 / self.senders as f64;
            // A receiver may be wrong, or lie: nobody's word makes a rate explode. Our own line's rate is
            // nobody's word, and who waited long has measured next to nothing.
            let most = match self.line_rate {
                Some(_) => equal,
                None => self.bandwidth() * TRUST,
            };
            self.learn(equal.min(most).max(self.bandwidth()));
        }
    }
}

impl Controller for Laxity {
    fn on_ack(&mut self, now: Time, ack: &AckSample) {
        (self.min_rtt, self.smoothed_rtt) = (ack.min_rtt, ack.smoothed_rtt);
        self.host_delay = ack.host_delay.min(HOST_DELAY);
        let losses = std::mem::take(&mut self.fresh_losses) > 0;
        self.trips.note(ack.latest_rtt, losses);
        self.most_in_flight = self.most_in_flight.max(ack.in_flight + ack.bytes);
        if self.limited(ack.in_flight + ack.bytes) {
            self.share.on_ack(now, ack.packets, ack.smoothed_rtt);
        }
        if let Some(rate) = ack.delivery {
            let rate = rate.as_bps() as f64;
            // What an idle application did not ask for says nothing about the path, unless it is more.
            if !ack.app_limited || rate > self.bandwidth() {
                self.learn(rate);
            }
        }
        if ack.delivered_at_send >= self.round_ends {
            self.round += 1;
            self.round_ends = ack.delivered;
            self.end_round(ack.app_limited);
        }
        self.advance(now, ack.in_flight);
    }

    fn on_loss(&mut self, _: Time, _: u64, packets: u64) {
        self.fresh_losses += packets;
    }

    fn on_receiver(&mut self, senders: u64, intake: Option<Rate>) {
        // To a last sender the receiver says nothing more: what it said before is what it can take.
        self.intake = intake.or(self.intake);
        let before = std::mem::replace(&mut self.senders, senders.max(1));
        if self.senders < before {
            self.inherit(before);
        }
    }

    fn on_epoch(&mut self, now: Time, epoch: &Epoch) {
        if epoch.acked > 0 {
            let share = epoch.marked as f64 / epoch.acked as f64;
            self.mark_share += (share.min(1.0) - self.mark_share) / 16.0;
            if self.phase == Phase::Startup && share > 0.5 {
                self.drain();
            }
        }
        let trips = std::mem::take(&mut self.trips);
        self.queue.set_path(self.min_rtt, self.host_delay);
        let queued = trips.queued(&self.queue);
        let in_flight = std::mem::take(&mut self.most_in_flight);
        self.share.on_epoch(queued, self.limited(in_flight));
        let known = epoch.acked + epoch.lost;
        let (regrets, explains) =
            (self.path_loss.regrets(epoch.lost, known), self.path_loss.explains());
        if (regrets || explains) && self.senders == 1 {
            if explains {
                self.share.clear();
            } else {
                self.share.undo();
            }
            if std::mem::take(&mut self.interrupted) {
                (self.phase, self.plateau) = (Phase::Startup, (self.bandwidth(), 0));
            }
        }
        let overshot = epoch.lost >= OVERSHOOT.0 && epoch.lost * OVERSHOOT.1 > known;
        let suspicious = self.path_loss.exceeded(epoch.lost, known)
            && (overshot || self.phase != Phase::Startup);
        if suspicious && self.queue.overflows(&trips, epoch.lost) {
            if self.path_loss.on_cut(epoch.lost, known) {
                self.share.remember();
                self.interrupted = false;
            }
            self.share.on_congestion(now, in_flight, self.packet);
            if self.phase == Phase::Startup {
                self.interrupted = true;
                self.drain();
            }
        }
        let Some(loss) = epoch.loss_rate(false) else { return };
        if known < 8 {
            return;
        }
        let congested = queued || epoch.marked > 0 || self.senders > 1 || loss > COLLAPSE;
        if congested {
            self.path_loss.doubt();
        } else {
            self.path_loss.learn(loss);
        }
        let own = loss - self.path_loss.rate();
        let packets = known as f64;
        let affordable = epoch.target_loss_rate.max(NOISE) * packets;
        // Few packets lose a large part of themselves by chance: two standard deviations and two.
        if !congested || own * packets <= affordable + 2.0 * affordable.sqrt() + 2.0 {
            return;
        }
        self.reason = Reason::BeyondSlack { loss, target: epoch.target_loss_rate };
        if self.phase == Phase::Startup {
            self.drain();
        }
        // Believe what the path delivers now rather than what it once did, and a little less.
        let newest = self.newest.max(self.before);
        let newest = if newest > 0.0 { newest } else { self.bandwidth() * 0.5 };
        let lower = newest.min(self.bandwidth()) * (1.0 - own / 4.0).max(0.85);
        let minimum = per_rtt(self.packet, epoch.smoothed_rtt).as_bps() as f64;
        self.best.clear();
        self.best.push_back((self.round, lower.max(minimum)));
    }

    fn rate(&self) -> Rate {
        let rate = self.yield_to_marks(self.bandwidth() * self.gain())
            / (1.0 - self.path_loss.rate().min(COLLAPSE));
        let minimum = per_rtt(self.packet, self.min_rtt.max(Span::from_us(10))).as_bps();
        Rate::bps((rate.min(self.line()) as u64).max(minimum.min(1_000_000)))
    }

    fn window(&self) -> u64 {
        // Twice what the path holds; while doubling as much as doubling needs.
        let (ideal, real) = match self.phase {
            Phase::Startup => (STARTUP_GAIN, STARTUP_GAIN),
            Phase::Drain | Phase::Cruise => self.room(),
        };
        // What waits in hosts is in nobody's way, and must not bind the rate.
        let span = (self.min_rtt + self.host_delay).mul_f64(ideal) + self.slop();
        let observed = self.smoothed_rtt.mul_f64(real).min(span + HOST_DELAY);
        let window = self.pipe(span.max(observed));
        let window = if self.best.is_empty() { window.min(self.initial) } else { window };
        window.min(self.share_cap()).min(self.fair_window()).max(10 * self.packet)
    }

    fn reason(&self) -> Reason {
        if self.fair_window() < self.pipe(self.min_rtt) {
            Reason::Shared { senders: self.senders }
        } else if self.share_cap() < self.pipe(self.smoothed_rtt) {
            Reason::FullQueue
        } else {
            self.reason
        }
    }
}
