//! Switches, hosts and links together, in virtual time.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque},
};

use laxity_interface::{Rate, Time};

use crate::{
    builder::FabricBuilder,
    change::Change,
    counters::{Count, Counters},
    frame::{Frame, MacAddress},
    ids::{HostId, NodeId, PortId},
    port::Port,
    routes::Routes,
};

/// How many buffers are kept for reuse; beyond that they are given back to the allocator.
const SPARE_BUFFERS: usize = 65_536;

/// What happens next somewhere. At the same time a frame that has been sent goes before one that
/// arrives, so that its place is free; then the order of ports decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Sent,
    Arrived,
}

/// In the order of [`Port::entered`].
const EVENTS: [Event; 2] = [Event::Sent, Event::Arrived];

/// One or more output-queued switches with hosts around them.
///
/// Frames go in with [`handle_frame`](Self::handle_frame) and come out of
/// [`poll_frame`](Self::poll_frame); every due time is exact in virtual time, however late it is
/// asked for.
#[derive(Debug)]
pub struct Fabric {
    now: Time,
    ports: Vec<Port>,
    routes: Routes,
    addresses: BTreeMap<MacAddress, HostId>,
    /// By time; entries that no longer fit their port are skipped.
    events: BinaryHeap<Reverse<(Time, Event, PortId)>>,
    /// The earliest time at which each port that is busy lets a frame arrive, soonest first.
    soonest: BTreeSet<(Time, PortId)>,
    ready: VecDeque<(HostId, Frame, Time)>,
    spare: Vec<Vec<u8>>,
    unroutable: Count,
}

impl Fabric {
    /// Begins a fabric whose chance comes from `seed`.
    pub fn builder(seed: u64) -> FabricBuilder {
        FabricBuilder::new(seed)
    }

    pub(crate) fn new(
        ports: Vec<Port>,
        routes: Routes,
        addresses: BTreeMap<MacAddress, HostId>,
    ) -> Self {
        Self {
            now: Time::ZERO,
            ports,
            routes,
            addresses,
            events: BinaryHeap::new(),
            soonest: BTreeSet::new(),
            ready: VecDeque::new(),
            spare: Vec::new(),
            unroutable: Count::default(),
        }
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.addresses.len()
    }

    /// The port of a host's own uplink.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn uplink(&self, host: HostId) -> PortId {
        let port = self.ports.iter().find(|port| port.from == host.into());
        port.expect("every host has one link").id
    }

    /// The port of the switch that leads to a host.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn downlink(&self, host: HostId) -> PortId {
        let port = self.ports.iter().find(|port| port.to == host.into());
        port.expect("every host has one link").id
    }

    /// The latest time that it was told.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Makes a frame of a copy of these bytes, in a buffer that was used before if there is one.
    pub fn frame(&mut self, bytes: &[u8]) -> Frame {
        let mut buffer = self.buffer();
        buffer.extend_from_slice(bytes);
        Frame::new(buffer)
    }

    /// An empty buffer for a frame, one that was used before if there is one.
    pub fn buffer(&mut self) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer
    }

    /// Takes back the buffer of a frame that came out and is not needed any more.
    pub fn recycle(&mut self, frame: Frame) {
        if self.spare.len() < SPARE_BUFFERS {
            self.spare.push(frame.into_buffer());
        }
    }

    /// A host sends a frame. A time before one that it was told already counts as that one.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn handle_frame(&mut self, now: Time, from: HostId, mut frame: Frame) {
        assert!(from.index() < self.hosts(), "{from} is not part of this fabric");
        self.advance(now);
        frame.from = from;
        if !frame.destination().is_group() {
            frame.to = self.addresses.get(&frame.destination()).copied();
            if frame.to.is_none_or(|to| to == from) {
                self.unroutable.add(frame.size());
                return self.recycle(frame);
            }
        }
        self.forward(from.into(), frame);
        self.advance(now);
    }

    /// Takes out the next frame that has arrived at a host by `now`, and when it arrived.
    pub fn poll_frame(&mut self, now: Time) -> Option<(HostId, Frame, Time)> {
        self.advance(now);
        let (_, _, at) = self.ready.front()?;
        if *at <= now { self.ready.pop_front() } else { None }
    }

    /// Like [`poll_frame`](Self::poll_frame), but also gives out frames that are on the last link and
    /// will arrive by `until`: nothing that happens before can change that. For drivers that carry
    /// frames in batches, some a little early and some a little late.
    pub fn poll_frame_until(&mut self, now: Time, until: Time) -> Option<(HostId, Frame, Time)> {
        if let Some(found) = self.poll_frame(now) {
            return Some(found);
        }
        let soon = self.soonest.iter().take_while(|(at, _)| *at <= until);
        let (id, host) = soon.copied().find_map(|(_, id)| {
            let port = &self.ports[id.index()];
            match port.to {
                NodeId::Host(host) if port.arrival()? <= until => Some((id, host)),
                // A frame that its port still sends, or one that comes to a switch.
                NodeId::Host(_) | NodeId::Switch(_) => None,
            }
        })?;
        let port = &mut self.ports[id.index()];
        let at = port.arrival()?;
        let frame = port.handle_arrival()?;
        self.schedule(id);
        Some((host, frame, at))
    }

    /// The earliest time at which [`poll_frame`](Self::poll_frame) may give a frame if nothing else
    /// comes in. It may give none then; the next answer is later.
    pub fn poll_timeout(&self) -> Option<Time> {
        if let Some((_, _, at)) = self.ready.front() {
            return Some(*at);
        }
        self.soonest.first().map(|(at, _)| *at)
    }

    /// Changes the network.
    ///
    /// # Panics
    /// If there is no such port or host.
    pub fn handle_change(&mut self, now: Time, change: Change) {
        self.advance(now);
        match change {
            Change::Rate { port, rate } => self.set_rate(port, rate),
            Change::Delay { port, delay } => {
                self.ports[port.index()].set_delay(delay);
                self.schedule(port);
            }
            Change::Loss { port, loss } => self.ports[port.index()].set_loss(loss),
            // The two directions of a link have neighbouring numbers.
            Change::Link { port, up } => {
                let there = port.index() & !1;
                self.set_up(there, up);
                self.set_up(there + 1, up);
            }
            Change::Host { host, up } => {
                let port = self.uplink(host);
                self.handle_change(now, Change::Link { port, up });
            }
        }
        self.advance(now);
    }

    /// What it has done so far.
    pub fn counters(&self) -> Counters {
        let ports = self.ports.iter().map(Port::counters).collect();
        Counters { ports, unroutable: self.unroutable }
    }

    /// Lets everything happen that happens until `now`.
    fn advance(&mut self, now: Time) {
        while let Some(Reverse((at, event, id))) = self.events.peek().copied()
            && at <= now
        {
            self.events.pop();
            let port = &mut self.ports[id.index()];
            let entered = &mut port.entered[event as usize];
            *entered = entered.filter(|entered| *entered != at);
            match event {
                Event::Sent if port.done() == Some(at) => {
                    self.now = at;
                    let lost = port.handle_done(at);
                    self.schedule(id);
                    if let Some(frame) = lost {
                        self.recycle(frame);
                    }
                }
                Event::Arrived if port.arrival() == Some(at) => {
                    self.now = at;
                    let to = port.to;
                    let frame = port.handle_arrival();
                    self.schedule(id);
                    if let Some(frame) = frame {
                        self.arrive(to, frame);
                    }
                }
                // The port was changed or cut since.
                Event::Sent | Event::Arrived => {}
            }
        }
        self.now = self.now.max(now);
    }

    fn arrive(&mut self, at: NodeId, frame: Frame) {
        match at {
            NodeId::Host(host) => self.ready.push_back((host, frame, self.now)),
            NodeId::Switch(_) => self.forward(at, frame),
        }
    }

    /// Sends a frame on from a node: to the port towards its destination, or copies to all ports of
    /// the tree.
    fn forward(&mut self, at: NodeId, frame: Frame) {
        let Some(to) = frame.to else { return self.flood(at, frame) };
        let up = |port: PortId| self.ports[port.index()].up;
        match self.routes.next(at, to, frame.flow(), up) {
            Some(port) => self.enqueue(port, frame),
            None => unreachable!("every host can be reached from everywhere"),
        }
    }

    fn flood(&mut self, at: NodeId, frame: Frame) {
        let count = self.routes.flood(at, frame.from).len();
        for number in 0..count {
            let port = self.routes.flood(at, frame.from)[number];
            let copy = frame.copy_into(self.spare.pop().unwrap_or_default());
            self.enqueue(port, copy);
        }
        self.recycle(frame);
    }

    fn enqueue(&mut self, id: PortId, frame: Frame) {
        let dropped = self.ports[id.index()].handle_frame(self.now, frame);
        self.schedule(id);
        if let Some(frame) = dropped {
            self.recycle(frame);
        }
    }

    fn set_rate(&mut self, id: PortId, rate: Option<Rate>) {
        self.ports[id.index()].set_rate(self.now, rate);
        self.schedule(id);
    }

    fn set_up(&mut self, index: usize, up: bool) {
        for frame in self.ports[index].set_up(up) {
            self.recycle(frame);
        }
        self.schedule(PortId::new(index as u32));
    }

    /// Enters what a port does next into the calendar, unless it is there.
    fn schedule(&mut self, id: PortId) {
        let port = &mut self.ports[id.index()];
        let earliest = Some(port.earliest()).filter(|at| *at < Time::MAX);
        let before = std::mem::replace(&mut port.soonest, earliest);
        if before != earliest {
            before.map(|at| self.soonest.remove(&(at, id)));
            self.soonest.extend(earliest.map(|at| (at, id)));
        }
        let next = [port.done(), port.arrival()];
        let entered = std::mem::replace(&mut port.entered, next);
        for ((at, before), event) in next.into_iter().zip(entered).zip(EVENTS) {
            if let Some(at) = at.filter(|at| *at < Time::MAX && before != Some(*at)) {
                self.events.push(Reverse((at, event, id)));
            }
        }
    }
}
