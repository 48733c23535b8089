//! A network without packets: every flow takes what a function says.

use std::collections::BTreeMap;

use laxity_interface::{Bytes, Fraction, Span, Time};

use super::{Cargo, Gaps};
use crate::{
    flow::{Done, Driver, Flow, FlowId, HostId, Messages, Ready},
    sizes::Sizes,
};

/// Runs a driver to its end; flows in the order of their start, with start and end.
pub(super) fn play(
    mut driver: impl Driver,
    takes: impl Fn(&Flow) -> Span,
) -> Vec<(Time, Flow, Time)> {
    let mut ran: Vec<(Time, Flow, Time)> = Vec::new();
    let mut ends: BTreeMap<(Time, u32), ()> = BTreeMap::new();
    while !driver.is_done() {
        let next_end = ends.keys().next().copied();
        let now = match (driver.poll_timeout(), next_end) {
            (Some(start), Some((end, _))) => start.min(end),
            (Some(start), None) => start,
            (None, Some((end, _))) => end,
            (None, None) => panic!("the driver waits for nothing: {} flows ran", ran.len()),
        };
        if let Some((end, id)) = next_end.filter(|(end, _)| *end <= now) {
            ends.remove(&(end, id));
            let (started, flow, _) = &ran[id as usize];
            driver.handle_done(&Done {
                flow: FlowId(id),
                tag: flow.tag,
                started: *started,
                finished: end,
                delivered: flow.messages.count(),
                messages: flow.messages.count(),
                bytes: flow.messages.total(),
                short: false,
                missing: Vec::new(),
            });
        }
        while let Some(flow) = driver.poll_flow(now) {
            let end = now + takes(&flow);
            ends.insert((end, ran.len() as u32), ());
            ran.push((now, flow, end));
            assert!(ran.len() < 1_000_000, "it never ends");
        }
    }
    ran
}

pub(super) fn flow(from: u16, to: u16, tag: u64) -> Flow {
    Flow {
        from: HostId(from),
        to: HostId(to),
        stack: 0,
        tag,
        messages: Messages::Equal { count: 1, bytes: 1000 },
        ready: Ready::AtOnce,
        min_delivery: Fraction::ONE,
    }
}

pub(super) fn cargo(bytes: u64) -> Cargo {
    let sizes = Sizes::Fixed(Bytes::new(bytes));
    Cargo { stack: 0, min_delivery: Fraction::ONE, messages: 1, sizes, gaps: Gaps::AtOnce }
}

pub(super) fn hosts(n: u16) -> Vec<HostId> {
    (0..n).map(HostId).collect()
}
