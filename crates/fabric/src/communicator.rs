//! Collectives on slices of numbers, as calls that return when they are done.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::{Deref, DerefMut},
};

use bytes::Bytes;
use laxity_endpoint::Store;
use laxity_interface::{Rate, Span, Time};

use crate::{
    carrier::{Carrier, Event},
    collective::Network,
    element::Element,
    engine::{Engine, OpId},
    options::{Algorithm, Operation, Options, ReduceOp},
    outcome::{OpError, Outcome},
    rank::{Group, GroupError, GroupId, Rank},
};

/// Events that are taken in before it is looked at what is late, at most: a flood of them does not stop the clock.
const MOST_AT_ONCE: usize = 4096;

/// A rank among others, over a carrier.
///
/// Calls work on the group of all ranks; [`within`](Self::within) makes them work on another.
/// Operations that were started run while any call waits; [`progress`](Self::progress) runs them
/// while the application computes.
#[derive(Debug)]
pub struct Communicator<C> {
    carrier: C,
    engine: Engine,
    group: Group,
    ended: BTreeMap<OpId, Result<Outcome, OpError>>,
    /// Events that are not of operations, for roles.
    others: VecDeque<Event>,
    next_group: u32,
}

/// An operation that was started. Give it to [`Communicator::wait`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "an operation's result is taken by waiting for it"]
pub struct Handle(OpId);

/// Why ranks cannot be split into groups.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SplitError {
    /// One of them is no group.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// This rank is in several of them.
    #[error("{0} is in more than one of the groups")]
    Several(Rank),
}

impl<C: Carrier> Communicator<C> {
    /// This rank among `ranks`.
    pub fn new(carrier: C, ranks: u32) -> Self {
        let mut engine = Engine::new(carrier.rank());
        engine.set_network(carrier.expects());
        Self::with_engine(carrier, engine, ranks)
    }

    /// This rank among `ranks`, with an engine that has limits of its own.
    pub fn with_engine(carrier: C, engine: Engine, ranks: u32) -> Self {
        let (ended, others) = (BTreeMap::new(), VecDeque::new());
        Self { carrier, engine, group: Group::world(ranks), ended, others, next_group: 1 }
    }

    /// This rank.
    pub fn rank(&self) -> Rank {
        self.carrier.rank()
    }

    /// The group that calls work on.
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// The carrier, for what it can do beside carrying.
    pub fn carrier(&mut self) -> &mut C {
        &mut self.carrier
    }

    /// The carrier, when no operation is left to do.
    pub fn into_carrier(self) -> C {
        self.carrier
    }

    /// The engine, to look at it.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Starts any operation on a copy of `data`.
    pub fn start<T: Element>(
        &mut self,
        operation: Operation,
        data: &[T],
        options: &Options,
    ) -> Result<Handle, OpError> {
        let bytes = Bytes::from_owner(Store::global().copy(bytemuck::cast_slice(data)));
        let now = self.carrier.now();
        let group = self.group.clone();
        let id = self.engine.start(now, &group, operation, T::TYPE, bytes, options)?;
        self.hand_over();
        Ok(Handle(id))
    }

    /// Waits until an operation has ended.
    pub fn wait(&mut self, handle: Handle) -> Result<Outcome, OpError> {
        loop {
            self.hand_over();
            if let Some(result) = self.ended.remove(&handle.0) {
                return result;
            }
            let until = self.engine.poll_timeout();
            self.step(until);
        }
    }

    /// Waits until an operation has ended and copies its result, which must be as long as `to`.
    pub fn wait_into<T: Element>(
        &mut self,
        handle: Handle,
        to: &mut [T],
    ) -> Result<Outcome, OpError> {
        let outcome = self.wait(handle)?;
        outcome.copy_to(bytemuck::cast_slice_mut(to));
        Ok(outcome)
    }

    /// Whether an operation has ended, without waiting.
    pub fn is_ended(&mut self, handle: Handle) -> bool {
        self.progress();
        self.ended.contains_key(&handle.0)
    }

    /// Does what can be done for all operations without waiting.
    pub fn progress(&mut self) {
        self.hand_over();
        while self.step(Some(self.carrier.now())) {
            self.hand_over();
        }
        self.hand_over();
    }

    /// Waits until everything that was sent has reached its end, or the limit has passed; returns
    /// how many parcels are still on their way. Call it before leaving.
    pub fn flush(&mut self, limit: Span) -> usize {
        let end = self.carrier.now() + limit;
        while self.engine.in_flight() > 0 && self.carrier.now() < end {
            self.hand_over();
            let until = self.engine.poll_timeout().map_or(end, |time| time.min(end));
            self.step(Some(until));
        }
        self.hand_over();
        self.engine.in_flight()
    }

    /// The next event that is not of an operation: parcels of roles, and lost ranks.
    pub fn poll_other(&mut self) -> Option<Event> {
        self.others.pop_front()
    }

    /// Waits for one event at most. True if there was one.
    fn step(&mut self, until: Option<Time>) -> bool {
        let event = self.carrier.wait_event(until);
        let now = self.carrier.now();
        let happened = event.is_some();
        self.handle_event(now, event);
        let due = |engine: &Engine| engine.poll_timeout().is_some_and(|time| time <= now);
        if happened && due(&self.engine) {
            // What has come is not late because this rank looks at it late.
            for _ in 0..MOST_AT_ONCE {
                let Some(event) = self.carrier.wait_event(Some(now)) else { break };
                self.handle_event(now, Some(event));
            }
        }
        self.engine.handle_timeout(now);
        happened
    }

    fn handle_event(&mut self, now: Time, event: Option<Event>) {
        if let Some(other) = event.and_then(|event| self.engine.handle_event(now, event)) {
            self.others.push_back(other);
        }
    }

    fn hand_over(&mut self) {
        while let Some(parcel) = self.engine.poll_parcel() {
            self.carrier.submit(parcel);
        }
        while let Some((id, result)) = self.engine.poll_finished() {
            self.ended.insert(id, result);
        }
    }

    fn do_in_place<T: Element>(
        &mut self,
        operation: Operation,
        data: &mut [T],
        options: &Options,
    ) -> Result<Outcome, OpError> {
        let handle = self.start(operation, data, options)?;
        let outcome = self.wait(handle)?;
        if outcome.len() == size_of_val(data) {
            outcome.copy_to(bytemuck::cast_slice_mut(data));
        }
        Ok(outcome)
    }

    fn do_into<T: Element>(
        &mut self,
        operation: Operation,
        data: &[T],
        to: &mut [T],
        options: &Options,
    ) -> Result<Outcome, OpError> {
        let handle = self.start(operation, data, options)?;
        let outcome = self.wait(handle)?;
        if !outcome.is_empty() {
            outcome.copy_to(bytemuck::cast_slice_mut(to));
        }
        Ok(outcome)
    }

    /// Folds everybody's numbers; everybody has the result afterwards.
    pub fn all_reduce<T: Element>(
        &mut self,
        data: &mut [T],
        op: ReduceOp,
        options: &Options,
    ) -> Result<Outcome, OpError> {
        self.do_in_place(Operation::AllReduce(op), data, options)
    }

    /// Starts an [`all_reduce`](Self::all_reduce).
    pub fn start_all_reduce<T: Element>(
        &mut self,
        data: &[T],
        op: ReduceOp,
        options: &Options,
    ) -> Result<Handle, OpError> {
        self.start(Operation::AllReduce(op), data, options)
    }

    /// Folds everybody's numbers; each has its [shard](crate::shard) of the result in `to`.
    ///
    /// # Panics
    /// If `to` is not as long as the shard.
    pub fn reduce_scatter<T: Element>(
        &mut self,
        data: &[T],
        to: &mut [T],
        op: ReduceOp,
        options: &Options,
    ) -> Result<Outcome, OpError> {
        self.do_into(Operation::ReduceScatter(op), data, to, options)
    }

    /// Puts everybody's numbers one after the other.
    ///
    /// # Panics
    /// If `to` is not as long as all of them.
    pub fn all_gather<T: Element>(
        &mut self,
        data: &[T],
        to: &mut [T],
        options: &Options,
    ) -> Result<Outcome, OpError> {
        self.do_into(Operation::AllGather, data, to, options)
    }

    /// Gives everybody the root's numbers.
    pub fn broadcast<T: Element>(
        &mut self,
        data: &mut [T],
        root: Rank,
        options: &Options,
    ) -> Result<Outcome, OpError> {
        self.do_in_place(Operation::Broadcast(root), data, options)
    }

    /// Folds everybody's numbers; the root has the result afterwards, others keep what they had.
    pub fn reduce<T: Element>(
        &mut self,
        data: &mut [T],
        op: ReduceOp,
        root: Rank,
        options: &Options,
    ) -> Result<Outcome, OpError> {
        self.do_in_place(Operation::Reduce(op, root), data, options)
    }

    /// Puts everybody's numbers one after the other at the root; others may give an empty `to`.
    ///
    /// # Panics
    /// If the root's `to` is not as long as all of them.
    pub fn gather<T: Element>(
        &mut self,
        data: &[T],
        to: &mut [T],
        root: Rank,
        options: &Options,
    ) -> Result<Outcome, OpError> {
        self.do_into(Operation::Gather(root), data, to, options)
    }

    /// Gives each its part of the root's numbers; others than the root may give an empty `data`.
    pub fn scatter<T: Element>(
        &mut self,
        data: &[T],
        to: &mut [T],
        root: Rank,
        options: &Options,
    ) -> Result<Outcome, OpError> {
        let given = if self.rank() == root { data.to_vec() } else { to.to_vec() };
        self.do_into(Operation::Scatter(root), &given, to, options)
    }

    /// Gives each the part for it of everybody's numbers.
    pub fn all_to_all<T: Element>(
        &mut self,
        data: &[T],
        to: &mut [T],
        options: &Options,
    ) -> Result<Outcome, OpError> {
        self.do_into(Operation::AllToAll, data, to, options)
    }

    /// Waits for everybody.
    pub fn barrier(&mut self, options: &Options) -> Result<Outcome, OpError> {
        let handle = self.start::<u8>(Operation::Barrier, &[], options)?;
        self.wait(handle)
    }

    /// Sends to one rank, under a tag; returns when it has arrived.
    pub fn send<T: Element>(
        &mut self,
        data: &[T],
        to: Rank,
        tag: u64,
        options: &Options,
    ) -> Result<Outcome, OpError> {
        let handle = self.start(Operation::Send(to, tag), data, options)?;
        self.wait(handle)
    }

    /// Receives from one rank what it sent under a tag.
    pub fn recv<T: Element>(
        &mut self,
        data: &mut [T],
        from: Rank,
        tag: u64,
        options: &Options,
    ) -> Result<Outcome, OpError> {
        self.do_in_place(Operation::Recv(from, tag), data, options)
    }

    /// Makes groups. All ranks of the job call it with the same list, in the same order among other
    /// calls of it; each gets the group that it is in, if any.
    pub fn split(&mut self, groups: &[Vec<Rank>]) -> Result<Option<Group>, SplitError> {
        let first = self.next_group;
        self.next_group += groups.len() as u32;
        let me = self.rank();
        let mut own = None;
        for (id, members) in (first..).zip(groups) {
            let group = Group::new(GroupId::new(id), members.clone())?;
            if group.position(me).is_some() && own.replace(group).is_some() {
                return Err(SplitError::Several(me));
            }
        }
        Ok(own)
    }

    /// Calls on what this returns work on another group.
    pub fn within(&mut self, group: &Group) -> Within<'_, C> {
        let outer = std::mem::replace(&mut self.group, group.clone());
        Within { communicator: self, outer }
    }

    /// Measures latency and bandwidth between all ranks, in a ring and with all sending to all, so
    /// that [`Algorithm::Auto`] chooses by them. All ranks call it together, and all end with the same figures: the mean of what each
    /// measured.
    pub fn measure(&mut self) -> Result<Network, OpError> {
        const ROUNDS: u64 = 8;
        const NUMBERS: usize = 1 << 20;
        let options = Options { algorithm: Algorithm::Transpose, ..Options::default() };
        let ranks = self.group.size();
        self.barrier(&options)?; // Connections are made by the first parcel.
        let started = self.carrier.now();
        for _ in 0..ROUNDS {
            self.barrier(&options)?;
        }
        let rounds = ROUNDS * u64::from(ranks.next_power_of_two().ilog2().max(1));
        let latency = (self.carrier.now().since(started) / rounds).as_secs_f64();
        let mut per_byte = |algorithm: Algorithm, steps: usize| {
            let options = Options { algorithm, ..Options::default() };
            let mut numbers = vec![0f32; NUMBERS];
            let took = self.all_reduce(&mut numbers, ReduceOp::Sum, &options)?.took.as_secs_f64();
            let moved = 2.0 * (ranks - 1) as f64 / ranks as f64 * (NUMBERS * 4) as f64;
            // Latencies and bytes overlap: what is left after all of the latencies may be little.
            Ok::<f64, OpError>((took - steps as f64 * latency).max(took / 4.0) / moved.max(1.0))
        };
        let ring = per_byte(Algorithm::Ring, 2 * (ranks - 1))?;
        let transpose = per_byte(Algorithm::Transpose, 2)?;
        let mut figures = [latency, ring, transpose];
        self.all_reduce(&mut figures, ReduceOp::Mean, &options)?;
        let [latency, ring, transpose] = figures;
        let rate = |per_byte: f64| Rate::bps((8.0 / per_byte.max(1e-15)) as u64);
        let network = Network {
            latency: Span::from_secs_f64(latency),
            bandwidth: rate(ring),
            crowded: rate(transpose),
            parcel: self.engine.network().parcel,
        };
        self.engine.set_network(network);
        Ok(network)
    }
}

/// A communicator whose calls work on another group, until this is dropped.
#[derive(Debug)]
pub struct Within<'a, C> {
    communicator: &'a mut Communicator<C>,
    outer: Group,
}

impl<C> Deref for Within<'_, C> {
    type Target = Communicator<C>;

    fn deref(&self) -> &Communicator<C> {
        self.communicator
    }
}

impl<C> DerefMut for Within<'_, C> {
    fn deref_mut(&mut self) -> &mut Communicator<C> {
        self.communicator
    }
}

impl<C> Drop for Within<'_, C> {
    fn drop(&mut self) {
        std::mem::swap(&mut self.communicator.group, &mut self.outer);
    }
}
