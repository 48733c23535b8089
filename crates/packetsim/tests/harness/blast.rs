//! A transport without any control, to look at networks.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use laxity_interface::{Ecn, Fraction, Time};
use laxity_packetsim::{
    Context, Flags, Flow, FlowId, HostId, Messages, Packet, Ready, Setup, Simulation, Stack, Tally,
};

/// A packet as its receiver saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) at: Time,
    pub(crate) flow: u32,
    pub(crate) sequence: u64,
    pub(crate) size: u32,
    pub(crate) ecn: Ecn,
    pub(crate) flags: Flags,
}

pub(crate) type Arrivals = Arc<Mutex<Vec<Arrival>>>;

/// Sends every message of a flow as one packet, as fast as it can, and never again. A flow ends when
/// all of its packets have arrived.
#[derive(Debug)]
struct Blast {
    waiting: VecDeque<Packet>,
    got: Vec<u32>,
    arrivals: Arrivals,
    tally: Tally,
}

/// What packets of a flow look like; travels as the flow's tag.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    pub(crate) class: u8,
    pub(crate) rank: u32,
    pub(crate) flags: u8,
}

pub(crate) const PLAIN: Look = Look { class: 0, rank: 0, flags: 0 };
pub(crate) const DROPPABLE: u8 = 1;
pub(crate) const TRIMMABLE: u8 = 2;

/// Packets of this size on the wire.
pub(crate) fn packets(from: u16, to: u16, count: u32, size: u32, look: Look) -> Flow {
    Flow {
        from: HostId(from),
        to: HostId(to),
        stack: 0,
        tag: u64::from(look.rank) << 32 | u64::from(look.flags) << 8 | u64::from(look.class),
        messages: Messages::Equal { count, bytes: size },
        ready: Ready::AtOnce,
        min_delivery: Fraction::ONE,
    }
}

/// A network of such hosts, and what they receive.
pub(crate) fn blasting(setup: &Setup) -> (Simulation, Arrivals) {
    blasting_with(setup, 1)
}

/// The same with several stacks on each host.
pub(crate) fn blasting_with(setup: &Setup, stacks: usize) -> (Simulation, Arrivals) {
    let arrivals = Arrivals::default();
    let stack = || -> Box<dyn Stack> {
        Box::new(Blast {
            waiting: VecDeque::new(),
            got: Vec::new(),
            arrivals: Arc::clone(&arrivals),
            tally: Tally::default(),
        })
    };
    let simulation = Simulation::new(setup, |_| (0..stacks).map(|_| stack()).collect());
    (simulation.unwrap(), arrivals)
}

impl Stack for Blast {
    fn handle_start(&mut self, id: FlowId, cx: &mut Context<'_>) {
        let flow = cx.flow(id).clone();
        let flags = [(DROPPABLE, Flags::DROPPABLE), (TRIMMABLE, Flags::TRIMMABLE)];
        let flags = flags.iter().filter(|(bit, _)| flow.tag >> 8 & u64::from(*bit) > 0);
        let flags = flags.fold(Flags::NONE, |all, (_, flag)| all.with(*flag));
        for sequence in 0..flow.messages.count() {
            self.waiting.push_back(Packet {
                size: flow.messages.size(sequence),
                from: flow.from,
                to: flow.to,
                flow: id,
                hash: id.0,
                stack: flow.stack,
                class: flow.tag as u8,
                ecn: Ecn::Ect0,
                flags,
                kind: 0,
                rank: flow.tag >> 32,
                sequence: sequence.into(),
                acknowledged: 0,
                part: (0, 0),
                stamp: cx.now,
                body: None,
            });
        }
    }

    fn handle_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let Packet { sequence, size, ecn, flags, .. } = packet;
        let (at, flow) = (cx.now, packet.flow.0);
        self.arrivals.lock().unwrap().push(Arrival { at, flow, sequence, size, ecn, flags });
        let index = packet.flow.index();
        if self.got.len() <= index {
            self.got.resize(index + 1, 0);
        }
        self.got[index] += 1;
        let count = cx.flow(packet.flow).messages.count();
        if self.got[index] == count {
            cx.finish(packet.flow, count, cx.flow(packet.flow).messages.total(), false);
        }
    }

    fn handle_timeout(&mut self, _: &mut Context<'_>) {}

    fn poll_packet(&mut self, _: &mut Context<'_>) -> Option<Packet> {
        let packet = self.waiting.pop_front()?;
        self.tally.data_packets += 1;
        Some(packet)
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
