//! The least that a flow has to bring home, and the least time for it.

use std::collections::BTreeMap;

use laxity_interface::{Bytes, Span};
use laxity_topology::{LinkId, Path, Routes, Topology};

use crate::{
    flow::{Flow, HostId, Messages, Ready},
    packet::{HEADER, MTU, PAYLOAD},
    setup::packet_sizes,
    simulation::ideal_time_on,
};

/// More packets than this are not counted one by one: what comes after them only waits for the
/// slowest link.
const ONE_BY_ONE: u64 = 64;

/// The least messages and bytes with which a flow keeps its promise: its smallest messages.
pub fn needed(flow: &Flow) -> (u64, u64) {
    let count = flow.min_delivery.of(u64::from(flow.messages.count()));
    let bytes = match &flow.messages {
        Messages::Equal { bytes, .. } => count * u64::from(*bytes),
        sizes if count == u64::from(sizes.count()) => sizes.total(),
        Messages::Sizes(sizes) => {
            let mut sorted = sizes.to_vec();
            sorted.sort_unstable();
            sorted[..count as usize].iter().map(|size| u64::from(*size)).sum()
        }
    };
    (count, bytes)
}

/// Times of flows in an empty network, for many flows.
#[derive(Debug)]
pub struct Ideal<'a> {
    net: &'a Topology,
    routes: Routes,
    paths: BTreeMap<(HostId, HostId), Path>,
}

impl<'a> Ideal<'a> {
    /// For flows of this network.
    pub fn new(net: &'a Topology) -> Self {
        Self { net, routes: Routes::new(net), paths: BTreeMap::new() }
    }

    /// One of the shortest paths between two hosts.
    ///
    /// # Panics
    /// If there is none.
    pub fn path(&mut self, from: HostId, to: HostId) -> Path {
        let (net, routes) = (self.net, &self.routes);
        let found = self.paths.entry((from, to)).or_insert_with(|| {
            let (from, to) = (net.hosts()[from.index()], net.hosts()[to.index()]);
            routes.path(net, from, to, 0).expect("all hosts of a scenario can reach each other")
        });
        found.clone()
    }

    /// What the least that a flow has to bring home takes if nobody else sends: full packets of
    /// payload in one stream, from the first bit to the last. No transport can be faster, because
    /// messages that are not whole packets only need more of them. Where messages come one by one it is
    /// also not sooner than the first time at which enough of them are ready, and the way of the smallest
    /// of those that are not ready before.
    pub fn time(&mut self, flow: &Flow) -> Span {
        let (count, bytes) = needed(flow);
        let path = self.path(flow.from, flow.to);
        let stream = stream_time(self.net, &path, bytes);
        let (Ready::Each(times), Some(last)) = (&flow.ready, count.checked_sub(1)) else {
            return stream;
        };
        let late = last as u32..flow.messages.count();
        let smallest = late.map(|message| flow.messages.size(message)).min().unwrap_or(0);
        stream.max(times[last as usize] + stream_time(self.net, &path, smallest.into()))
    }
}

/// What so many bytes of payload in full packets take on a path.
fn stream_time(net: &Topology, path: &[LinkId], payload: u64) -> Span {
    let full = payload / u64::from(PAYLOAD);
    let skipped = full.saturating_sub(ONE_BY_ONE);
    let rest = payload - skipped * u64::from(PAYLOAD);
    let slowest = path.iter().map(|link| net.link(*link).capacity.time_for(Bytes::new(MTU.into())));
    let slowest = slowest.max().unwrap_or_default();
    ideal_time_on(net, path, packet_sizes(rest)) + slowest * skipped
}

/// Packets that a flow's messages fill, if each begins a packet of its own; and their bytes on the
/// wire.
pub fn packets(flow: &Flow) -> (u64, u64) {
    let of = |size: u32| u64::from(size).div_ceil(u64::from(PAYLOAD)).max(1);
    let count = match &flow.messages {
        Messages::Equal { count, bytes } => u64::from(*count) * of(*bytes),
        Messages::Sizes(sizes) => sizes.iter().map(|size| of(*size)).sum(),
    };
    (count, flow.messages.total() + count * u64::from(HEADER))
}

#[cfg(test)]
mod tests {
    use laxity_interface::{Fraction, Rate};

    use super::*;

    fn flow(messages: Messages, part: f64) -> Flow {
        let min_delivery = Fraction::new(part).unwrap();
        Flow {
            from: HostId(0),
            to: HostId(1),
            stack: 0,
            tag: 0,
            messages,
            ready: Ready::AtOnce,
            min_delivery,
        }
    }

    #[test]
    fn the_smallest_messages_are_enough() {
        let sizes = || Messages::Sizes([50, 10, 30, 20].into());
        assert_eq!(needed(&flow(sizes(), 1.0)), (4, 110));
        assert_eq!(needed(&flow(sizes(), 0.6)), (3, 60));
        assert_eq!(needed(&flow(sizes(), 0.0)), (0, 0));
        assert_eq!(needed(&flow(Messages::Equal { count: 10, bytes: 7 }, 0.75)), (8, 56));
    }

    #[test]
    fn skipping_packets_changes_nothing() {
        let net = Topology::leaf_spine(2, 2, 2, Rate::from_gbps(10), 2, Span::from_us(1)).unwrap();
        let mut ideal = Ideal::new(&net);
        let path = ideal.path(HostId(0), HostId(3));
        for payload in [1u64, 1460, 1461, 64 * 1460, 65 * 1460, 66 * 1460 + 7, 1_000_000] {
            let all = ideal_time_on(&net, &path, packet_sizes(payload));
            assert_eq!(stream_time(&net, &path, payload), all, "{payload}");
        }
    }

    #[test]
    fn nothing_ends_before_enough_is_ready() {
        let net = Topology::star(2, Rate::from_gbps(1), Span::from_us(3)).unwrap();
        let times = |n: u64| (0..n).map(|at| Span::from_us(100 * at)).collect();
        let slow = |part| Flow {
            ready: Ready::Each(times(10)),
            ..flow(Messages::Equal { count: 10, bytes: 1460 }, part)
        };
        let way = Rate::from_gbps(1).time_for(Bytes::new(1518)) * 2 + Span::from_us(6);
        assert_eq!(Ideal::new(&net).time(&slow(1.0)), Span::from_us(900) + way);
        assert_eq!(Ideal::new(&net).time(&slow(0.5)), Span::from_us(400) + way);
        let once = Flow { ready: Ready::AtOnce, ..slow(1.0) };
        let gapless = Flow { ready: Ready::Each([Span::ZERO; 10].into()), ..slow(1.0) };
        assert_eq!(Ideal::new(&net).time(&gapless), Ideal::new(&net).time(&once));
    }

    #[test]
    fn a_star_in_closed_form() {
        let net = Topology::star(2, Rate::from_gbps(1), Span::from_us(3)).unwrap();
        let whole = flow(Messages::Equal { count: 10, bytes: 1460 }, 1.0);
        // Ten packets one behind the other, the last once more over the second link, two delays.
        let expected = Rate::from_gbps(1).time_for(Bytes::new(1518)) * 11 + Span::from_us(6);
        assert_eq!(Ideal::new(&net).time(&whole), expected);
        assert_eq!(packets(&whole), (10, 15_180));
        let short = flow(Messages::Sizes([1, 2000, 1460].into()), 1.0);
        assert_eq!(packets(&short), (4, 3461 + 4 * 58));
    }
}
