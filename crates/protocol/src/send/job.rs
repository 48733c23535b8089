//! One job on its way out.

use laxity_interface::{Bytes, Finish, GroupId, Rate, Span, Time};
use smallvec::SmallVec;

use super::{
    Pool, SendRequest, SendRequestError,
    cut::{check, cut},
    last_word::Stopped,
};
use crate::{
    error::Progress,
    ids::JobId,
    slack::{Budget, Class, LaneKind, target_loss_rate},
    wire::{Counts, Frame, GroupOpen, JobKind, JobOpen, varint},
};

/// Others may go before a job for at most so many times as long as one waits without any.
const LONGEST_TURN: u64 = 64;

/// A job being sent.
#[derive(Debug)]
pub(crate) struct SendJob {
    pub(crate) id: JobId,
    pub(crate) open: JobOpen,
    /// The receiver confirmed the introduction.
    pub(crate) introduced: bool,
    /// The packet of the first introduction that is known to have arrived.
    pub(crate) known_from: Option<u64>,
    /// The receiver asked to wait.
    held: bool,
    /// The receiver made room: an older request to wait that comes late means nothing any more.
    released: Option<Time>,
    pub(crate) priority: u32,
    pub(crate) weight: f64,
    /// Bytes sent over weight: who has had less goes first among equals.
    pub(crate) served: f64,
    pub(crate) budgets: Vec<Budget>,
    pub(crate) lanes: Vec<LaneKind>,
    pub(crate) pool: Pool,
    /// Losses to be expected at the end, per group.
    expected: Vec<u64>,
    /// The loss rate of the path, as far as it is known.
    loss_rate: f64,
    /// It sends no more than it needs.
    pub(crate) only_enough: bool,
    /// More messages may be added.
    pub(crate) window_open: bool,
    /// Bytes that were announced and have not come, where the counts are final from the start.
    announced: Option<u64>,
    pub(crate) started: Time,
    pub(crate) deadline: Option<Time>,
    pub(crate) limit: Option<Time>,
    pub(crate) class: Class,
    /// Bytes left to deliver over weight, where the least goes first.
    pub(crate) place: f64,
    /// Drawn once, so that equals do not all choose the same class.
    pub(crate) dice: u32,
    pub(crate) first_class: Option<Class>,
    /// How often the introduction was repeated.
    pub(crate) introductions: u64,
    /// The probe that is out, if everything was sent.
    pub(crate) probe: Option<u64>,
    /// When to send one, if everything was sent.
    pub(crate) probe_at: Option<Time>,
    pub(super) rounds: u64,
    /// Questions in a row before which nothing new had arrived, what had, and when to ask again.
    pub(super) stale: (u32, u64),
    pub(crate) ask_at: Time,
    pub(crate) stopped: Option<Stopped>,
    pub(crate) pieces_sent: u64,
    pub(crate) pieces_lost: u64,
    pub(super) pieces_acked: u64,
    /// What had arrived when that was looked at last and was more than before, and when.
    progress: (u64, Time),
    /// Most senders that its receiver had at once: since that arrived, and in all.
    rivals: (u64, u64),
    /// It had starved and is served first until then.
    first_until: Time,
    pub(crate) bytes_sent: u64,
    fractions: Vec<laxity_interface::Fraction>,
    pub(super) ids: Vec<GroupId>,
}

/// What a connection tells a new job about its packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Bytes of a packet left for frames.
    pub(crate) frames: usize,
    /// Packets a job may take.
    pub(crate) max_pieces: u64,
}

impl SendJob {
    /// Checks the request and cuts the job.
    pub(crate) fn new(
        now: Time,
        id: JobId,
        request: &SendRequest,
        room: Room,
        default_limit: Span,
        start: u32,
    ) -> Result<Self, SendRequestError> {
        check(request)?;
        let ids: Vec<GroupId> = request.groups.iter().map(|group| group.id).collect();
        let built = cut(id, request, room, start, &ids)?;
        let limit = request.time_limit.unwrap_or(default_limit);
        let groups = ids
            .iter()
            .enumerate()
            .map(|(at, id)| GroupOpen {
                id: *id,
                counts: built.budgets[at].counts(),
                ordered: built.lanes[at] == LaneKind::Exact,
            })
            .collect();
        let open = JobOpen {
            kind: built.kind,
            bytes: built.bytes,
            piece: built.piece as u32,
            finish: request.finish,
            deadline_us: request.deadline.map_or(0, |deadline| deadline.as_us().max(1)),
            limit_us: limit.as_us().max(1),
            groups,
            label: request.label.clone(),
        };
        let announced = matches!(&built.pool, Pool::Messages(pool) if pool.is_expecting());
        let window_open =
            announced || matches!(open.kind, JobKind::Messages { open_window: true, .. });
        let mut introduction = Vec::new();
        Frame::JobOpen(id, open.clone()).put(&mut introduction, room.frames);
        if introduction.len() > room.frames {
            // Only with a limit on pieces far above the default.
            return Err(SendRequestError::Introduction(introduction.len()));
        }
        Ok(Self {
            id,
            open,
            introduced: false,
            known_from: None,
            held: false,
            released: None,
            priority: request.priority,
            weight: request.weight,
            served: 0.0,
            expected: vec![0; ids.len()],
            loss_rate: 0.0,
            only_enough: request.finish == Finish::Enough,
            budgets: built.budgets,
            lanes: built.lanes,
            pool: built.pool,
            window_open,
            announced: announced.then_some(built.bytes),
            started: now,
            deadline: request.deadline.map(|deadline| now + deadline),
            limit: Some(now + limit),
            class: Class::EXACT,
            place: 0.0,
            dice: start,
            first_class: None,
            introductions: 0,
            probe: None,
            probe_at: None,
            rounds: 0,
            stale: (0, 0),
            ask_at: Time::ZERO,
            stopped: None,
            pieces_sent: 0,
            pieces_lost: 0,
            pieces_acked: 0,
            progress: (0, now),
            rivals: (0, 0),
            first_until: Time::ZERO,
            bytes_sent: 0,
            fractions: request.groups.iter().map(|group| group.min_delivery).collect(),
            ids,
        })
    }

    /// Adds a message to an open window.
    pub(crate) fn push(
        &mut self,
        group: GroupId,
        size: u64,
        max_pieces: u64,
    ) -> Result<u64, SendRequestError> {
        let at = self.ids.iter().position(|id| *id == group);
        let at = at.ok_or(SendRequestError::UnknownGroup(group))?;
        let (Pool::Messages(pool), true) = (&mut self.pool, self.window_open) else {
            return Err(SendRequestError::NotOpen);
        };
        if let JobKind::Messages { max_message, .. } = self.open.kind
            && size > max_message
        {
            return Err(SendRequestError::MessageTooLong { size, limit: max_message });
        }
        let pieces = pool.pieces() + size.div_ceil(u64::from(self.open.piece)).max(1);
        if pieces > max_pieces {
            return Err(SendRequestError::TooLarge { pieces, limit: max_pieces });
        }
        if let Some(left) = &mut self.announced {
            let messages = self.budgets[at].total - pool.counts().nth(at).unwrap_or(0);
            if messages == 0 || size > *left {
                return Err(SendRequestError::Announced { messages, bytes: *left });
            }
            *left -= size;
        }
        pool.push(at, size);
        if self.announced.is_some() {
            let complete = pool.counts().zip(&self.budgets).all(|(n, budget)| n == budget.total);
            self.window_open = !complete;
            pool.expect(!complete);
        }
        let count = pool.counts().nth(at).unwrap_or(0);
        // An estimate that proved too low grows with the facts.
        if count > self.budgets[at].total {
            self.budgets[at].total = count;
            self.budgets[at].required = self.fractions[at].of(count);
        }
        Ok(count - 1)
    }

    /// No more messages: the counts are final.
    pub(crate) fn close_window(&mut self) -> Result<(), SendRequestError> {
        let Pool::Messages(pool) = &self.pool else { return Err(SendRequestError::NotOpen) };
        if !self.window_open {
            return Err(SendRequestError::NotOpen);
        }
        if let Some(bytes) = self.announced {
            let open = |(n, budget): (u64, &Budget)| budget.total - n;
            let messages = pool.counts().zip(&self.budgets).map(open).sum();
            return Err(SendRequestError::Announced { messages, bytes });
        }
        self.window_open = false;
        for (at, count) in pool.counts().enumerate() {
            self.budgets[at].total = count;
            self.budgets[at].required = self.fractions[at].of(count);
        }
        self.open.bytes = pool.bytes();
        Ok(())
    }

    /// Counts for a Window frame.
    pub(crate) fn counts(&self) -> SmallVec<[Counts; 2]> {
        self.budgets.iter().map(Budget::counts).collect()
    }

    /// Whether a piece could leave on this lane.
    pub(crate) fn has(&self, lane: LaneKind) -> bool {
        if self.stopped.is_some() || self.held {
            return false;
        }
        match self.is_enough_under_way(lane) {
            true => self.pool.has_partial(lane),
            false => self.pool.has(lane, &self.expected, &self.budgets),
        }
    }

    /// Whether what is on its way will be enough, as far as anybody can tell. A job that ends with
    /// that does not send more: it would only be in the way of others, and of its own.
    fn is_enough_under_way(&self, lane: LaneKind) -> bool {
        // An estimate may grow; what was announced does not.
        let may_grow = self.window_open && self.announced.is_none();
        if !self.only_enough || may_grow || lane != LaneKind::Slack {
            return false;
        }
        let enough = |group: usize, budget: &Budget| {
            let out = self.pool.under_way(group);
            let expected = likely_losses(out as f64, self.loss_rate);
            budget.acked + out.saturating_sub(expected) >= budget.required
        };
        let mut groups = self.budgets.iter().zip(&self.lanes).enumerate();
        groups.all(|(group, (budget, on))| *on != lane || enough(group, budget))
    }

    /// The next piece to leave on this lane.
    pub(crate) fn take(&mut self, lane: LaneKind) -> Option<u32> {
        if self.stopped.is_some() || self.held {
            return None;
        }
        let enough = self.is_enough_under_way(lane);
        if self.only_enough && !enough {
            self.pool.repair_cheapest(lane, &mut self.budgets);
        }
        let piece = match enough {
            // What has come since a long message was begun may be sooner home than the rest of it.
            true if self.window_open && self.pool.has_partial(lane) => {
                self.pool.take(lane, &self.expected, &mut self.budgets)?
            }
            true => self.pool.take_partial(lane)?,
            false => self.pool.take(lane, &self.expected, &mut self.budgets)?,
        };
        self.pieces_sent += 1;
        (self.probe, self.probe_at) = (None, None);
        Some(piece)
    }

    /// The last chunk of a tensor, if it was never sent and has at most `room` bytes; and its lane.
    pub(crate) fn take_last(&mut self, room: usize) -> Option<(u32, LaneKind)> {
        let Pool::Chunks(pool) = &mut self.pool else { return None };
        if self.stopped.is_some() || self.held {
            return None;
        }
        let taken = pool.take_last(room)?;
        self.pieces_sent += 1;
        (self.probe, self.probe_at) = (None, None);
        Some(taken)
    }

    /// Whether everything was sent that should be, so that it is time to ask what is missing.
    pub(crate) fn wants_probe(&self) -> bool {
        self.probe.is_none()
            && self.introduced
            && self.stopped.is_none()
            && !self.held
            && !self.window_open
            && !LaneKind::ALL.into_iter().any(|lane| self.has(lane))
    }

    pub(crate) fn acked(&mut self, piece: u32) {
        self.pieces_acked += 1;
        self.pool.acked(piece, &mut self.budgets);
    }

    /// A piece got lost. False: a receiver without room dropped it, or one that did not know the job
    /// because the introduction was lost, not the network; then it counts as never sent, for the budget
    /// is there for the network's losses.
    pub(crate) fn lost(&mut self, piece: u32, packet: u64, sent: Time) -> bool {
        let unknown = !self.introduced || self.known_from.is_some_and(|from| packet < from);
        let refused = unknown || self.held || self.released.is_some_and(|at| sent <= at);
        if refused {
            self.pool.give_back(piece);
            return false;
        }
        self.pieces_lost += 1;
        self.pool.lost(piece, &mut self.budgets);
        true
    }

    /// The receiver has no room yet.
    pub(crate) fn hold(&mut self) {
        self.held = self.released.is_none();
    }

    /// The receiver has room now.
    pub(crate) fn release(&mut self, now: Time) {
        (self.held, self.introduced) = (false, true);
        self.released.get_or_insert(now);
    }

    /// Looks ahead at the end of a job: with nothing new to send, losses among what is on its way
    /// would only show a round trip later, so as many known losses as the budget will then not cover
    /// are repaired now.
    pub(crate) fn look_ahead(&mut self, loss_rate: [f64; 2]) {
        self.loss_rate = loss_rate[LaneKind::Slack as usize];
        for (group, expected) in self.expected.iter_mut().enumerate() {
            let lane = self.lanes[group];
            *expected = 0;
            if !self.pool.has_fresh(lane) && lane == LaneKind::Slack {
                *expected = likely_losses(self.pool.out(group) as f64, loss_rate[lane as usize]);
            }
        }
    }

    /// Whether nothing of it arrived for longer than `patience`, or that was so and it has not been
    /// served first for as long as it had to wait.
    pub(crate) fn is_starving(&mut self, now: Time, patience: Span) -> bool {
        if self.pieces_acked != self.progress.0 {
            self.progress = (self.pieces_acked, now);
            self.rivals.0 = 0;
        }
        let waited = now.since(self.progress.1);
        if waited > patience {
            self.first_until = now + waited;
        }
        now < self.first_until
    }

    /// Its receiver hears so many senders.
    pub(crate) fn note_senders(&mut self, senders: u64) {
        self.rivals = (self.rivals.0.max(senders), self.rivals.1.max(senders));
    }

    /// How long it may wait for others that go first: at least `patience`, and as long as all senders
    /// take if none has more left than it has, for who has more does not go first. After that others keep
    /// coming, or the queue of foreign traffic is never empty. `taken`: what the receiver takes from all.
    pub(crate) fn turn(&self, taken: Option<Rate>, patience: Span) -> Span {
        self.turn_for(self.needed_bytes(), self.rivals.0, taken, patience)
    }

    /// The same for packets that may have left when nothing of it had arrived yet.
    pub(crate) fn longest_turn(&self, taken: Option<Rate>, patience: Span) -> Span {
        self.turn_for(self.bytes_of(|budget| budget.required), self.rivals.1, taken, patience)
    }

    fn turn_for(&self, bytes: u64, rivals: u64, taken: Option<Rate>, patience: Span) -> Span {
        match taken.filter(|_| rivals > 1) {
            Some(rate) => {
                rate.time_for(Bytes::new(bytes) * rivals).clamp(patience, patience * LONGEST_TURN)
            }
            None => patience,
        }
    }

    /// Bytes that have to arrive and are not known to have, more or less.
    pub(crate) fn needed_bytes(&self) -> u64 {
        self.bytes_of(|budget| budget.required.saturating_sub(budget.acked))
    }

    /// Bytes of so many messages, more or less: they may differ in size.
    fn bytes_of(&self, count: fn(&Budget) -> u64) -> u64 {
        let sum = |count: fn(&Budget) -> u64| self.budgets.iter().map(count).sum::<u64>();
        let (part, total) = (sum(count), sum(|budget| budget.total));
        (u128::from(self.open.bytes) * u128::from(part) / u128::from(total.max(1))) as u64
    }

    /// The job's own target loss rate.
    pub(crate) fn target_loss_rate(&self) -> f64 {
        target_loss_rate(self.slack_budgets())
    }

    /// Budgets of the groups on the slack lane.
    pub(crate) fn slack_budgets(&self) -> impl Iterator<Item = &Budget> {
        let pairs = self.budgets.iter().zip(&self.lanes);
        pairs.filter(|(_, lane)| **lane == LaneKind::Slack).map(|(budget, _)| budget)
    }

    /// How far the group got that is furthest from its goal.
    pub(crate) fn progress(&self) -> Progress {
        let worst = self
            .budgets
            .iter()
            .enumerate()
            .max_by_key(|(_, budget)| budget.required.saturating_sub(budget.acked))
            .map_or(0, |(at, _)| at);
        let budget = &self.budgets[worst];
        Progress {
            group: self.ids[worst],
            received: budget.acked,
            required: budget.required,
            total: budget.total,
        }
    }

    /// The width in bytes of element indices in this job's chunk frames.
    pub(crate) fn index_width(&self) -> usize {
        match self.open.kind {
            JobKind::Tensor { elements, .. } => varint::width(elements),
            JobKind::Messages { .. } => 0,
        }
    }
}

/// How many of so many are lost at most, in all likelihood: two standard deviations above the mean.
fn likely_losses(out: f64, p: f64) -> u64 {
    (out * p + 2.0 * (out * p * (1.0 - p)).sqrt()).ceil() as u64
}

#[cfg(test)]
mod tests {
    use laxity_interface::Fraction;

    use super::*;

    #[test]
    fn who_has_others_before_it_waits_as_long_as_they_take() {
        let request = SendRequest::messages([1000; 100], Fraction::new(0.5).unwrap());
        let room = Room { frames: 1400, max_pieces: 1000 };
        let limit = Span::from_secs(1);
        let mut job = SendJob::new(Time::ZERO, JobId(0), &request, room, limit, 0).unwrap();
        let (rate, us) = (Some(Rate::from_mbps(8)), Span::from_us);
        let of = |job: &SendJob, us: Span| (job.turn(rate, us), job.longest_turn(rate, us));
        job.note_senders(1);
        assert_eq!(of(&job, us(10)), (us(10), us(10)), "nobody is before it");
        job.note_senders(3);
        job.note_senders(2);
        let all = us(3 * 50_000);
        assert_eq!(of(&job, us(10_000)), (all, all), "all three with 50 000 bytes, a byte per us");
        assert_eq!(of(&job, us(200_000)), (us(200_000), us(200_000)), "never less than alone");
        assert_eq!(job.turn(rate, us(10)), us(640), "there is an end");
        assert_eq!(job.turn(None, us(10)), us(10), "nobody knows how long they take");
        job.note_senders(u64::MAX);
        assert_eq!(job.turn(rate, us(10)), us(640), "whatever a receiver says");
        for piece in 0..10 {
            job.take(LaneKind::Slack);
            job.acked(piece);
        }
        assert!(!job.is_starving(Time::ZERO + us(20), us(10)));
        job.note_senders(2);
        assert_eq!(of(&job, us(10_000)), (us(80_000), us(640_000)), "two, of 40 000 each");
    }
}
