//! How many packets per second the simulator moves: `cargo run --release --example speed -- large`.

use std::time::Instant;

use laxity_packetsim::speed::{self, Load};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let load = match std::env::args().nth(1).as_deref() {
        None | Some("small") => Load::SMALL,
        Some("large") => Load::LARGE,
        Some("medium") => Load::ManyFlows { flows: 10_000 },
        Some(other) => return Err(format!("no load `{other}`: small or large").into()),
    };
    let start = Instant::now();
    let report = speed::run(load, || start.elapsed().as_secs_f64())?;
    println!("{load:?}");
    println!("{} packet-hops, {} events", report.packet_hops, report.events);
    println!("{} flows ended in {}", report.flows, report.simulated);
    println!(
        "{:.2} s: {:.2} million packet-hops per second, {:.0} ns per event",
        report.seconds,
        report.hops_per_second() / 1e6,
        report.ns_per_event()
    );
    println!("trace {:016x}", report.trace_hash);
    Ok(())
}
