//! Mean coflow completion of every scheduler on a trace.
//!
//! `cargo run --release -p laxity-flowsim --example coflows -- TRACE [TICK] [SCHEDULER]`

use std::time::Instant;

use laxity_flowsim::coflow::{Fabric, Scheduler, Trace, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("give a trace")?;
    let trace = Trace::parse(&std::fs::read_to_string(path)?)?;
    let mut fabric = Fabric::default();
    if let Some(tick) = arguments.get(1) {
        fabric.tick = tick.parse()?;
    }
    let only = arguments.get(2).map(String::as_str);
    for scheduler in Scheduler::ALL.into_iter().filter(|s| only.is_none_or(|o| o == s.name())) {
        let started = Instant::now();
        let run = run(&trace, &fabric, scheduler, |_| {})?;
        println!(
            "{scheduler:10} mean {:9.3} s  median {:8.3} s  p95 {:9.3} s  {} plans  took {:.2} s",
            run.mean_s(),
            run.quantile_s(0.5),
            run.quantile_s(0.95),
            run.plans,
            started.elapsed().as_secs_f64()
        );
    }
    Ok(())
}
