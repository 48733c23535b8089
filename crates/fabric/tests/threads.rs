//! The communicator, with one thread per rank.

use std::thread;

use half::bf16;
use laxity_fabric::{
    Algorithm, Communicator, Options, Rank, ReduceOp,
    carrier::memory::{Faults, MemoryCarrier, carriers},
    shard,
};
use laxity_interface::{Rate, Span};

/// Runs a program on every rank.
fn on_each<T: Send + 'static>(
    ranks: u32,
    faults: Faults,
    program: impl Fn(Communicator<MemoryCarrier>) -> T + Send + Clone + 'static,
) -> Vec<T> {
    let threads: Vec<_> = carriers(ranks, faults)
        .into_iter()
        .map(|carrier| {
            let program = program.clone();
            thread::spawn(move || program(Communicator::new(carrier, ranks)))
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().expect("no rank panics")).collect()
}

#[test]
fn every_call() {
    on_each(4, Faults::none(1), |mut ranks| {
        let (me, options) = (ranks.rank().get(), Options::default());
        let mut numbers = [me as f32, 1.0];
        ranks.all_reduce(&mut numbers, ReduceOp::Sum, &options).unwrap();
        assert_eq!(numbers, [6.0, 4.0]);
        let mut halves = [bf16::from_f32(me as f32); 3];
        ranks.all_reduce(&mut halves, ReduceOp::Mean, &options).unwrap();
        assert_eq!(halves, [bf16::from_f32(1.5); 3]);
        let data: Vec<i64> = (0..10).map(i64::from).collect();
        let own = shard(10, 4, me as usize);
        let mut part = vec![0; own.len()];
        ranks.reduce_scatter(&data, &mut part, ReduceOp::Max, &options).unwrap();
        assert_eq!(part, data[own]);
        let mut all = [0u8; 8];
        ranks.all_gather(&[me as u8, 7], &mut all, &options).unwrap();
        assert_eq!(all, [0, 7, 1, 7, 2, 7, 3, 7]);
        let mut word = [me as i32; 5];
        ranks.broadcast(&mut word, Rank::new(2), &options).unwrap();
        assert_eq!(word, [2; 5]);
        let mut sum = [1.0f64];
        ranks.reduce(&mut sum, ReduceOp::Sum, Rank::new(1), &options).unwrap();
        assert_eq!(sum, [if me == 1 { 4.0 } else { 1.0 }]);
        let mut gathered = vec![0; if me == 0 { 4 } else { 0 }];
        ranks.gather(&[me as i32], &mut gathered, Rank::new(0), &options).unwrap();
        assert!(me != 0 || gathered == [0, 1, 2, 3]);
        let mut own = [0; 1];
        ranks.scatter(&gathered, &mut own, Rank::new(0), &options).unwrap();
        assert_eq!(own, [me as i32]);
        let mut from_all = [0; 4];
        ranks.all_to_all(&[me as i32 * 10; 4], &mut from_all, &options).unwrap();
        assert_eq!(from_all, [0, 10, 20, 30]);
        ranks.barrier(&options).unwrap();
        let (next, before) = (Rank::new((me + 1) % 4), Rank::new((me + 3) % 4));
        if me % 2 == 0 {
            ranks.send(&[me as f32], next, 3, &options).unwrap();
        }
        let mut got = [0.0f32];
        if me % 2 == 1 {
            ranks.recv(&mut got, before, 3, &options).unwrap();
            assert_eq!(got, [me as f32 - 1.0]);
        }
        assert_eq!(ranks.flush(Span::from_secs(1)), 0);
    });
}

#[test]
fn many_operations_are_in_flight_and_end_in_any_order() {
    let faults = Faults { jitter: Span::from_ms(3), ..Faults::none(2) };
    on_each(3, faults, |mut ranks| {
        let me = ranks.rank().get() as i32;
        let handles: Vec<_> = (0..20)
            .map(|i| {
                let algorithm = if i % 2 == 0 { Algorithm::Ring } else { Algorithm::Transpose };
                let options = Options { algorithm, priority: i as u32, ..Options::default() };
                ranks.start_all_reduce(&[me + i, i], ReduceOp::Sum, &options).unwrap()
            })
            .collect();
        for (i, handle) in handles.into_iter().enumerate().rev() {
            let mut result = [0, 0];
            ranks.wait_into(handle, &mut result).unwrap();
            assert_eq!(result, [3 + 3 * i as i32, 3 * i as i32]);
        }
    });
}

#[test]
fn groups_work_beside_one_another() {
    on_each(6, Faults::none(3), |mut ranks| {
        let me = ranks.rank().get();
        let members = |odd: u32| (0..6).filter(|rank| rank % 2 == odd).map(Rank::new).collect();
        let group = ranks.split(&[members(0), members(1)]).unwrap().expect("it is in one");
        let mut number = [me as i32];
        // A different number of operations in each group: numbers count per group.
        for _ in 0..=me % 2 {
            number = [me as i32];
            let mut within = ranks.within(&group);
            within.all_reduce(&mut number, ReduceOp::Sum, &Options::default()).unwrap();
        }
        assert_eq!(number, [if me % 2 == 0 { 6 } else { 9 }]);
        assert_eq!(ranks.group().size(), 6, "outside, calls work on all ranks again");
        ranks.all_reduce(&mut number, ReduceOp::Max, &Options::default()).unwrap();
        assert_eq!(number, [9]);
    });
}

#[test]
fn what_is_measured_is_the_same_everywhere_and_about_right() {
    let faults =
        Faults { latency: Span::from_us(200), rate: Rate::from_gbps(1), ..Faults::none(4) };
    let measured = on_each(4, faults, |mut ranks| ranks.measure().unwrap());
    assert!(measured.iter().all(|network| *network == measured[0]));
    let network = measured[0];
    let near = |span: Span| span >= Span::from_us(150) && span <= Span::from_us(300);
    assert!(near(network.latency), "{network:?}");
    // Parcels of different ranks do not share a link in memory, so it looks faster than 1 Gbit/s.
    assert!(network.bandwidth >= Rate::from_gbps(1), "{network:?}");
}

#[test]
fn a_rank_that_leaves_when_it_is_done_harms_nobody() {
    let faults = Faults { jitter: Span::from_ms(20), ..Faults::none(5) };
    for algorithm in [Algorithm::Transpose, Algorithm::Ring, Algorithm::HalvingDoubling] {
        let results = on_each(5, faults.clone(), move |mut ranks| {
            let options = Options { algorithm: algorithm.clone(), ..Options::default() };
            let mut number = [1];
            ranks.all_reduce(&mut number, ReduceOp::Sum, &options).map(|_| number)
        });
        for result in results {
            assert_eq!(result.expect("what was sent arrives"), [5]);
        }
    }
}

/// The same seed gives the same run, whatever the threads do.
#[test]
fn runs_repeat() {
    let run = || {
        let loss = laxity_interface::Fraction::new(0.1).unwrap();
        let faults = Faults { jitter: Span::from_us(90), loss, chunk: 10, ..Faults::none(6) };
        on_each(5, faults, |mut ranks| {
            let least = laxity_interface::Fraction::new(0.8).unwrap();
            let mut numbers: Vec<f32> = (0..997).map(|i| (i as f32).sin()).collect();
            let options = Options::at_least(least);
            let outcome = ranks.all_reduce(&mut numbers, ReduceOp::Mean, &options).unwrap();
            (numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), outcome.took)
        })
    };
    let (one, other) = (run(), run());
    assert_eq!(one, other);
    assert!(one.iter().all(|(numbers, _)| *numbers == one[0].0));
}
