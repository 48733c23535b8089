//! One job on its way out.

use std::collections::BTreeMap;

use laxity_interface::{Finish, GroupId, Span, Time};
use smallvec::SmallVec;

use super::{
    Payload, Pool, SendRequest, SendRequestError, chunks::ChunkPool, messages::MessagePool,
};
use crate::{
    error::Progress,
    ids::JobId,
    report::{DeliveryReport, Ended, GroupDelivery, Missing},
    slack::{Budget, Class, LaneKind, target_loss_rate},
    wire::{Counts, GroupOpen, JobKind, JobOpen, Runs, varint},
};

/// What the receiver's last word says.
#[derive(Clone, Debug)]
pub(crate) struct Stopped {
    received: SmallVec<[u64; 2]>,
    /// Parts heard of, by numbering and start.
    parts: BTreeMap<(u16, u64), Runs>,
}

/// A job being sent.
#[derive(Debug)]
pub(crate) struct SendJob {
    pub(crate) id: JobId,
    pub(crate) open: JobOpen,
    /// The receiver confirmed the introduction.
    pub(crate) introduced: bool,
    /// The receiver asked to wait.
    pub(crate) held: bool,
    pub(crate) priority: u32,
    pub(crate) weight: f64,
    /// Bytes sent over weight: who has had less goes first among equals.
    pub(crate) served: f64,
    pub(crate) budgets: Vec<Budget>,
    pub(crate) lanes: Vec<LaneKind>,
    pub(crate) pool: Pool,
    /// Losses to be expected at the end, per group.
    expected: Vec<u64>,
    /// More messages may be added.
    pub(crate) window_open: bool,
    pub(crate) started: Time,
    pub(crate) deadline: Option<Time>,
    pub(crate) limit: Option<Time>,
    pub(crate) class: Class,
    pub(crate) first_class: Option<Class>,
    /// The probe that is out, if everything was sent.
    pub(crate) probe: Option<u64>,
    pub(crate) rounds: u64,
    pub(crate) stopped: Option<Stopped>,
    pub(crate) pieces_sent: u64,
    pub(crate) pieces_lost: u64,
    pub(crate) bytes_sent: u64,
    fractions: Vec<laxity_interface::Fraction>,
    min_delivery_ids: Vec<GroupId>,
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
        let built = match &request.payload {
            Payload::Tensor { .. } => cut_tensor(id, request, room, start, &ids)?,
            Payload::Messages { .. } => cut_messages(id, request, room, &ids)?,
        };
        let limit = request.time_limit.unwrap_or(default_limit);
        let groups = ids
            .iter()
            .zip(&built.budgets)
            .map(|(id, budget)| GroupOpen {
                id: *id,
                counts: Counts { total: budget.total, required: budget.required },
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
        let window_open = matches!(open.kind, JobKind::Messages { open_window: true, .. });
        Ok(Self {
            id,
            open,
            introduced: false,
            held: false,
            priority: request.priority,
            weight: request.weight,
            served: 0.0,
            expected: vec![0; ids.len()],
            budgets: built.budgets,
            lanes: built.lanes,
            pool: built.pool,
            window_open,
            started: now,
            deadline: request.deadline.map(|deadline| now + deadline),
            limit: Some(now + limit),
            class: Class::EXACT,
            first_class: None,
            probe: None,
            rounds: 0,
            stopped: None,
            pieces_sent: 0,
            pieces_lost: 0,
            bytes_sent: 0,
            fractions: request.groups.iter().map(|group| group.min_delivery).collect(),
            min_delivery_ids: ids,
        })
    }

    /// Adds a message to an open window.
    pub(crate) fn push(
        &mut self,
        group: GroupId,
        size: u64,
        max_pieces: u64,
    ) -> Result<u64, SendRequestError> {
        let at = self.min_delivery_ids.iter().position(|id| *id == group);
        let at = at.ok_or(SendRequestError::UnknownGroup(group))?;
        let Pool::Messages(pool) = &mut self.pool else { return Err(SendRequestError::NotOpen) };
        if !self.window_open {
            return Err(SendRequestError::NotOpen);
        }
        if pool.pieces() >= max_pieces {
            return Err(SendRequestError::TooLarge {
                pieces: pool.pieces() + 1,
                limit: max_pieces,
            });
        }
        pool.push(at, size);
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
        let count = |b: &Budget| Counts { total: b.total, required: b.required };
        self.budgets.iter().map(count).collect()
    }

    /// Whether a piece could leave on this lane.
    pub(crate) fn has(&self, lane: LaneKind) -> bool {
        self.stopped.is_none() && !self.held && self.pool.has(lane, &self.expected, &self.budgets)
    }

    /// The next piece to leave on this lane.
    pub(crate) fn take(&mut self, lane: LaneKind) -> Option<u32> {
        if self.stopped.is_some() || self.held {
            return None;
        }
        let piece = self.pool.take(lane, &self.expected, &mut self.budgets)?;
        self.pieces_sent += 1;
        self.probe = None;
        Some(piece)
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
        self.pool.acked(piece, &mut self.budgets);
    }

    pub(crate) fn lost(&mut self, piece: u32) {
        self.pieces_lost += 1;
        self.pool.lost(piece, &mut self.budgets);
    }

    /// Looks ahead at the end of a job: with nothing new to send, losses among what is on its way
    /// would only show a round trip later, so as many known losses as the budget will then not cover
    /// are repaired now.
    pub(crate) fn look_ahead(&mut self, loss_rate: [f64; 2]) {
        for (group, expected) in self.expected.iter_mut().enumerate() {
            let lane = self.lanes[group];
            *expected = 0;
            if !self.pool.has_fresh(lane) && lane == LaneKind::Slack {
                let (out, p) = (self.pool.out(group) as f64, loss_rate[lane as usize]);
                *expected = (out * p + 2.0 * (out * p * (1.0 - p)).sqrt()).ceil() as u64;
            }
        }
    }

    /// The job's own target loss rate.
    pub(crate) fn target_loss_rate(&self) -> f64 {
        target_loss_rate(&self.budgets)
    }

    /// Budgets of the groups on the slack lane.
    pub(crate) fn slack_budgets(&self) -> impl Iterator<Item = &Budget> {
        let pairs = self.budgets.iter().zip(&self.lanes);
        pairs.filter(|(_, lane)| **lane == LaneKind::Slack).map(|(budget, _)| budget)
    }

    /// The receiver answers. Returns true when its last word is complete.
    pub(crate) fn status(
        &mut self,
        (round, last, space): (u64, bool, u16),
        received: SmallVec<[u64; 2]>,
        runs: Runs,
    ) -> bool {
        if !last {
            // An answer to an older probe speaks of what has been sent again since.
            if self.probe == Some(round) {
                self.pool.status(space, &runs, &mut self.budgets);
                self.probe = None;
            }
            return false;
        }
        let stopped = self
            .stopped
            .get_or_insert_with(|| Stopped { received: received.clone(), parts: BTreeMap::new() });
        stopped.received = received;
        stopped.parts.insert((space, runs.from), runs);
        self.heard_all()
    }

    fn heard_all(&self) -> bool {
        let Some(stopped) = &self.stopped else { return false };
        self.pool.spaces(&self.budgets).into_iter().enumerate().all(|(space, total)| {
            let mut reach = 0;
            while reach < total {
                match stopped.parts.get(&(space as u16, reach)) {
                    Some(part) if part.to > reach => reach = part.to,
                    _ => return false,
                }
            }
            true
        })
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
            group: self.min_delivery_ids[worst],
            received: budget.acked,
            required: budget.required,
            total: budget.total,
        }
    }

    /// What is known at the end.
    pub(crate) fn report(&self, now: Time) -> DeliveryReport {
        let empty = Stopped { received: SmallVec::new(), parts: BTreeMap::new() };
        let stopped = self.stopped.as_ref().unwrap_or(&empty);
        let groups: Vec<_> = self
            .budgets
            .iter()
            .enumerate()
            .map(|(at, budget)| GroupDelivery {
                id: self.min_delivery_ids[at],
                total: budget.total,
                required: budget.required,
                received: stopped.received.get(at).copied().unwrap_or(budget.acked),
            })
            .collect();
        let missing_in = |space: u16| {
            let parts = stopped.parts.range((space, 0)..=(space, u64::MAX));
            parts.flat_map(|(_, runs)| runs.missing.iter().copied()).collect::<Vec<_>>()
        };
        let missing = match self.open.kind {
            JobKind::Tensor { element, elements } => {
                let per_chunk = u64::from(self.open.piece) / element.size() as u64;
                Missing::Elements(to_elements(&missing_in(0), per_chunk, elements))
            }
            JobKind::Messages { .. } => Missing::Messages(
                self.min_delivery_ids
                    .iter()
                    .enumerate()
                    .map(|(at, id)| (*id, missing_in(at as u16)))
                    .collect(),
            ),
        };
        let ended = if missing.is_empty() {
            Ended::Complete
        } else if self.open.finish == Finish::Enough {
            Ended::Enough
        } else if self.deadline.is_some_and(|deadline| deadline <= now) {
            Ended::Deadline
        } else {
            Ended::FirstPass
        };
        let pieces: u64 = self.pieces_sent.max(1);
        DeliveryReport {
            groups,
            missing,
            elapsed: now.since(self.started),
            bytes: self.bytes_sent,
            loss_rate: (self.pieces_lost as f64 / pieces as f64).min(1.0),
            repeated: self.pool.repeats(),
            ended,
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

/// Chunk ranges as element ranges.
pub(crate) fn to_elements(chunks: &[(u64, u64)], per_chunk: u64, elements: u64) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::with_capacity(chunks.len());
    for &(start, end) in chunks {
        let range = (start * per_chunk, (end * per_chunk).min(elements));
        match ranges.last_mut() {
            Some(last) if last.1 == range.0 => last.1 = range.1,
            _ => ranges.push(range),
        }
    }
    ranges
}

struct Built {
    kind: JobKind,
    bytes: u64,
    piece: usize,
    budgets: Vec<Budget>,
    lanes: Vec<LaneKind>,
    pool: Pool,
}

fn check(request: &SendRequest) -> Result<(), SendRequestError> {
    let groups = &request.groups;
    if groups.is_empty() || groups.len() > 64 {
        return Err(SendRequestError::Groups(groups.len()));
    }
    for (at, group) in groups.iter().enumerate() {
        if groups[..at].iter().any(|other| other.id == group.id) {
            return Err(SendRequestError::DuplicateGroup(group.id));
        }
    }
    if request.label.len() > 256 {
        return Err(SendRequestError::Label(request.label.len()));
    }
    if !(request.weight.is_finite() && request.weight > 0.0) {
        return Err(SendRequestError::Weight(request.weight));
    }
    Ok(())
}

fn lanes_of(budgets: &[Budget]) -> Vec<LaneKind> {
    let lane = |b: &Budget| if b.allowed() == 0 { LaneKind::Exact } else { LaneKind::Slack };
    budgets.iter().map(lane).collect()
}

fn budgets_of(request: &SendRequest, totals: &[u64]) -> Vec<Budget> {
    let pairs = request.groups.iter().zip(totals);
    pairs
        .map(|(group, &total)| Budget {
            total,
            required: group.min_delivery.of(total),
            ..Budget::default()
        })
        .collect()
}

fn cut_tensor(
    id: JobId,
    request: &SendRequest,
    room: Room,
    start: u32,
    ids: &[GroupId],
) -> Result<Built, SendRequestError> {
    let Payload::Tensor { element, elements, groups } = &request.payload else {
        unreachable!("the caller looked");
    };
    let size = element.size() as u64;
    let widest_group = ids.iter().map(|id| varint::width(u64::from(id.0))).max().unwrap_or(1);
    let head = 1 + varint::width(id.0) + widest_group + varint::width(*elements);
    let per_chunk = ((room.frames - head) as u64 / size).max(1);
    let chunks = elements.div_ceil(per_chunk);
    if chunks > room.max_pieces {
        return Err(SendRequestError::TooLarge { pieces: chunks, limit: room.max_pieces });
    }
    let chunk_groups = assign_groups(request, groups, *elements, per_chunk)?;
    let mut totals = vec![0; ids.len()];
    match chunk_groups.is_empty() {
        true => totals[0] = chunks,
        false => chunk_groups.iter().for_each(|group| totals[usize::from(*group)] += 1),
    }
    let budgets = budgets_of(request, &totals);
    let lanes = lanes_of(&budgets);
    let spread = (request.finish == Finish::Enough, start);
    let pool = ChunkPool::new(
        (size, *elements, per_chunk),
        chunk_groups,
        ids.to_vec(),
        lanes.clone(),
        spread,
    );
    Ok(Built {
        kind: JobKind::Tensor { element: *element, elements: *elements },
        bytes: elements * size,
        piece: (per_chunk * size) as usize,
        budgets,
        lanes,
        pool: Pool::Chunks(pool),
    })
}

/// The group of each chunk; nothing if all belong to the first.
fn assign_groups(
    request: &SendRequest,
    ranges: &[(u64, GroupId)],
    elements: u64,
    per_chunk: u64,
) -> Result<Vec<u8>, SendRequestError> {
    if let Some(&(start, _)) = ranges.first().filter(|range| range.0 != 0) {
        return Err(SendRequestError::Ranges(start));
    }
    if let Some(pair) = ranges.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
        return Err(SendRequestError::Ranges(pair[1].0));
    }
    let place = |id: GroupId| {
        let at = request.groups.iter().position(|group| group.id == id);
        at.map(|at| at as u8).ok_or(SendRequestError::UnknownGroup(id))
    };
    let places = ranges.iter().map(|range| place(range.1)).collect::<Result<Vec<_>, _>>()?;
    if places.is_empty() || places.iter().all(|place| *place == 0) {
        return Ok(Vec::new());
    }
    let strictness = |place: u8| request.groups[usize::from(place)].min_delivery.get();
    let mut chunk_groups = Vec::with_capacity(elements.div_ceil(per_chunk) as usize);
    let mut at = 0;
    for chunk in 0..elements.div_ceil(per_chunk) {
        let (first, end) = (chunk * per_chunk, ((chunk + 1) * per_chunk).min(elements));
        while ranges.get(at + 1).is_some_and(|next| next.0 <= first) {
            at += 1;
        }
        let touched = (at..ranges.len()).take_while(|i| *i == at || ranges[*i].0 < end);
        let strictest = touched
            .map(|i| places[i])
            .max_by(|a, b| strictness(*a).total_cmp(&strictness(*b)))
            .unwrap_or(0);
        chunk_groups.push(strictest);
    }
    Ok(chunk_groups)
}

fn cut_messages(
    id: JobId,
    request: &SendRequest,
    room: Room,
    ids: &[GroupId],
) -> Result<Built, SendRequestError> {
    let Payload::Messages { sizes, estimate, max_message } = &request.payload else {
        unreachable!("the caller looked");
    };
    if !estimate.is_empty() && estimate.len() != ids.len() {
        let (groups, given) = (ids.len(), estimate.len());
        return Err(SendRequestError::Estimate { groups, given });
    }
    // Kind, job, group, number, length, offset, length of the body: the longest a head can get.
    let head = 1 + varint::width(id.0) + 3 + 4 + 8 + 8 + 4;
    let piece = room.frames - head;
    let places = sizes
        .iter()
        .map(|(group, _)| {
            let at = ids.iter().position(|id| id == group);
            at.ok_or(SendRequestError::UnknownGroup(*group))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let pieces: u64 = sizes.iter().map(|(_, size)| size.div_ceil(piece as u64).max(1)).sum();
    let announced = estimate.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
    if pieces.max(announced) > room.max_pieces {
        let pieces = pieces.max(announced);
        return Err(SendRequestError::TooLarge { pieces, limit: room.max_pieces });
    }
    let mut totals = vec![0; ids.len()];
    places.iter().for_each(|place| totals[*place] += 1);
    for (total, guess) in totals.iter_mut().zip(estimate) {
        *total = (*total).max(*guess);
    }
    let budgets = budgets_of(request, &totals);
    let lanes = if estimate.is_empty() {
        lanes_of(&budgets)
    } else {
        // An estimate may be off; what the group was promised is not.
        let lane = |d: f64| if d >= 1.0 { LaneKind::Exact } else { LaneKind::Slack };
        request.groups.iter().map(|group| lane(group.min_delivery.get())).collect()
    };
    let mut pool = MessagePool::new(piece as u64, request.order, ids.to_vec(), lanes.clone());
    for (place, (_, size)) in places.into_iter().zip(sizes) {
        pool.push(place, *size);
    }
    let largest = sizes.iter().map(|(_, size)| *size).max().unwrap_or(0).max(*max_message);
    let bytes = pool.bytes();
    let kind = JobKind::Messages { open_window: !estimate.is_empty(), max_message: largest };
    Ok(Built { kind, bytes, piece, budgets, lanes, pool: Pool::Messages(pool) })
}
