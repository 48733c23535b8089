//! All-reduces in the packet simulator, where hosts cost nothing: what a transport and an algorithm make
//! of a network, without the machine that runs it.
//!
//! `cargo run --release -p laxity-fabric --example simulated -- laxity transpose 0.98 [LOSS]`

use std::{env, error::Error, thread};

use laxity_fabric::{
    Algorithm, Communicator, Options, ReduceOp,
    carrier::{Carrier, simulated},
};
use laxity_interface::{Bytes, Fraction, Rate, Span, Time};
use laxity_packetsim::{Fault, PortSetup, Scheme, Setup, Trouble};
use laxity_topology::Topology;

const RANKS: u32 = 8;
const NUMBERS: usize = 25_000_000 / 4;
const SEEDS: u64 = 8;
const EACH: usize = 3;

/// The times of some all-reduces over the same connections, in milliseconds.
fn times(setup: &Setup, scheme: Scheme, options: &Options) -> Result<Vec<f64>, Box<dyn Error>> {
    let threads: Vec<_> = simulated::carriers(setup, scheme, RANKS)?
        .into_iter()
        .map(|carrier| {
            let options = options.clone();
            thread::spawn(move || {
                let mut ranks = Communicator::new(carrier, RANKS);
                let mut numbers = vec![1.0f32; NUMBERS];
                let mut ends = Vec::new();
                for _ in 0..EACH {
                    ranks.all_reduce(&mut numbers, ReduceOp::Mean, &options).expect("nobody dies");
                    ends.push(ranks.carrier().now());
                    ranks.barrier(&Options::default()).expect("nobody dies");
                    ends.push(ranks.carrier().now());
                }
                ends
            })
        })
        .collect();
    let all: Vec<Vec<Time>> =
        threads.into_iter().map(|thread| thread.join().expect("ranks do not panic")).collect();
    let last = |at: usize| all.iter().map(|ends| ends[at]).max().unwrap_or(Time::ZERO);
    let mut start = Time::ZERO;
    let mut times = Vec::new();
    for run in 0..EACH {
        times.push(last(2 * run).since(start).as_secs_f64() * 1e3);
        start = last(2 * run + 1);
    }
    Ok(times)
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let text = |at: usize, or: &'static str| args.get(at).map_or(or, String::as_str);
    let scheme: Scheme = text(0, "laxity").parse()?;
    let algorithm = match text(1, "transpose") {
        "ring" => Algorithm::Ring,
        "transpose" => Algorithm::Transpose,
        other => return Err(format!("`{other}` is neither ring nor transpose").into()),
    };
    let options = Options { algorithm, ..Options::at_least(text(2, "0.98").parse()?) };
    let loss: Fraction = text(3, "0").parse()?;
    let mut all = Vec::new();
    for seed in 1..=SEEDS {
        let star = Topology::star(RANKS, Rate::from_gbps(1), Span::from_us(125))?;
        let mut setup = Setup::new(star, PortSetup::fifo_packets(Bytes::new(256_000), None), seed);
        if loss.get() > 0.0 {
            setup.faults.push(Fault::everywhere(Trouble::Loss { probability: loss }));
        }
        all.extend(times(&setup, scheme, &options)?);
    }
    println!("{}", all.iter().map(|ms| format!("{ms:.0}")).collect::<Vec<_>>().join(" "));
    all.sort_by(f64::total_cmp);
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    println!(
        "mean {mean:.0} median {:.0} least {:.0} most {:.0}",
        all[all.len() / 2],
        all[0],
        all[all.len() - 1]
    );
    Ok(())
}
