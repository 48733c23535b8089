//! Lines, ports and the packets in them: everything between hosts.

use laxity_interface::Time;
use laxity_topology::{LinkId, NodeId, Routes, Topology};

use super::{memory::Memories, outcome::Drops};
use crate::{
    fault::{Rules, Verdict},
    kernel::{Class, Event, Handle, List, NONE, Pool, Queue},
    port::{Limits, Loss, Port, Room},
    random::mix,
    setup::Routing,
    trace::{DropReason, Observer, TraceEvent, TraceHash},
};

/// Who watches, if anybody does.
pub(super) type Watch<'a> = Option<&'a mut dyn Observer>;

/// Not a host.
pub(super) const NO_HOST: u32 = u32::MAX;

/// One directed link with the port before it. Packets on a link arrive in the order in which they
/// left, so only the first of them has an event.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Line {
    /// Packets on the link, first to arrive first.
    wire: List,
    delay: u64,
    /// Bytes that left.
    pub(super) sent: u64,
    /// The node at its end.
    end: End,
    /// The host whose interface this is, or none.
    pub(super) from_host: u32,
    pub(super) port: Port,
    /// Whether rules judge its packets.
    judged: bool,
    /// The number of the node before it.
    from: u32,
}

/// The node at the end of a link in one word: a host by its position, or a switch by its number.
#[derive(Debug, Clone, Copy)]
struct End(u32);

impl End {
    const HOST: u32 = 1 << 31;
}

/// Everything between hosts.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) now: u64,
    pub(super) queue: Queue,
    pub(super) pool: Pool,
    pub(super) lines: Vec<Line>,
    pub(super) topology: Topology,
    pub(super) routes: Routes,
    pub(super) routing: Routing,
    pub(super) limits: Limits,
    /// Where ports share.
    pub(super) memories: Option<Memories>,
    /// Rules of each link; empty where no fault is on any.
    pub(super) rules: Vec<Rules>,
    pub(super) spray: u64,
    pub(super) hash: TraceHash,
    pub(super) hops: u64,
    pub(super) sent: u64,
    pub(super) delivered: u64,
    pub(super) drops: Drops,
    pub(super) marks: u64,
    pub(super) trimmed: u64,
}

impl Line {
    pub(super) fn new(topology: &Topology, id: LinkId, port: Port, judged: bool) -> Self {
        let link = topology.link(id);
        let host = |node| topology.host_index(node).map_or(NO_HOST, |index| index as u32);
        let end = match topology.host_index(link.to) {
            Some(index) => End(End::HOST | index as u32),
            None => End(link.to.0),
        };
        Self {
            wire: List::default(),
            delay: link.delay.as_ps(),
            sent: 0,
            end,
            from_host: host(link.from),
            port,
            judged,
            from: link.from.0,
        }
    }

    /// The switch at its end, or the host.
    #[inline]
    pub(super) fn end(&self) -> Result<NodeId, usize> {
        match self.end.0 & End::HOST {
            0 => Ok(NodeId(self.end.0)),
            _ => Err((self.end.0 & !End::HOST) as usize),
        }
    }
}

impl Network {
    /// The time.
    pub(super) fn time(&self) -> Time {
        Time::from_ps(self.now)
    }

    /// The next event.
    #[inline]
    pub(super) fn next_event(&mut self) -> Option<Event> {
        if let Some(event) = self.queue.peek() {
            return Some(event);
        }
        self.queue.advance();
        self.warm();
        self.queue.peek()
    }

    /// Looks at what the events of this slot are about to need. Large networks do not fit the
    /// processor's caches, and most of the time goes by in waiting for memory. Here the processor
    /// waits for all of a slot's lines and packets at once, later it would for one after the other.
    fn warm(&self) {
        let mut seen = 0;
        for event in self.queue.batch() {
            let line = match event.class() {
                Class::Arrive | Class::Free => &self.lines[event.target() as usize],
                _ => continue,
            };
            let head = match event.class() {
                Class::Arrive => line.wire.head,
                _ => line.port.head(),
            };
            seen ^= self.pool.touch(head);
        }
        std::hint::black_box(seen);
    }

    /// The first packet on a link has arrived: takes it off. The event of the next follows its own.
    #[inline]
    pub(super) fn take_arrived(&mut self, at: u32) -> Handle {
        let line = &mut self.lines[at as usize];
        let handle = self.pool.pop(&mut line.wire).expect("a packet on the link");
        self.queue.pop();
        if line.wire.head != NONE {
            self.queue.push(self.pool.arrives(line.wire.head), Class::Arrive, at);
        }
        handle
    }

    /// Sends a packet on from a switch, or from its host's interface.
    #[inline]
    pub(super) fn forward(&mut self, node: NodeId, handle: Handle, watch: &mut Watch<'_>) {
        let label = self.pool.label(handle);
        let hash = match self.routing {
            Routing::Ecmp => u64::from(label.hash),
            Routing::Spray => {
                self.spray = self.spray.wrapping_add(1);
                mix(self.spray)
            }
        };
        match self.routes.next_hop(node, usize::from(label.to), hash) {
            Some(link) => self.offer(link.0, handle, watch),
            None => self.lose(None, handle, DropReason::NoRoute, watch),
        }
    }

    /// A packet comes to a port: it leaves at once if the line is free, else it waits or is lost.
    #[inline]
    fn offer(&mut self, at: u32, handle: Handle, watch: &mut Watch<'_>) {
        let line = &mut self.lines[at as usize];
        if line.port.free_at <= self.now && line.port.packets() == 0 {
            return self.transmit(at, handle, watch);
        }
        if line.from_host != NO_HOST {
            line.port.push(&mut self.pool, handle);
        } else {
            let room = self.memories.as_ref().map_or(Room::ANY, |memory| memory.room(line.from));
            let before = line.port.bytes();
            let admission = line.port.offer(&self.limits, room, &mut self.pool, handle);
            if let Some(memories) = &mut self.memories {
                memories.note(line.from, before, line.port.bytes());
            }
            if admission.marked {
                self.marks += 1;
                if let Some(observer) = watch {
                    let (link, packet) = (LinkId(at), self.pool.get(handle));
                    observer
                        .on_event(Time::from_ps(self.now), &TraceEvent::Marked { link, packet });
                }
            }
            if admission.trimmed {
                self.trimmed += 1;
                if let Some(observer) = watch {
                    let (link, packet) = (LinkId(at), self.pool.get(handle));
                    observer
                        .on_event(Time::from_ps(self.now), &TraceEvent::Trimmed { link, packet });
                }
            }
            if let Some(loss) = admission.lost {
                let why = match loss {
                    Loss::Full => DropReason::Full,
                    Loss::Early => DropReason::Early,
                };
                return self.lose(Some(LinkId(at)), handle, why, watch);
            }
            let mut gone = admission.pushed_out;
            while let Some(handle) = self.pool.pop(&mut gone) {
                self.lose(Some(LinkId(at)), handle, DropReason::PushedOut, watch);
            }
        }
        let port = &mut self.lines[at as usize].port;
        if !port.pending {
            port.pending = true;
            self.queue.push(port.free_at, Class::Free, at);
        }
    }

    /// A line is free and packets wait: the next one leaves. The event was taken off or renewed.
    #[inline]
    pub(super) fn free(&mut self, at: u32, watch: &mut Watch<'_>) {
        let line = &mut self.lines[at as usize];
        let port = &mut line.port;
        let before = port.bytes();
        let handle = port.pop(&self.pool).expect("a packet that waits");
        if let Some(memories) = self.memories.as_mut().filter(|_| line.from_host == NO_HOST) {
            memories.note(line.from, before, port.bytes());
        }
        let more = port.packets() > 0;
        port.pending = more;
        self.queue.pop();
        if more {
            let free_at = self.now + port.time_for(self.pool.label(handle).size);
            self.queue.push(free_at, Class::Free, at);
        }
        self.transmit(at, handle, watch);
    }

    /// Puts a packet on its line now.
    #[inline]
    fn transmit(&mut self, at: u32, handle: Handle, watch: &mut Watch<'_>) {
        let line = &mut self.lines[at as usize];
        let label = self.pool.label(handle);
        let free_at = self.now + line.port.time_for(label.size);
        line.port.free_at = free_at;
        line.sent += u64::from(label.size);
        self.hops += 1;
        self.hash.add(self.now ^ u64::from(at) << 48);
        self.hash.add(label.identity);
        if let Some(observer) = watch {
            let packet = self.pool.get(handle);
            let sent = TraceEvent::Sent { link: LinkId(at), packet };
            observer.on_event(Time::from_ps(self.now), &sent);
        }
        let arrives = free_at + line.delay;
        if line.judged {
            let stack = self.pool.get(handle).stack;
            match self.rules[at as usize].judge(stack, label.size, Time::from_ps(self.now)) {
                Verdict::Pass => {}
                Verdict::Drop => {
                    return self.lose(Some(LinkId(at)), handle, DropReason::Fault, watch);
                }
                Verdict::Late(extra) => {
                    self.pool.set_arrives(handle, u64::from(at));
                    return self.queue.push(arrives + extra.as_ps(), Class::Late, handle);
                }
            }
        }
        self.pool.set_arrives(handle, arrives);
        if line.wire.head == NONE {
            self.queue.push(arrives, Class::Arrive, at);
        }
        self.pool.push(&mut line.wire, handle);
    }

    /// A packet is lost.
    fn lose(
        &mut self,
        link: Option<LinkId>,
        handle: Handle,
        why: DropReason,
        watch: &mut Watch<'_>,
    ) {
        let packet = self.pool.take(handle);
        self.drops.count(why);
        self.hash.add(self.now ^ (why as u64) << 56);
        self.hash.add(packet.sequence ^ u64::from(packet.flow.0) << 32);
        if let Some(observer) = watch {
            let dropped = TraceEvent::Dropped { link, why, packet: &packet };
            observer.on_event(Time::from_ps(self.now), &dropped);
        }
    }
}
