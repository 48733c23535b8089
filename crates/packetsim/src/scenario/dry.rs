//! What a point would send, without packets: every flow takes the time it needs alone.

use std::collections::BTreeSet;

use laxity_interface::{Span, Time};
use laxity_topology::{LinkId, Routes, flow_hash};

use super::point::Point;
use crate::{
    flow::{Done, Driver, FlowId},
    measure::{self, Ideal, Summary},
    workload::Started,
};

/// Flows after which counting ends.
const MOST_FLOWS: usize = 2_000_000;

/// What a point would send, per workload and over each link.
#[derive(Clone, Debug)]
pub struct Dry {
    /// One for each workload.
    pub workloads: Vec<DryWorkload>,
    /// Bytes over each link, with headers; paths by flow, as one possible draw.
    pub link_bytes: Vec<u64>,
    /// Bytes over the first links of all flows.
    pub first_bytes: u64,
    /// When the last flow of the foreground would have ended.
    pub end: Time,
    /// Whether not everything was counted, because there are too many flows or no end.
    pub cut: bool,
}

/// What one workload would send.
#[derive(Clone, Debug)]
pub struct DryWorkload {
    /// Flows.
    pub flows: u64,
    /// Messages of all flows.
    pub messages: u64,
    /// Bytes of payload of all flows.
    pub bytes: u64,
    /// Packets that carry them.
    pub packets: u64,
    /// Times of flows alone in the network, in seconds.
    pub ideal_s: Option<Summary>,
}

impl Point {
    /// Counts what would be sent.
    pub fn dry(&self, seed: u64) -> Dry {
        let net = &*self.topology;
        let mut ideal = Ideal::new(net);
        let mut driver = self.driver(seed);
        let mut ends: BTreeSet<(Time, u32)> = BTreeSet::new();
        let (mut now, mut cut) = (Time::ZERO, false);
        while !driver.is_done() {
            let next = driver.poll_timeout().into_iter().chain(ends.first().map(|(end, _)| *end));
            let Some(next) = next.min().filter(|next| *next <= self.limits.until) else {
                cut = true;
                break;
            };
            now = next;
            while let Some((end, id)) = ends.first().copied().filter(|(end, _)| *end <= now) {
                ends.remove(&(end, id));
                let done = whole(FlowId(id), &driver.started()[id as usize], end);
                driver.handle_done(&done);
            }
            while let Some(flow) = driver.poll_flow(now) {
                let id = driver.started().len() as u32 - 1;
                ends.insert((now + ideal.time(&flow).max(Span::from_ps(1)), id));
            }
            if driver.started().len() > MOST_FLOWS {
                cut = true;
                break;
            }
        }
        let started = driver.into_started();
        let routes = Routes::new(net);
        let (mut link_bytes, mut first_bytes) = (vec![0; net.links().len()], 0);
        for (number, Started { flow, .. }) in started.iter().enumerate() {
            let (from, to) = (net.hosts()[flow.from.index()], net.hosts()[flow.to.index()]);
            let hash = flow_hash(from, to, number as u64);
            let Ok(path) = routes.path(net, from, to, hash) else { continue };
            let (_, bytes) = measure::packets(flow);
            first_bytes += bytes;
            for link in path.iter() {
                link_bytes[link.index()] += bytes;
            }
        }
        let one = |at: usize| {
            let own = || started.iter().filter(move |s| usize::from(s.tag().workload) == at);
            let times: Vec<_> = own().map(|s| ideal.time(&s.flow).as_secs_f64()).collect();
            DryWorkload {
                flows: own().count() as u64,
                messages: own().map(|s| u64::from(s.flow.messages.count())).sum(),
                bytes: own().map(|s| s.flow.messages.total()).sum(),
                packets: own().map(|s| measure::packets(&s.flow).0).sum(),
                ideal_s: Summary::of(&times),
            }
        };
        let workloads = (0..self.workloads.len()).map(one).collect();
        Dry { workloads, link_bytes, first_bytes, end: now, cut }
    }
}

impl Dry {
    /// The part of a link's capacity that would be used until the end.
    pub fn load(&self, point: &Point, link: LinkId) -> f64 {
        let could = point.topology.link(link).capacity.bytes_in(self.end.since(Time::ZERO)).get();
        self.link_bytes[link.index()] as f64 / could.max(1) as f64
    }

    /// The link with the highest load.
    pub fn busiest(&self, point: &Point) -> Option<(LinkId, f64)> {
        let all = (0..self.link_bytes.len() as u32).map(LinkId);
        let all = all.map(|link| (link, self.load(point, link)));
        all.max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// A flow that brought everything home.
fn whole(flow: FlowId, started: &Started, finished: Time) -> Done {
    let messages = started.flow.messages.count();
    Done {
        flow,
        tag: started.flow.tag,
        started: started.at,
        finished,
        delivered: messages,
        messages,
        bytes: started.flow.messages.total(),
        short: false,
        missing: Vec::new(),
    }
}
