//! Every collective gives what a plain loop gives: for every element type, size and group.

mod common;

use bytes::Bytes;
use common::{World, bytes};
use half::{bf16, f16};
use laxity_fabric::{
    Algorithm, Element, Group, Operation, Options, Rank, ReduceOp, carrier::memory::Faults, shard,
};

const SIZES: [usize; 6] = [0, 1, 2, 5, 17, 1000];
const OPS: [ReduceOp; 5] =
    [ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Min, ReduceOp::Max, ReduceOp::Product];

/// A number that is small enough for every sum to be exact in every type.
trait Small: Element + PartialEq + std::fmt::Debug {
    fn small(value: i64) -> Self;
    const FRACTIONS: bool;
}

macro_rules! small {
    ($($type:ty, $fractions:expr, $make:expr;)*) => {$(
        impl Small for $type {
            fn small(value: i64) -> Self { $make(value) }
            const FRACTIONS: bool = $fractions;
        }
    )*};
}
small! {
    u8, false, |v| v as u8;
    i32, false, |v| v as i32;
    i64, false, |v| v;
    f32, true, |v| v as f32;
    f64, true, |v| v as f64;
    f16, true, |v| f16::from_f64(v as f64);
    bf16, true, |v| bf16::from_f64(v as f64);
}

/// What rank `rank` gives as element `i`: 1 to 3, so that 3 to the 9th is the largest product.
fn given(rank: usize, i: usize, op: Option<ReduceOp>) -> i64 {
    let number = (rank * 7 + i * 3) as i64;
    match op {
        // Products stay below 256, where bytes wrap and bf16 rounds.
        Some(ReduceOp::Product) => {
            if (rank + i).is_multiple_of(3) {
                2
            } else {
                1
            }
        }
        _ => number % 11,
    }
}

fn data<T: Small>(rank: usize, count: usize, op: Option<ReduceOp>) -> Vec<T> {
    (0..count).map(|i| T::small(given(rank, i, op))).collect()
}

fn as_bytes<T: Small>(numbers: &[T]) -> Bytes {
    Bytes::copy_from_slice(bytemuck::cast_slice(numbers))
}

/// What folding must give.
fn folded<T: Small>(ranks: usize, i: usize, op: ReduceOp) -> T {
    let numbers = (0..ranks).map(|rank| given(rank, i, Some(op)));
    match op {
        ReduceOp::Sum => T::small(numbers.sum()),
        ReduceOp::Min => T::small(numbers.min().unwrap()),
        ReduceOp::Max => T::small(numbers.max().unwrap()),
        ReduceOp::Product => T::small(numbers.product()),
        ReduceOp::Mean => {
            let sum: i64 = numbers.sum();
            if !T::FRACTIONS {
                return T::small(sum / ranks as i64);
            }
            // Rounded once, from a division in f32 for the halves, as documented.
            let exact = sum as f64 / ranks as f64;
            match size_of::<T>() {
                8 => bytemuck::cast_slice::<f64, T>(&[exact])[0],
                4 => bytemuck::cast_slice::<f32, T>(&[sum as f32 / ranks as f32])[0],
                _ => {
                    let mean = sum as f32 / ranks as f32;
                    let (one, other) = (f16::from_f32(mean), bf16::from_f32(mean));
                    if T::TYPE == f16::TYPE {
                        bytemuck::cast_slice::<f16, T>(&[one])[0]
                    } else {
                        bytemuck::cast_slice::<bf16, T>(&[other])[0]
                    }
                }
            }
        }
    }
}

fn algorithms(ranks: usize) -> Vec<Algorithm> {
    let parents = (0..ranks).map(|at| at.checked_sub(1).map(|at| at / 2)).collect::<Vec<_>>();
    vec![
        Algorithm::Auto,
        Algorithm::Transpose,
        Algorithm::Ring,
        Algorithm::HalvingDoubling,
        Algorithm::Tree(parents.into()),
    ]
}

fn numbers<T: Small>(outcome: &laxity_fabric::Outcome) -> Vec<T> {
    bytemuck::pod_collect_to_vec(&bytes(outcome))
}

fn check_folding<T: Small>() {
    for ranks in 1..=9 {
        let group = Group::world(ranks as u32);
        for algorithm in algorithms(ranks) {
            // Small segments, so that a thousand elements are several of them.
            let options =
                Options { algorithm: algorithm.clone(), segment: 64, ..Options::default() };
            let mut world = World::new(ranks as u32, Faults::none(1));
            for count in SIZES {
                for op in OPS {
                    let what =
                        format!("{op:?} of {count} {} by {algorithm:?} in {ranks}", T::TYPE.name());
                    let give = |rank: Rank| as_bytes(&data::<T>(rank.index(), count, Some(op)));
                    let want: Vec<T> = (0..count).map(|i| folded(ranks, i, op)).collect();
                    let all = world.run(&group, Operation::AllReduce(op), T::TYPE, give, &options);
                    for outcome in &all {
                        assert_eq!(numbers::<T>(outcome), want, "{what}");
                    }
                    if !matches!(algorithm, Algorithm::Auto | Algorithm::Ring) {
                        continue;
                    }
                    let all =
                        world.run(&group, Operation::ReduceScatter(op), T::TYPE, give, &options);
                    for (position, outcome) in all.iter().enumerate() {
                        let own = &want[shard(count, ranks, position)];
                        assert_eq!(numbers::<T>(outcome), own, "shard {position}, {what}");
                    }
                    let root = Rank::new((count % ranks) as u32);
                    let all =
                        world.run(&group, Operation::Reduce(op, root), T::TYPE, give, &options);
                    for (position, outcome) in all.iter().enumerate() {
                        let got = numbers::<T>(outcome);
                        let is_root = position == root.index();
                        assert_eq!(got, if is_root { want.clone() } else { vec![] }, "{what}");
                    }
                }
            }
        }
    }
}

macro_rules! for_each_type {
    ($($name:ident: $type:ty),*) => {$(
        #[test]
        fn $name() {
            check_folding::<$type>();
        }
    )*};
}
for_each_type!(
    folding_bytes: u8, folding_i32: i32, folding_i64: i64, folding_f32: f32, folding_f64: f64,
    folding_f16: f16, folding_bf16: bf16
);

/// Moving does not look at numbers: one type is enough, at every size and group.
#[test]
fn moving() {
    for ranks in 1..=9usize {
        let group = Group::world(ranks as u32);
        let mut world = World::new(ranks as u32, Faults::none(2));
        for count in SIZES {
            for algorithm in [Algorithm::Auto, Algorithm::Ring] {
                let options = Options { algorithm, segment: 64, ..Options::default() };
                moving_one(&mut world, &group, ranks, count, &options);
            }
        }
    }
}

fn moving_one(world: &mut World, group: &Group, ranks: usize, count: usize, options: &Options) {
    let part = |rank: Rank| as_bytes(&data::<i32>(rank.index(), count, None));
    let all: Vec<i32> = (0..ranks).flat_map(|rank| data::<i32>(rank, count, None)).collect();
    let root = Rank::new((count % ranks) as u32);
    for outcome in world.run(group, Operation::AllGather, i32::TYPE, part, options) {
        assert_eq!(numbers::<i32>(&outcome), all, "all_gather of {count} in {ranks}");
    }
    for outcome in world.run(group, Operation::Broadcast(root), i32::TYPE, part, options) {
        let want = data::<i32>(root.index(), count, None);
        assert_eq!(numbers::<i32>(&outcome), want, "broadcast of {count} in {ranks}");
    }
    let gathered = world.run(group, Operation::Gather(root), i32::TYPE, part, options);
    for (position, outcome) in gathered.iter().enumerate() {
        let want = if position == root.index() { all.clone() } else { vec![] };
        assert_eq!(numbers::<i32>(outcome), want, "gather of {count} in {ranks}");
    }
    let give = |rank: Rank| if rank == root { as_bytes(&all) } else { part(rank) };
    let scattered = world.run(group, Operation::Scatter(root), i32::TYPE, give, options);
    for (position, outcome) in scattered.iter().enumerate() {
        let want = data::<i32>(position, count, None);
        assert_eq!(numbers::<i32>(outcome), want, "scatter of {count} in {ranks}");
    }
    let give = |rank: Rank| as_bytes(&data::<i32>(rank.index(), count * ranks, None));
    let exchanged = world.run(group, Operation::AllToAll, i32::TYPE, give, options);
    for (position, outcome) in exchanged.iter().enumerate() {
        let from =
            |rank| data::<i32>(rank, count * ranks, None)[position * count..][..count].to_vec();
        let want: Vec<i32> = (0..ranks).flat_map(from).collect();
        assert_eq!(numbers::<i32>(outcome), want, "all_to_all of {count} in {ranks}");
    }
    world.run(group, Operation::Barrier, u8::TYPE, |_| Bytes::new(), options);
    if ranks > 1 {
        let (from, to) = (Rank::new(0), Rank::new(ranks as u32 - 1));
        let pair = Group::new(laxity_fabric::GroupId::new(9), vec![to, from]).unwrap();
        let late = std::collections::BTreeMap::new();
        let operation = |rank| {
            if rank == from { Operation::Send(to, 5) } else { Operation::Recv(from, 5) }
        };
        let (results, _) = world.run_late(&pair, operation, i32::TYPE, part, options, &late);
        let got = results[to.index()].clone().unwrap().unwrap();
        assert_eq!(numbers::<i32>(&got), data::<i32>(0, count, None));
    }
}

/// Nobody leaves a barrier before the last has come.
#[test]
fn a_barrier_waits_for_the_last() {
    use laxity_interface::Span;
    for ranks in 2..10 {
        let group = Group::world(ranks);
        let mut world = World::new(ranks, Faults::none(3));
        let late = [(Rank::new(1), Span::from_ms(50))].into();
        let options = Options::default();
        let barrier = |_| Operation::Barrier;
        let (results, _) =
            world.run_late(&group, barrier, u8::TYPE, |_| Bytes::new(), &options, &late);
        for (rank, result) in results.into_iter().enumerate() {
            let took = result.unwrap().unwrap().took;
            assert!(rank == 1 || took >= Span::from_ms(50), "rank {rank} left after {took}");
        }
    }
}

/// A group of 65 ranks, by every algorithm.
#[test]
fn many_ranks() {
    let ranks = 65;
    let group = Group::world(ranks as u32);
    for algorithm in algorithms(ranks) {
        let options = Options { algorithm, ..Options::default() };
        let mut world = World::new(ranks as u32, Faults::none(4));
        let give = |rank: Rank| as_bytes(&data::<i64>(rank.index(), 300, None));
        let all = world.run(&group, Operation::AllReduce(ReduceOp::Sum), i64::TYPE, give, &options);
        let want: Vec<i64> =
            (0..300).map(|i| (0..ranks).map(|rank| given(rank, i, None)).sum()).collect();
        assert!(all.iter().all(|outcome| numbers::<i64>(outcome) == want));
    }
}
