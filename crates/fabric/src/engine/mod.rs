//! Many operations in flight on one rank, without input and output.
//!
//! Operations of a group are numbered in the order in which they start, so all ranks must start them
//! in the same order; from then on they run side by side. Feed [events](Engine::handle_event) and
//! [time](Engine::handle_timeout) in, take [parcels](Engine::poll_parcel) and
//! [results](Engine::poll_finished) out. [`Communicator`](crate::Communicator) is that loop around a
//! carrier.

mod effects;
mod kept;
mod late;
mod start;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use laxity_interface::Time;
use laxity_protocol::ElementType;

use self::{
    kept::{Early, Kept, Key, Retired},
    late::{Begun, Overdue},
};
use crate::{
    carrier::{Arrival, Channel, Envelope, Event, Lane, Parcel, Slack},
    collective::{
        ABORT, Context, Effects, Facts, Incoming, Machine, Network, Reason, Sending, choose,
        decode_abort, machine,
    },
    deadline::{Deadline, Times},
    loss::{Memory, Outstanding},
    options::{OnLoss, Operation, Options, ReduceOp},
    outcome::{OpError, Outcome, StartError},
    rank::{Group, GroupId, Rank},
    shape::Shape,
};

/// Names an operation on this rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OpId(u64);

/// The engine of one rank.
#[derive(Debug)]
pub struct Engine {
    rank: Rank,
    network: Network,
    /// The next operation's number, by group.
    sequences: BTreeMap<GroupId, u64>,
    /// The next parcel's number, by group, tag, other rank, and whether it is received.
    tags: BTreeMap<(GroupId, u64, Rank, bool), u32>,
    running: BTreeMap<OpId, Running>,
    ids: BTreeMap<Key, OpId>,
    next_id: u64,
    kept: Kept,
    retired: Retired,
    lost: BTreeMap<Rank, String>,
    /// Those of them that need nothing any more.
    left: BTreeSet<Rank>,
    parcels: VecDeque<Parcel>,
    /// Parcels whose end was not reported, with what is wanted back if it is lost.
    submitted: BTreeMap<(Rank, Channel), Option<Outstanding>>,
    finished: VecDeque<(OpId, Result<Outcome, OpError>)>,
    memory: Memory,
    times: BTreeMap<u64, Times>,
    overdue: Overdue,
}

/// An operation that has not ended.
#[derive(Debug)]
struct Running {
    key: Key,
    facts: Facts,
    shape: Shape,
    machine: Box<dyn Machine>,
    wake: Option<Time>,
    limit_at: Time,
    reason: Reason,
}

impl Engine {
    /// Bytes that are kept of operations that others have started and this rank has not, unless
    /// another limit is given.
    pub const KEPT_BYTES: usize = 1 << 30;

    /// The engine of a rank.
    pub fn new(rank: Rank) -> Self {
        Self::with_limit(rank, Self::KEPT_BYTES)
    }

    /// The engine of a rank that keeps at most so many bytes of operations it has not started.
    pub fn with_limit(rank: Rank, kept_bytes: usize) -> Self {
        Self {
            rank,
            network: Network::default(),
            sequences: BTreeMap::new(),
            tags: BTreeMap::new(),
            running: BTreeMap::new(),
            ids: BTreeMap::new(),
            next_id: 0,
            kept: Kept::new(kept_bytes),
            retired: Retired::default(),
            lost: BTreeMap::new(),
            left: BTreeSet::new(),
            parcels: VecDeque::new(),
            submitted: BTreeMap::new(),
            finished: VecDeque::new(),
            memory: Memory::default(),
            times: BTreeMap::new(),
            overdue: Overdue::default(),
        }
    }

    /// This rank.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// Tells what is known of the network; operations that start later are chosen by it. All ranks
    /// must be told the same, between the same operations.
    pub fn set_network(&mut self, network: Network) {
        self.network = network;
    }

    /// What is known of the network.
    pub fn network(&self) -> Network {
        self.network
    }

    /// Starts an operation of a group on `data`, which holds numbers of `element`.
    pub fn start(
        &mut self,
        now: Time,
        group: &Group,
        operation: Operation,
        element: ElementType,
        data: Bytes,
        options: &Options,
    ) -> Result<OpId, StartError> {
        let me = start::check(self.rank, group, operation, element, data.len(), options)?;
        let key = self.next_key(group, operation);
        let sequence = match key {
            Key::Collective { sequence, .. } => sequence,
            Key::Direct { tag, .. } => tag,
        };
        let size = laxity_interface::Bytes::new(data.len() as u64);
        let (algorithm, reason) = choose(operation, group, element, size, options, &self.network);
        let all = data.len() / element.size();
        let count = match operation {
            Operation::Scatter(root) if root == self.rank => all / group.size(),
            _ => all,
        };
        let shape = Shape::new(operation, &algorithm, element, count, options);
        // What neither leaves anything to a stream nor takes anything from it does not age it either.
        let remembers = operation.reduce_op().is_some_and(ReduceOp::is_linear);
        let at = if remembers { self.memory.begin(options.stream) } else { 0 };
        let deadline = match options.deadline {
            Deadline::None => None,
            Deadline::After(span) => Some(span),
            Deadline::Adaptive(rule) => {
                self.times.get(&options.stream).and_then(|times| times.deadline(&rule))
            }
        };
        let facts = Facts {
            group: group.clone(),
            me,
            operation,
            element,
            count,
            options: options.clone(),
            sequence,
            at,
            started: now,
            deadline,
        };
        let data = match remembers {
            true => self.memory.repay(options.stream, at, element, data, options.policy),
            false => data,
        };
        let machine = machine(&facts, &algorithm, data);
        let id = OpId(self.next_id);
        self.next_id += 1;
        let limit_at = now + options.limit;
        self.ids.insert(key, id);
        let running = Running { key, facts, shape, machine, wake: None, limit_at, reason };
        self.running.insert(id, running);
        self.catch_up(now, id, key);
        Ok(id)
    }

    /// The key of an operation that starts now.
    fn next_key(&mut self, group: &Group, operation: Operation) -> Key {
        let id = group.id();
        match operation {
            Operation::Send(peer, tag) | Operation::Recv(peer, tag) => {
                let receives = matches!(operation, Operation::Recv(..));
                let number = self.tags.entry((id, tag, peer, receives)).or_insert(0);
                *number += 1;
                Key::Direct { group: id, tag, peer, number: *number - 1, receives }
            }
            _ => {
                let sequence = self.sequences.entry(id).or_insert(0);
                *sequence += 1;
                Key::Collective { group: id, sequence: *sequence - 1 }
            }
        }
    }

    /// Begins an operation, and hands it what came before.
    fn catch_up(&mut self, now: Time, id: OpId, key: Key) {
        self.run(now, id, |machine, cx| machine.begin(cx));
        match self.kept.take(&key) {
            Ok(events) => events.into_iter().for_each(|event| match event {
                Early::Arrived(arrival) if self.running.contains_key(&id) => {
                    self.deliver(now, id, arrival);
                }
                // What came before was enough, and who asks waits for an answer.
                Early::Arrived(arrival) => self.answer_late(&key, &arrival),
                Early::Failed { peer, envelope, reason } => {
                    self.deliver_failure(now, id, peer, &envelope, &reason);
                }
            }),
            Err(rank) => {
                let limit = self.kept.limit();
                self.run(now, id, |machine, cx| {
                    // Where ranks may be left out this one is, and the others go on.
                    machine.leave(cx);
                    let operation = cx.facts.operation.name();
                    cx.fail(OpError::TooFarBehind { operation, rank, limit });
                });
            }
        }
        let lost: Vec<_> = self.lost.iter().map(|(peer, reason)| (*peer, reason.clone())).collect();
        for (peer, reason) in lost {
            self.tell_lost(now, id, peer, &reason, false);
        }
    }

    /// Takes in what a carrier reports. Events that are not of this library's operations are given
    /// back.
    pub fn handle_event(&mut self, now: Time, event: Event) -> Option<Event> {
        match event {
            Event::Arrived(arrival) => self.handle_arrival(now, arrival).map(Event::Arrived),
            Event::Sent { to, envelope, missing } => {
                let Some(outstanding) = self.submitted.remove(&(to, envelope.channel)) else {
                    return Some(Event::Sent { to, envelope, missing });
                };
                if let Some(outstanding) = outstanding {
                    self.memory.owe(&outstanding, &missing);
                }
                if let Some(id) = self.sending(to, &envelope.channel) {
                    self.run(now, id, |machine, cx| {
                        if let Some(to) = cx.facts.group.position(to) {
                            machine.sent(cx, to, &missing);
                        }
                    });
                }
                None
            }
            Event::Failed { peer, envelope, reason } => {
                self.handle_failure(now, peer, envelope, reason)
            }
            Event::Lost { peer, reason, left } => {
                // Whoever has left in order has what was sent to it, though this rank may hear of that later.
                let to_it = self.submitted.keys().filter(|(to, _)| *to == peer && !left);
                let stuck: Vec<_> =
                    to_it.filter_map(|(to, channel)| self.sending(*to, channel)).collect();
                if left {
                    self.left.insert(peer);
                }
                self.submitted.retain(|(to, _), _| *to != peer);
                self.lost.entry(peer).or_insert_with(|| reason.clone());
                let ids: Vec<_> = self.running.keys().copied().collect();
                for id in ids {
                    self.tell_lost(now, id, peer, &reason, left);
                }
                for id in stuck {
                    self.tell_stuck(now, id, peer, &reason);
                }
                Some(Event::Lost { peer, reason, left })
            }
        }
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        let due = |running: &Running| {
            running.limit_at <= now || running.wake.is_some_and(|wake| wake <= now)
        };
        let ids: Vec<_> =
            self.running.iter().filter(|(_, one)| due(one)).map(|(id, _)| *id).collect();
        for id in ids {
            let Some(running) = self.running.get_mut(&id) else { continue };
            if running.wake.take_if(|wake| *wake <= now).is_some() {
                self.run(now, id, |machine, cx| machine.timeout(cx));
            }
            let Some(running) = self.running.get(&id).filter(|one| one.limit_at <= now) else {
                continue;
            };
            let facts = &running.facts;
            let waiting_for = running.machine.suspects();
            let error = OpError::TimedOut {
                operation: facts.operation.name(),
                limit: facts.options.limit,
                waiting_for: waiting_for.iter().map(|at| facts.group.rank(*at)).collect(),
                told_by: None,
            };
            self.run(now, id, |machine, cx| {
                machine.leave(cx);
                cx.fail(error);
            });
        }
    }

    /// The next parcel to submit.
    pub fn poll_parcel(&mut self) -> Option<Parcel> {
        self.parcels.pop_front()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout), if nothing happens before.
    pub fn poll_timeout(&self) -> Option<Time> {
        let times = self.running.values().flat_map(|one| [Some(one.limit_at), one.wake]);
        times.flatten().min()
    }

    /// The next operation that has ended.
    pub fn poll_finished(&mut self) -> Option<(OpId, Result<Outcome, OpError>)> {
        self.finished.pop_front()
    }

    /// Parcels that were handed out and whose end was not reported yet.
    pub fn in_flight(&self) -> usize {
        self.submitted.len()
    }

    /// Why an operation that has not ended is carried out as it is.
    pub fn reason(&self, id: OpId) -> Option<&Reason> {
        self.running.get(&id).map(|running| &running.reason)
    }

    /// Forgets what is remembered of a stream: results, lost parts, times.
    pub fn forget(&mut self, stream: u64) {
        self.memory.forget(stream);
        self.times.remove(&stream);
        self.overdue.forget(stream);
    }

    /// The key of the operation that an incoming parcel belongs to; `None` if it is not this
    /// engine's.
    fn incoming_key(&self, from: Rank, channel: &Channel) -> Option<Key> {
        let Channel { lane, group, sequence, part, .. } = *channel;
        match lane {
            Lane::Collective | Lane::Repair => Some(Key::Collective { group, sequence }),
            Lane::Direct => {
                Some(Key::Direct { group, tag: sequence, peer: from, number: part, receives: true })
            }
            Lane::Role => None,
        }
    }

    /// Whether an operation has not started here.
    fn is_ahead(&self, key: &Key) -> bool {
        match key {
            Key::Collective { group, sequence } => {
                *sequence >= self.sequences.get(group).copied().unwrap_or(0)
            }
            Key::Direct { group, tag, peer, number, receives } => {
                let next = self.tags.get(&(*group, *tag, *peer, *receives));
                *number >= next.copied().unwrap_or(0)
            }
        }
    }

    fn handle_arrival(&mut self, now: Time, arrival: Arrival) -> Option<Arrival> {
        let Some(key) = self.incoming_key(arrival.from, &arrival.envelope.channel) else {
            return Some(arrival);
        };
        if let Some(id) = self.ids.get(&key) {
            self.deliver(now, *id, arrival);
        } else if self.is_ahead(&key) {
            self.kept.keep(key, Early::Arrived(arrival));
        } else {
            self.note_late(now, key, self.overdue.get(&key), &arrival);
            self.answer_late(&key, &arrival);
        }
        None
    }

    /// A contribution came after its operation had gone on: so late the next may be.
    fn note_late(&mut self, now: Time, key: Key, begun: Option<Begun>, arrival: &Arrival) {
        let Channel { lane, step, .. } = arrival.envelope.channel;
        if let Some(begun) = begun.filter(|begun| begun.is_given(lane, (step >> 16) as u16))
            && self.overdue.is_first(key, arrival.from)
        {
            self.times.entry(begun.stream).or_default().add(now.since(begun.started));
        }
    }

    /// A rank asks after an operation that has ended here.
    fn answer_late(&mut self, key: &Key, arrival: &Arrival) {
        const COMMIT: u32 = 3 << 16;
        let channel = arrival.envelope.channel;
        let asks = channel.lane == Lane::Repair && matches!(channel.step >> 16, 1 | 2);
        let Some(word) = self.retired.word(key).filter(|_| asks) else { return };
        let step = COMMIT | 0xffff;
        // Numbered like the question, so that it does not look like an answer given before.
        let channel = Channel { step, part: channel.part, ..channel };
        let envelope = Envelope { channel, signature: arrival.envelope.signature };
        let (to, body) = (arrival.from, word.clone());
        self.submit(Parcel { to, envelope, body, slack: Slack::EXACT }, None);
    }

    /// Hands a parcel to its operation.
    fn deliver(&mut self, now: Time, id: OpId, arrival: Arrival) {
        let Some(running) = self.running.get(&id) else { return };
        let (own, here) = (running.shape, self.rank);
        let deadline = running.facts.deadline.map(|deadline| running.facts.started + deadline);
        if deadline.is_some_and(|deadline| now > deadline) {
            self.note_late(now, running.key, Begun::of(&running.facts), &arrival);
        }
        let Arrival { from, envelope, body, missing } = arrival;
        self.run(now, id, |machine, cx| {
            let (lane, step, part) =
                (envelope.channel.lane, envelope.channel.step, envelope.channel.part);
            let stage = (step >> 16) as u16;
            let operation = cx.facts.operation.name();
            let Some(position) = cx.facts.group.position(from) else {
                let reason = "it is not a member of the group".to_owned();
                return cx.fail(OpError::Nonsense { operation, rank: from, reason, told_by: None });
            };
            if lane == Lane::Repair && stage == ABORT {
                match decode_abort(&body, operation, from) {
                    Some(error) => cx.fail(error),
                    None => cx.fail_nonsense(position, "its reason to give up makes no sense"),
                }
                return;
            }
            let theirs = Shape::of(&envelope.signature);
            if theirs != own {
                let (one_does, other_does) = (own, theirs);
                return cx.fail(OpError::Mismatch { one: here, one_does, other: from, other_does });
            }
            machine.arrived(cx, Incoming { from: position, lane, stage, part, body, missing });
        });
    }

    fn handle_failure(
        &mut self,
        now: Time,
        peer: Rank,
        envelope: Envelope,
        reason: String,
    ) -> Option<Event> {
        if let Some(outstanding) = self.submitted.remove(&(peer, envelope.channel)) {
            if let Some(outstanding) = outstanding {
                let all = outstanding.body.len() / outstanding.element.size();
                self.memory.owe(&outstanding, std::slice::from_ref(&(0..all)));
            }
            // Whoever should have got it learns it too; here it matters only if this rank waits for
            // that one.
            let sending = self.sending(peer, &envelope.channel);
            if let Some(id) =
                sending.filter(|id| self.running[id].facts.options.on_loss == OnLoss::Fail)
            {
                self.tell_lost(now, id, peer, &reason, false);
            }
            return None;
        }
        let Some(key) = self.incoming_key(peer, &envelope.channel) else {
            return Some(Event::Failed { peer, envelope, reason });
        };
        if let Some(id) = self.ids.get(&key) {
            self.deliver_failure(now, *id, peer, &envelope, &reason);
        } else if self.is_ahead(&key) {
            self.kept.keep(key, Early::Failed { peer, envelope, reason });
        }
        None
    }

    fn deliver_failure(
        &mut self,
        now: Time,
        id: OpId,
        peer: Rank,
        envelope: &Envelope,
        reason: &str,
    ) {
        let stage = (envelope.channel.step >> 16) as u16;
        // A word of the agreement must not be taken for a contribution.
        let stage = if envelope.channel.lane == Lane::Repair { u16::MAX } else { stage };
        self.run(now, id, |machine, cx| {
            if let Some(position) = cx.facts.group.position(peer) {
                machine.failed(cx, position, stage, reason);
            }
        });
    }

    /// Tells an operation that a rank is gone: whether it `left` in order since the operation began.
    fn tell_lost(&mut self, now: Time, id: OpId, peer: Rank, reason: &str, left: bool) {
        let oneself = peer == self.rank;
        self.run(now, id, |machine, cx| match cx.facts.group.position(peer) {
            Some(position) if oneself => cx.fail_lost(position, reason),
            Some(position) if left => machine.left(cx, position, reason),
            Some(position) => machine.lost(cx, position, reason),
            None => {}
        });
    }

    /// Tells an operation that a rank will not get what it needs. If that rank lives, and is only out of
    /// reach from here, it waits for it, and everybody behind it too: nobody else would find out.
    fn tell_stuck(&mut self, now: Time, id: OpId, peer: Rank, reason: &str) {
        self.run(now, id, |_, cx| {
            if let (OnLoss::Fail, Some(position)) =
                (cx.facts.options.on_loss, cx.facts.group.position(peer))
            {
                cx.fail_lost(position, reason);
            }
        });
    }

    /// The operation that sent a parcel, if it has not ended.
    fn sending(&self, to: Rank, channel: &Channel) -> Option<OpId> {
        let Channel { group, sequence, part, .. } = *channel;
        let key = match channel.lane {
            Lane::Collective | Lane::Repair => Key::Collective { group, sequence },
            Lane::Direct => {
                Key::Direct { group, tag: sequence, peer: to, number: part, receives: false }
            }
            Lane::Role => return None,
        };
        self.ids.get(&key).copied()
    }

    /// Calls an operation's machine and does what it wants.
    fn run(&mut self, now: Time, id: OpId, call: impl FnOnce(&mut dyn Machine, &mut Context<'_>)) {
        let Some(running) = self.running.get_mut(&id) else { return };
        let mut effects = Effects::default();
        let mut context =
            Context { now, facts: &running.facts, effects: &mut effects, memory: &self.memory };
        call(running.machine.as_mut(), &mut context);
        if effects.wake.is_some() {
            running.wake = effects.wake;
        }
        let (facts, shape, key) = (running.facts.clone(), running.shape, running.key);
        let lost = |sending: &Sending| {
            let to = facts.group.rank(sending.to);
            let reason = self.lost.get(&to).filter(|_| !self.left.contains(&to));
            reason.map(|reason| (to, reason.clone()))
        };
        let stuck = effects.sends.iter().find_map(lost);
        for sending in effects.sends {
            self.send(now, &facts, shape, key, sending);
        }
        if let (None, Some((peer, reason))) = (&effects.done, stuck) {
            return self.tell_stuck(now, id, peer, &reason);
        }
        if let Some(done) = effects.done {
            self.running.remove(&id);
            self.ids.remove(&key);
            if let Some(word) = effects.last_word {
                self.retired.add(key, word);
            }
            if let Err(error) = &done {
                self.pass_on(now, &facts, shape, key, error);
            }
            let overdue = self.is_overdue(&facts, &done);
            if let (Some(begun), true) = (Begun::of(&facts), overdue) {
                self.overdue.add(key, begun);
            }
            let result = done.map(|finished| self.outcome(now, &facts, finished, overdue));
            self.finished.push_back((id, result));
        }
    }
}
