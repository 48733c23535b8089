//! Hosts: their stacks, their interface, their timers.

use laxity_interface::{Rate, Span, Time};
use laxity_topology::NodeId;
use rand_pcg::Pcg64Mcg;

use super::network::{Network, Watch};
use crate::{
    flow::{Done, Flow, HostId},
    kernel::Class,
    packet::Packet,
    stack::{Context, Stack},
};

/// A host.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) id: HostId,
    pub(super) node: NodeId,
    pub(super) stacks: Vec<Box<dyn Stack>>,
    /// Its links, by number.
    pub(super) lines: Vec<u32>,
    pub(super) line_rate: Rate,
    pub(super) rng: Pcg64Mcg,
    /// The number of its first timer; every stack has one.
    pub(super) first_timer: u32,
    /// When the event of each timer comes; the largest number without one.
    pub(super) armed: Vec<u64>,
    /// Whose turn it is to send.
    pub(super) turn: usize,
}

/// What all hosts share.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) base_rtt: Span,
    pub(super) nic_packets: u32,
    /// Every flow with its start.
    pub(super) flows: Vec<(Time, Flow)>,
    /// Ends that were reported and not handled yet.
    pub(super) done: Vec<Done>,
}

impl Host {
    /// Calls one of the stacks, then lets all of them send.
    #[inline]
    pub(super) fn call(
        &mut self,
        stack: usize,
        common: &mut Common,
        net: &mut Network,
        watch: &mut Watch<'_>,
        act: impl FnOnce(&mut dyn Stack, &mut Context<'_>),
    ) {
        let mut cx = Context {
            now: net.time(),
            host: self.id,
            line_rate: self.line_rate,
            base_rtt: common.base_rtt,
            flows: &common.flows,
            rng: &mut self.rng,
            done: &mut common.done,
        };
        act(self.stacks[stack].as_mut(), &mut cx);
        self.pump(common, net, watch);
    }

    /// Fills the interface while it has room, stack by stack in turn, and sets timers.
    #[inline]
    pub(super) fn pump(&mut self, common: &mut Common, net: &mut Network, watch: &mut Watch<'_>) {
        while self.has_room(common.nic_packets, net)
            && let Some(packet) = self.next_packet(common, net.time())
        {
            debug_assert_eq!(packet.from, self.id, "a packet from another host");
            let handle = net.pool.insert(packet);
            net.sent += 1;
            net.forward(self.node, handle, watch);
        }
        for (at, stack) in self.stacks.iter().enumerate() {
            let due = stack.poll_timeout().map_or(u64::MAX, Time::as_ps).max(net.now);
            // A timer that moves later keeps its event, which finds out.
            if due < self.armed[at] {
                self.armed[at] = due;
                net.queue.push(due, Class::Timer, self.first_timer + at as u32);
            }
        }
    }

    #[inline]
    fn has_room(&self, most: u32, net: &Network) -> bool {
        self.lines.iter().all(|line| net.lines[*line as usize].port.packets() < most)
    }

    #[inline]
    fn next_packet(&mut self, common: &mut Common, now: Time) -> Option<Packet> {
        let mut cx = Context {
            now,
            host: self.id,
            line_rate: self.line_rate,
            base_rtt: common.base_rtt,
            flows: &common.flows,
            rng: &mut self.rng,
            done: &mut common.done,
        };
        let stacks = self.stacks.len();
        for offset in 0..stacks {
            let mut at = self.turn + offset;
            if at >= stacks {
                at -= stacks;
            }
            if let Some(packet) = self.stacks[at].poll_packet(&mut cx) {
                self.turn = if at + 1 == stacks { 0 } else { at + 1 };
                return Some(packet);
            }
        }
        None
    }

    /// The event of a timer has come: whether the stack wants to be called, or wants it later.
    pub(super) fn timer_is_due(&mut self, stack: usize, net: &mut Network) -> bool {
        if self.armed[stack] != net.now {
            // An earlier event was asked for after this one.
            return false;
        }
        self.armed[stack] = u64::MAX;
        match self.stacks[stack].poll_timeout().map(Time::as_ps) {
            None => false,
            Some(due) if due <= net.now => true,
            Some(due) => {
                self.armed[stack] = due;
                net.queue.push(due, Class::Timer, self.first_timer + stack as u32);
                false
            }
        }
    }
}
