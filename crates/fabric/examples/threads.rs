//! Eight ranks as threads of one program reduce a gradient over a network that loses packets, and
//! go on when one of them dies.
//!
//! `cargo run -p laxity-fabric --example threads`

use std::thread;

use laxity_fabric::{
    Communicator, OnLoss, Options, Rank, ReduceOp,
    carrier::memory::{Death, Faults, MemoryCarrier, carriers},
};
use laxity_interface::{Fraction, Rate, Span};

const RANKS: u32 = 8;
const NUMBERS: usize = 200_000;

fn main() {
    let faults = Faults {
        latency: Span::from_us(50),
        jitter: Span::from_us(200),
        rate: Rate::from_gbps(10),
        loss: Fraction::new(0.02).expect("a fraction"),
        // Rank 5 dies in its third iteration.
        deaths: vec![Death { rank: Rank::new(5), after: 60 }],
        ..Faults::none(42)
    };
    let threads: Vec<_> = carriers(RANKS, faults)
        .into_iter()
        .map(|carrier| thread::spawn(move || train(Communicator::new(carrier, RANKS))))
        .collect();
    let sums: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
    let survivors: Vec<_> = sums.iter().flatten().collect();
    assert!(survivors.windows(2).all(|pair| pair[0] == pair[1]), "survivors hold the same model");
    println!("{} of {RANKS} ranks ended with the same model, bit by bit", survivors.len());
}

/// A few iterations; returns a checksum of the model, or nothing if this rank died.
fn train(mut ranks: Communicator<MemoryCarrier>) -> Option<u64> {
    let me = ranks.rank();
    let options = Options {
        on_loss: OnLoss::Continue { at_least: 5 },
        limit: Span::from_secs(1),
        ..Options::at_least(Fraction::new(0.95).expect("a fraction"))
    };
    let mut model = vec![0f32; NUMBERS];
    for iteration in 0..5 {
        let gradient = |i: usize| ((i + iteration * 7) as f32 * 0.01).sin() + me.get() as f32;
        let mut gradients: Vec<f32> = (0..NUMBERS).map(gradient).collect();
        let outcome = match ranks.all_reduce(&mut gradients, ReduceOp::Mean, &options) {
            Ok(outcome) => outcome,
            Err(error) => {
                println!("{me}: iteration {iteration}: {error}");
                return None;
            }
        };
        model.iter_mut().zip(&gradients).for_each(|(weight, step)| *weight -= 0.1 * step);
        if me == Rank::new(0) {
            let (took, least) = (outcome.took.as_secs_f64() * 1e3, outcome.least_delivered());
            let without: Vec<_> = outcome.left_out.iter().map(ToString::to_string).collect();
            println!(
                "iteration {iteration}: {took:.2} ms, at least {:.1} % of each gradient, without: {}",
                least * 100.0,
                if without.is_empty() { "nobody".to_owned() } else { without.join(", ") }
            );
        }
    }
    ranks.flush(Span::from_secs(1));
    let mix = |sum: u64, weight: &f32| sum.rotate_left(5) ^ u64::from(weight.to_bits());
    Some(model.iter().fold(0, mix))
}
