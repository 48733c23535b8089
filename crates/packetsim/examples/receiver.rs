//! Where the time of an incast goes: what the receiver's link carried until the last job had ended.
//!
//! `cargo run --release -p laxity-packetsim --example receiver -- [--senders N] [--kb N] [--message N]
//! [--min D] [--fabric star|leaf-spine] [--seed N] [--jobs] [--idle] [SCHEME…]`
//!
//! Of the time until the last job ended: on its link `needed` is what was promised, `spare` data of jobs that
//! had not ended beyond that (twice the same, messages that stay incomplete), `late` data of jobs that had,
//! `control` packets without payload; the rest the link was `idle`. `--jobs` prints each job's end, `--idle` the
//! pauses of the link.

use std::{collections::BTreeMap, env, error::Error};

use laxity_interface::{Bytes, Fraction, Rate, Span, Time};
use laxity_packetsim::{
    Flow, HostId, Limits, Messages, Observer, PortBase, Ready, Schedule, Scheme, Setup, Simulation,
    TraceEvent, World, ideal_time, packet_sizes,
};
use laxity_topology::{LinkId, Topology};

const LINE: Rate = Rate::from_gbps(40);
/// Smaller packets are taken for control.
const LARGEST_CONTROL: u32 = 200;
/// What `laxity` puts on the wire for 1400 bytes; another transport may need more or less, and `spare` is
/// then a little off.
const ON_THE_WIRE: Bytes = Bytes::new(1474);

/// What is on the line to the receiver.
#[derive(Clone, Copy, Debug)]
struct Carried {
    at: Time,
    bytes: u32,
    from: HostId,
    data: bool,
    class: u8,
}

#[derive(Default)]
struct Watch {
    last_hop: Option<LinkId>,
    carried: Vec<Carried>,
    ended: BTreeMap<HostId, Time>,
    lost: BTreeMap<(bool, u8), u64>,
    lost_from: BTreeMap<HostId, u64>,
    marked: u64,
    sent: BTreeMap<HostId, u64>,
    first: Vec<bool>,
}

impl Observer for Watch {
    fn on_event(&mut self, at: Time, event: &TraceEvent<'_>) {
        match event {
            TraceEvent::Sent { link, packet } => {
                let data = packet.size > LARGEST_CONTROL;
                if Some(*link) == self.last_hop {
                    self.carried.push(Carried {
                        at,
                        bytes: packet.size,
                        from: packet.from,
                        data,
                        class: packet.class,
                    });
                }
                if self.first[link.0 as usize] && data {
                    *self.sent.entry(packet.from).or_default() += 1;
                }
            }
            TraceEvent::Marked { .. } => self.marked += 1,
            TraceEvent::Dropped { link, packet, .. } => {
                *self.lost.entry((*link == self.last_hop, packet.class)).or_default() += 1;
                *self.lost_from.entry(packet.from).or_default() += 1;
            }
            TraceEvent::Finished { done } => {
                self.ended.insert(HostId(done.flow.0 as u16 + 1), at);
            }
            _ => {}
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut senders, mut kb, mut message, mut min, mut seed) = (32u16, 1000u64, 1400u32, 0.5, 1);
    let (mut spine, mut jobs, mut idle) = (false, false, None);
    let mut schemes: Vec<Scheme> = Vec::new();
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--senders" => senders = value()?.parse()?,
            "--kb" => kb = value()?.parse()?,
            "--message" => message = value()?.parse()?,
            "--min" => min = value()?.parse()?,
            "--seed" => seed = value()?.parse()?,
            "--fabric" => spine = value()? == "leaf-spine",
            "--jobs" => jobs = true,
            "--idle" => idle = Some(value()?.parse::<f64>()?),
            name => schemes.push(name.parse()?),
        }
    }
    let hosts = u32::from(senders) + 1;
    for scheme in schemes {
        let topology = if spine {
            let leaves = hosts.div_ceil(8);
            Topology::leaf_spine(leaves, 4, hosts.div_ceil(leaves), LINE, 1, Span::from_us(1))?
        } else {
            Topology::star(hosts, LINE, Span::from_us(2))?
        };
        let mut watch = Watch::default();
        for link in 0..topology.links().len() as u32 {
            let ends = topology.link(LinkId(link));
            if topology.host_index(ends.to) == Some(0) {
                watch.last_hop = Some(LinkId(link));
            }
            watch.first.push(topology.host_index(ends.from).is_some());
        }
        let base = PortBase { buffer: Bytes::new(1_500_000), mark_above_packets: 65, rate: LINE };
        let (switch, nic, routing) = (scheme.ports(&base), scheme.nic(), scheme.routing());
        let setup = Setup { nic, routing, ..Setup::new(topology, switch, seed) };
        let min_delivery = Fraction::new(min)?;
        let count = (kb * 1000).div_ceil(u64::from(message)).max(1) as u32;
        let flows: Vec<_> = (1..=senders)
            .map(|from| {
                let messages = Messages::Equal { count, bytes: message };
                let (from, to) = (HostId(from), HostId(0));
                let ready = Ready::AtOnce;
                (Time::ZERO, Flow { from, to, stack: 0, tag: 0, messages, ready, min_delivery })
            })
            .collect();
        let base_rtt = Simulation::new(&setup, |_| Vec::new())?.base_rtt();
        let world = World { line_rate: LINE, base_rtt, hosts: setup.topology.hosts().len() };
        let mut simulation =
            Simulation::new(&setup, |host| vec![scheme.stack(host, setup.seed, &world)])?;
        let mut driver = Schedule::new(flows);
        let limits = Limits::until(Time::from_ps(0) + Span::from_secs(20));
        let outcome = simulation.run_observed(&mut driver, limits, &mut watch);
        let us = |at: Time| at.since(Time::ZERO).as_secs_f64() * 1e6;
        let last = watch.ended.values().copied().max().unwrap_or(Time::ZERO);
        let need = min_delivery.of(u64::from(count)) * u64::from(message);
        let bound =
            ideal_time(&setup, packet_sizes(need * u64::from(senders)), HostId(1), HostId(0));
        let [mut before, mut late, mut control] = [0.0f64; 3];
        let mut packets = BTreeMap::<HostId, u64>::new();
        let mut pauses = Vec::new();
        let mut free = Time::ZERO;
        for one in &watch.carried {
            let time = LINE.time_for(Bytes::new(u64::from(one.bytes)));
            if one.at >= last {
                break;
            }
            if one.at > free {
                pauses.push((free, one.at.since(free)));
            }
            free = one.at + time;
            let time = time.as_secs_f64() * 1e6;
            match one.data {
                false => control += time,
                true if one.at < watch.ended[&one.from] => {
                    before += time;
                    *packets.entry(one.from).or_default() += 1;
                }
                true => late += time,
            }
        }
        let total = us(last);
        let per_packet = need.div_ceil(1400).max(1);
        let needed =
            f64::from(senders) * per_packet as f64 * LINE.time_for(ON_THE_WIRE).as_secs_f64() * 1e6;
        let spare = before - needed;
        let part = |time: f64| 100.0 * time / total;
        let mut ends: Vec<_> = watch.ended.iter().map(|(host, at)| (us(*at), *host)).collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mean = ends.iter().map(|end| end.0).sum::<f64>() / ends.len() as f64;
        println!(
            "{scheme:14} mean {mean:7.1} last {total:7.1} (bound {:7.1}) needed {:5.1} % spare {:4.1} late {:4.1} control {:4.1} idle {:4.1} % drops {} {:?} marked {} again {} sent {}",
            bound.as_secs_f64() * 1e6,
            part(needed),
            part(spare),
            part(late),
            part(control),
            100.0 - part(before + late + control),
            outcome.drops,
            watch.lost,
            watch.marked,
            outcome.tally.again,
            outcome.tally.data_packets,
        );
        if jobs {
            for (end, host) in &ends {
                let mut of: BTreeMap<u8, (u64, f64, f64)> = BTreeMap::new();
                for one in watch.carried.iter().filter(|one| one.from == *host && one.data) {
                    let entry = of.entry(one.class).or_insert_with(|| (0, us(one.at), 0.0));
                    (entry.0, entry.2) = (entry.0 + 1, us(one.at));
                }
                println!(
                    "  {host:?} {end:7.1} arrived {} sent {} lost {} by class {:?}",
                    packets[host],
                    watch.sent[host],
                    watch.lost_from.get(host).unwrap_or(&0),
                    of.iter()
                        .map(|(class, (n, a, b))| format!("{class}: {n} in {a:.0}..{b:.0}"))
                        .collect::<Vec<_>>(),
                );
            }
        }
        if let Some(least) = idle {
            for (at, pause) in pauses.iter().filter(|(_, pause)| pause.as_secs_f64() * 1e6 > least)
            {
                println!("  idle from {:.1} for {:.1}", us(*at), pause.as_secs_f64() * 1e6);
            }
        }
    }
    Ok(())
}
