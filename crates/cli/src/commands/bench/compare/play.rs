//! One run: connect, start, wait, close.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::{
    super::worker::{
        message::{Arrival, Load, Order, Receive, Send, Totals, Transport, Window},
        now_ns,
    },
    crew::Worker,
};

/// From the order to start until the start: every worker has heard it by then.
const LEAD_NS: u64 = 20_000_000;
/// Setting up and closing take a fraction of this, even if packets are lost.
const SETUP: Duration = Duration::from_secs(20);

/// A host and its worker.
pub(super) struct Seat {
    pub(super) worker: Worker,
    pub(super) address: IpAddr,
}

/// One flow of a run.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) transport: Transport,
}

/// What all flows of a run have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) load: Load,
    pub(super) bytes: u64,
    pub(super) limit: Duration,
    /// Streams: from when on, counted from the start, and for how long bytes are counted.
    pub(super) warm_up: Duration,
    pub(super) count_for: Duration,
}

/// How a run went.
#[derive(Clone, Debug)]
pub(super) struct Played {
    pub(super) start_ns: u64,
    /// What arrived, by the receiver's host and the kind of transport's place among the flows.
    pub(super) arrivals: Vec<(Group, Vec<Arrival>)>,
    pub(super) totals: Totals,
}

/// Flows that one receiver takes: to the same host by the same transport.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Group {
    pub(super) to: usize,
    pub(super) transport: Transport,
    pub(super) senders: usize,
}

fn groups(flows: &[Flow]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for flow in flows {
        let same = |group: &&mut Group| group.to == flow.to && group.transport == flow.transport;
        match groups.iter_mut().find(same) {
            Some(group) => group.senders += 1,
            None => {
                groups.push(Group { to: flow.to, transport: flow.transport.clone(), senders: 1 })
            }
        }
    }
    groups
}

/// Plays one run; `before_start` is called when everything is connected and nothing is sent yet.
pub(super) fn play(
    seats: &mut [Seat],
    flows: &[Flow],
    terms: &Terms,
    before_start: impl FnOnce() -> Result<()>,
) -> Result<Played> {
    let mut tasks: BTreeMap<usize, usize> = BTreeMap::new();
    let groups = connect(seats, flows, terms, &mut tasks)?;
    before_start()?;
    let start_ns = now_ns() + LEAD_NS;
    let from_ns = start_ns + terms.warm_up.as_nanos() as u64;
    let until_ns = from_ns + terms.count_for.as_nanos() as u64;
    for host in tasks.keys() {
        seats[*host].worker.order(&Order::Start(Window { start_ns, from_ns, until_ns }))?;
    }
    let until = Instant::now()
        + Duration::from_nanos(LEAD_NS)
        + terms.warm_up
        + terms.count_for
        + terms.limit;
    let mut arrivals = Vec::new();
    for host in tasks.keys() {
        let receivers = groups.iter().filter(|group| group.to == *host).count();
        if receivers > 0 {
            for (tag, came) in seats[*host].worker.received(receivers, until)? {
                arrivals.push((groups[tag].clone(), came));
            }
        }
    }
    let totals = close(seats, tasks.keys().copied())?;
    Ok(Played { start_ns, arrivals, totals })
}

fn connect(
    seats: &mut [Seat],
    flows: &[Flow],
    terms: &Terms,
    tasks: &mut BTreeMap<usize, usize>,
) -> Result<Vec<Group>> {
    let until = Instant::now() + SETUP;
    let limit_ms = (terms.limit + terms.warm_up + terms.count_for).as_millis() as u64;
    let groups = groups(flows);
    let mut reachable = Vec::new();
    for (tag, group) in groups.iter().enumerate() {
        let seat = &mut seats[group.to];
        seat.worker.order(&Order::Receive(Receive {
            tag,
            transport: group.transport.clone(),
            bind: seat.address,
            load: terms.load,
            senders: group.senders,
            bytes: terms.bytes,
            limit_ms,
        }))?;
        *tasks.entry(group.to).or_default() += 1;
        reachable.push(seat.worker.listening(until)?);
    }
    for flow in flows {
        let same = |group: &Group| group.to == flow.to && group.transport == flow.transport;
        let group = groups.iter().position(same).context("every flow has a receiver")?;
        let seat = &mut seats[flow.from];
        seat.worker.order(&Order::Send(Send {
            transport: flow.transport.clone(),
            bind: seat.address,
            to: reachable[group],
            load: terms.load,
            bytes: terms.bytes,
            limit_ms,
        }))?;
        *tasks.entry(flow.from).or_default() += 1;
    }
    for (host, count) in tasks.iter() {
        seats[*host].worker.ready(*count, until)?;
    }
    Ok(groups)
}

fn close(seats: &mut [Seat], hosts: impl Iterator<Item = usize> + Clone) -> Result<Totals> {
    let until = Instant::now() + SETUP;
    // All at once: each side's closing words find the other still there.
    for host in hosts.clone() {
        seats[host].worker.order(&Order::Close)?;
    }
    let mut totals = Totals::default();
    for host in hosts {
        let own = seats[host].worker.closed(until)?;
        totals.repeated += own.repeated;
        totals.cpu_s += own.cpu_s;
        totals.socket_drops += own.socket_drops;
    }
    Ok(totals)
}

/// How far a run had got that did not end, in words.
pub(super) fn how_far(seats: &mut [Seat]) -> String {
    let words: Vec<_> = seats.iter_mut().filter_map(|seat| seat.worker.progress()).collect();
    if words.is_empty() { "nothing had arrived".to_owned() } else { words.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_to_one_host_share_a_receiver_unless_they_travel_differently() {
        let tcp = |control: &str| Transport::Tcp { control: control.to_owned() };
        let flow = |from, to, transport| Flow { from, to, transport };
        let flows = [
            flow(0, 2, tcp("cubic")),
            flow(1, 2, tcp("cubic")),
            flow(0, 1, tcp("cubic")),
            flow(1, 2, tcp("bbr")),
        ];
        let senders: Vec<_> = groups(&flows).iter().map(|g| (g.to, g.senders)).collect();
        assert_eq!(senders, [(2, 2), (1, 1), (2, 1)]);
    }
}
