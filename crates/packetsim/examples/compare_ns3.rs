//! DCTCP on a dumbbell, for comparison with ns-3: `docs/packetsim-ns3.md` says how.
//!
//! Writes the flows to the file named first, so that the other simulator can read them.

use std::{env, error::Error, fmt::Write as _, fs};

use laxity_interface::{Bytes, Fraction, Rate, Span, Time};
use laxity_packetsim::{
    Flow, HostId, Limits, Messages, PortSetup, Ready, Schedule, SeriesSetup, Setup, Simulation,
    Stack,
    stacks::dctcp::{Dctcp, DctcpConfig},
};
use laxity_topology::Topology;
use rand_core::Rng;

const HOSTS: u32 = 8;

/// Flows of 20 KB, 100 KB and 1 MB between random hosts at 60 % of the middle link, or four that
/// last.
fn flows(case: &str) -> Vec<(u64, u16, u16, u32)> {
    if case == "long" {
        return (0..4).map(|host| (0, host, host, 30_000_000)).collect();
    }
    let mut rng = rand_pcg::Pcg64Mcg::new(0x1234_5678_9abc_def1);
    let mean = 0.5 * 20e3 + 0.4 * 100e3 + 0.1 * 1e6;
    let gap_ns = mean * 8.0 / (0.6 * 10.0);
    let mut start = 0.0;
    let flows = (0..2000).map(|_| {
        let uniform = ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        start -= uniform.ln() * gap_ns;
        let mut host = || (rng.next_u64() % u64::from(HOSTS)) as u16;
        let (from, to) = (host(), host());
        let bytes = match rng.next_u64() % 10 {
            0..5 => 20_000,
            5..9 => 100_000,
            _ => 1_000_000,
        };
        (start as u64, from, to, bytes)
    });
    flows.collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next().ok_or("name the file for the flows")?;
    let case = arguments.next().unwrap_or_else(|| "mixed".into());
    let flows = flows(&case);
    let mut text = String::new();
    for (start, from, to, bytes) in &flows {
        writeln!(text, "{start} {from} {to} {bytes}")?;
    }
    fs::write(path, text)?;

    // ns-3's full packet has 2 bytes of PPP where ours has 18 of Ethernet: lines are faster by as
    // much, so that it takes the same time.
    let rate = Rate::bps(10_000_000_000 / 1502 * 1518);
    let network = Topology::dumbbell(HOSTS, HOSTS, rate, rate, Span::from_us(5))?;
    let node = |name| network.node(name).ok_or("a switch");
    let middle = network.link_between(node("west")?, node("east")?)?;
    let port = PortSetup::fifo_packets(Bytes::new(4_000_000), Some(65));
    let setup = Setup::new(network, port, 1);
    let stack = |_| -> Vec<Box<dyn Stack>> { vec![Box::new(Dctcp::new(DctcpConfig::strong()))] };
    let mut simulation = Simulation::new(&setup, stack)?;
    simulation.record(SeriesSetup { interval: Span::from_us(1), links: vec![middle] });
    let mut driver = Schedule::new(flows.iter().map(|&(start, from, to, bytes)| {
        let flow = Flow {
            from: HostId(from),
            to: HostId(HOSTS as u16 + to),
            stack: 0,
            tag: 0,
            messages: Messages::Equal { count: 1, bytes },
            ready: Ready::AtOnce,
            min_delivery: Fraction::ONE,
        };
        (Time::ZERO + Span::from_ns(start), flow)
    }));
    let outcome = simulation.run(&mut driver, Limits::default());
    let times = outcome.done.iter().map(|done| done.finished.since(done.started).as_ps() as f64);
    let mut times: Vec<_> = times.map(|ps| ps / 1e6).collect();
    times.sort_by(f64::total_cmp);
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let p99 = times[(times.len() * 99 / 100).min(times.len() - 1)];
    let samples = &outcome.series.as_ref().ok_or("samples")?.links[0].samples;
    let queue: u64 = samples.iter().map(|sample| u64::from(sample.packets)).sum();
    println!("flows {} of {}", times.len(), flows.len());
    println!("mean {mean:.1} us, p99 {p99:.1} us");
    println!("mean queue {:.2} packets", queue as f64 / samples.len() as f64);
    println!("marks {}, drops {}", outcome.marks, outcome.drops);
    Ok(())
}
