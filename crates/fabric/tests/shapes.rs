//! Odd shapes: what is promised and accounted for is what arrived, whatever the type, length and classes.
//!
//! Each rank gives a power of two, so that a sum says who is in it, element by element.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use common::{World, bytes};
use half::{bf16, f16};
use laxity_fabric::{
    Algorithm, Deadline, Element, Group, GroupId, Importance, LossPolicy, OnLoss, OpError,
    Operation, Options, Outcome, Rank, ReduceOp,
    carrier::memory::{Death, Faults},
    shard,
};
use laxity_interface::{Fraction, Span};
use laxity_link::{stream, uniform};
use laxity_protocol::ElementType;

struct Draw(Box<dyn FnMut() -> f64>);

impl Draw {
    fn new(seed: u64) -> Self {
        let mut stream = stream(seed, "shapes", 0);
        Self(Box::new(move || uniform(&mut stream)))
    }

    fn below(&mut self, end: usize) -> usize {
        ((self.0)() * end as f64) as usize
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

fn fraction(value: f64) -> Fraction {
    Fraction::new(value).unwrap()
}

fn to_bytes(numbers: &[f64], element: ElementType) -> Bytes {
    let mut out = Vec::new();
    for x in numbers {
        match element {
            ElementType::U8 => out.push(*x as u8),
            ElementType::I32 => out.extend((*x as i32).to_le_bytes()),
            ElementType::I64 => out.extend((*x as i64).to_le_bytes()),
            ElementType::F16 => out.extend(f16::from_f64(*x).to_le_bytes()),
            ElementType::Bf16 => out.extend(bf16::from_f64(*x).to_le_bytes()),
            ElementType::F32 => out.extend((*x as f32).to_le_bytes()),
            _ => out.extend(x.to_le_bytes()),
        }
    }
    out.into()
}

fn from_bytes(all: &[u8], element: ElementType) -> Vec<f64> {
    fn a<const N: usize>(b: &[u8]) -> [u8; N] {
        b.try_into().unwrap()
    }
    all.chunks_exact(element.size())
        .map(|b| match element {
            ElementType::U8 => f64::from(b[0]),
            ElementType::I32 => f64::from(i32::from_le_bytes(a(b))),
            ElementType::I64 => i64::from_le_bytes(a(b)) as f64,
            ElementType::F16 => f16::from_le_bytes(a(b)).to_f64(),
            ElementType::Bf16 => bf16::from_le_bytes(a(b)).to_f64(),
            ElementType::F32 => f64::from(f32::from_le_bytes(a(b))),
            _ => f64::from_le_bytes(a(b)),
        })
        .collect()
}

/// One random case.
#[derive(Debug, Clone)]
struct Case {
    seed: u64,
    group: Group,
    world: u32,
    element: ElementType,
    count: usize,
    op: ReduceOp,
    options: Options,
    faults: Faults,
    /// All-reduce, reduce-scatter or reduce.
    kind: usize,
}

/// Largest number of ranks whose powers of two sum exactly.
fn exact(element: ElementType) -> usize {
    match element {
        ElementType::U8 | ElementType::Bf16 => 8,
        ElementType::F16 => 11,
        _ => 16,
    }
}

fn case(seed: u64) -> Case {
    let mut d = Draw::new(seed);
    let element =
        d.one(&[u8::TYPE, i32::TYPE, i64::TYPE, f16::TYPE, bf16::TYPE, f32::TYPE, f64::TYPE]);
    let float = matches!(
        element,
        ElementType::F16 | ElementType::Bf16 | ElementType::F32 | ElementType::F64
    );
    let size = d.one(&[1usize, 2, 3, 5, 7, 8, 11, 16]).min(exact(element));
    let world = size as u32 + d.below(3) as u32;
    let mut members: Vec<Rank> = (0..world).map(Rank::new).collect();
    for i in (1..members.len()).rev() {
        let j = d.below(i + 1);
        members.swap(i, j);
    }
    members.truncate(size);
    let group = if world as usize == size && d.below(2) == 0 {
        Group::world(world)
    } else {
        Group::new(GroupId::new(3), members).unwrap()
    };
    let chunk = d.one(&[1usize, 7, 50]);
    let count = match d.below(6) {
        0 => d.below(3),
        1 => d.below(size + 2),
        2 => (size * chunk + d.below(3)).saturating_sub(1),
        3 => size * chunk * 20 - d.below(size * chunk),
        _ => d.below(3000),
    };
    let odd = [0.0, 1e-9, 0.07, 0.5, 0.9, 0.95, 0.98, 0.999_999, 1.0];
    let importance = match d.below(3) {
        0 => {
            let mut table = Vec::new();
            let mut at = d.below(4);
            while at < count && table.len() < 300 {
                let longest = d.one(&[2usize, 11, 1001]);
                let end = (at + 1 + d.below(longest)).min(count);
                table.push((at..end, fraction(d.one(&odd))));
                at = end + d.below(2) * d.below(40);
            }
            Importance::ByRange(table.into())
        }
        1 => Importance::ByMagnitude {
            classes: match d.below(4) {
                0 => [].into(),
                1 => [(0.0, fraction(d.one(&odd)))].into(),
                2 => [(0.5, fraction(d.one(&odd))), (4.0, fraction(d.one(&odd)))].into(),
                _ => [
                    (0.0, fraction(d.one(&odd))),
                    (1.0, fraction(d.one(&odd))),
                    (f64::INFINITY, fraction(d.one(&odd))),
                ]
                .into(),
            },
            above: fraction(d.one(&odd)),
            block: d.one(&[1usize, 2, 3, 64, 5000, u32::MAX as usize]),
        },
        _ => Importance::Uniform(fraction(d.one(&odd))),
    };
    let by_magnitude = matches!(importance, Importance::ByMagnitude { .. });
    let op =
        d.one(&[ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Min, ReduceOp::Max, ReduceOp::Product]);
    let mut options = Options {
        importance,
        policy: d.one(&[
            LossPolicy::Zero,
            LossPolicy::MeanOfReceived,
            LossPolicy::Stale { max_age: 3, decay: 0.5 },
            LossPolicy::Feedback { max_age: 2, decay: 0.5 },
        ]),
        hadamard: float && !by_magnitude && d.below(4) == 0,
        algorithm: d.one(&[Algorithm::Auto, Algorithm::Transpose, Algorithm::Ring]),
        on_loss: if d.below(3) == 0 {
            OnLoss::Continue { at_least: 1 + d.below(size) }
        } else {
            OnLoss::Fail
        },
        segment: d.one(&[1usize, 64, 4096]),
        ..Options::default()
    };
    options.hadamard &= !matches!(options.policy, LossPolicy::Feedback { .. }); // Refused.
    let faults =
        Faults { loss: fraction(d.one(&[0.0, 0.1, 0.5, 1.0])), chunk, ..Faults::none(seed) };
    Case { seed, group, world, element, count, op, options, faults, kind: d.below(3) }
}

/// What a position gives: its power of two, or nothing where blocks are to differ.
fn given(case: &Case, position: usize, i: usize) -> f64 {
    let zero = matches!(case.options.importance, Importance::ByMagnitude { .. })
        && (i / 3 + position).is_multiple_of(3);
    if zero { 0.0 } else { (1u64 << position) as f64 }
}

fn data(case: &Case, rank: Rank) -> Bytes {
    let position = case.group.position(rank).unwrap();
    let numbers: Vec<f64> = (0..case.count).map(|i| given(case, position, i)).collect();
    to_bytes(&numbers, case.element)
}

fn operation(case: &Case, op: ReduceOp) -> Operation {
    match case.kind {
        0 => Operation::AllReduce(op),
        1 => Operation::ReduceScatter(op),
        _ => Operation::Reduce(op, case.group.rank(case.seed as usize % case.group.size())),
    }
}

/// Runs two operations; their results, by position.
fn run(case: &Case, op: ReduceOp, options: &Options) -> Vec<Vec<Outcome>> {
    let mut world = World::new(case.world, case.faults.clone());
    let round = |_| {
        let give = |rank| data(case, rank);
        let all = world.run(&case.group, operation(case, op), case.element, give, options);
        // Senders that hold nothing end before they have heard what was lost.
        let (nothing, exact) = (|_| Bytes::new(), Options::default());
        world.run(&case.group, Operation::Barrier, ElementType::U8, nothing, &exact);
        all
    };
    (0..2).map(round).collect()
}

/// The result from all its parts.
fn whole(case: &Case, all: &[Outcome]) -> Vec<f64> {
    let parts = match case.kind {
        0 => {
            for one in all {
                assert_eq!(bytes(one), bytes(&all[0]), "{case:#?}");
                assert_eq!(one.delivered, all[0].delivered);
                assert_eq!(one.missing, all[0].missing);
            }
            bytes(&all[0])
        }
        _ => all.iter().flat_map(bytes).collect(),
    };
    from_bytes(&parts, case.element)
}

/// Who folds what.
fn folders(case: &Case) -> Vec<(usize, std::ops::Range<usize>)> {
    let size = case.group.size();
    match case.kind {
        0 | 1 => (0..size).map(|at| (at, shard(case.count, size, at))).collect(),
        _ => vec![(case.seed as usize % size, 0..case.count)],
    }
}

/// Runs a case for the sake of who is in it, and again for what its policy makes of that.
fn check(seed: u64) {
    let case = case(seed);
    let size = case.group.size();
    // Who is in which element.
    let zero = Options { policy: LossPolicy::Zero, hadamard: false, ..case.options.clone() };
    let rounds = run(&case, ReduceOp::Sum, &zero);
    let present: Vec<Vec<Vec<bool>>> = rounds
        .iter()
        .map(|all| {
            let sums = whole(&case, all);
            assert_eq!(sums.len(), case.count, "{case:#?}");
            sums.iter().map(|sum| (0..size).map(|p| *sum as u64 >> p & 1 == 1).collect()).collect()
        })
        .collect();
    for (all, present) in rounds.iter().zip(&present) {
        check_account(&case, all, present);
    }
    // Zeros cannot be told from holes, nor single numbers in what is turned.
    let by_magnitude = matches!(case.options.importance, Importance::ByMagnitude { .. });
    let lost = present.iter().flatten().flatten().any(|here| !here);
    let adds = matches!(case.op, ReduceOp::Sum | ReduceOp::Mean);
    let turned = case.options.hadamard && lost && adds;
    if !by_magnitude && !turned {
        check_policy(&case, &present);
    }
}

/// What the case's policy makes of what is here, in one operation and in the next.
fn check_policy(case: &Case, present: &[Vec<Vec<bool>>]) {
    let size = case.group.size();
    let mut last: Option<Vec<f64>> = None;
    let mut owed = vec![vec![0.0f64; case.count]; size];
    for (all, present) in run(case, case.op, &case.options).iter().zip(present) {
        let got = whole(case, all);
        assert_eq!(got.len(), case.count);
        for i in 0..case.count {
            let here: Vec<usize> = (0..size).filter(|p| present[i][*p]).collect();
            let gives = |p: usize| given(case, p, i) + owed[p][i] / 2.0;
            let numbers: Vec<f64> = here.iter().map(|p| gives(*p)).collect();
            let want = wanted(case, &numbers, last.as_ref().map(|last| last[i]));
            let rounded = from_bytes(&to_bytes(&[want], case.element), case.element)[0];
            let off = (got[i] - want).abs();
            let fits = match case.element {
                // What wraps is not followed here.
                ElementType::U8 if want > 255.0 => true,
                ElementType::U8 | ElementType::I32 | ElementType::I64 => {
                    off <= 2.0 || case.op == ReduceOp::Product
                }
                _ if rounded.is_infinite() => true,
                ElementType::F16 | ElementType::Bf16 => off <= 0.02 * want.abs() + 0.1,
                _ => off <= 1e-4 * want.abs() + 1e-3,
            };
            let seed = case.seed;
            assert!(fits, "{seed}: element {i}: {} is not {want}, of {here:?}\n{case:#?}", got[i]);
        }
        last = Some(got);
        let adds = matches!(case.op, ReduceOp::Sum | ReduceOp::Mean);
        if adds && matches!(case.options.policy, LossPolicy::Feedback { .. }) {
            for (p, owed) in owed.iter_mut().enumerate() {
                for (i, owed) in owed.iter_mut().enumerate() {
                    let all = given(case, p, i) + *owed / 2.0;
                    *owed = if present[i][p] { 0.0 } else { all };
                }
            }
        }
    }
}

/// What these numbers, of all that take part, become; `last` is what they became the last time.
fn wanted(case: &Case, numbers: &[f64], last: Option<f64>) -> f64 {
    let (all, here) = (case.group.size() as f64, numbers.len() as f64);
    let sum: f64 = numbers.iter().sum();
    let mean = match (case.options.policy, last) {
        (LossPolicy::Zero | LossPolicy::Feedback { .. }, _) => sum / all,
        (LossPolicy::Stale { .. }, Some(last)) if case.kind == 0 => {
            let one = if case.op == ReduceOp::Sum { last / all } else { last };
            (sum + (all - here) * one) / all
        }
        (LossPolicy::Stale { .. } | LossPolicy::MeanOfReceived, _) => sum / here,
    };
    match case.op {
        ReduceOp::Min => numbers.iter().copied().fold(f64::INFINITY, f64::min),
        ReduceOp::Max => numbers.iter().copied().fold(0.0, f64::max),
        ReduceOp::Product => numbers.iter().product(),
        ReduceOp::Mean => mean,
        ReduceOp::Sum => mean * all,
    }
}

/// The outcomes' accounts and promises against who really is in which element.
fn check_account(case: &Case, all: &[Outcome], present: &[Vec<bool>]) {
    let size = case.group.size();
    let magnitude = matches!(case.options.importance, Importance::ByMagnitude { .. });
    let accounted = case.options.importance.is_lossy() || case.options.on_loss != OnLoss::Fail;
    for (folder, elements) in folders(case) {
        let outcome = &all[folder];
        assert!(outcome.left_out.is_empty());
        assert_eq!(outcome.delivered.len(), if accounted { size } else { 0 }, "{case:#?}");
        let base = if case.kind == 0 { 0 } else { elements.start };
        let mut thin = vec![size as u32; case.count];
        for one in &outcome.missing {
            assert!(!one.elements.is_empty());
            thin[one.elements.start + base..one.elements.end + base].fill(one.contributions);
        }
        for i in elements.clone() {
            assert!(present[i][folder] || magnitude, "the owner's own numbers\n{case:#?}");
            let here = present[i].iter().filter(|here| **here).count() as u32;
            if magnitude {
                assert!(here <= thin[i], "{case:#?}");
            } else {
                assert_eq!(here, thin[i], "element {i}\n{case:#?}");
            }
        }
        for position in (0..size).filter(|position| *position != folder) {
            let mut classes: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
            let mut unseen = BTreeSet::new();
            for i in elements.clone() {
                let least = match &case.options.importance {
                    Importance::Uniform(least) => *least,
                    Importance::ByRange(table) => table
                        .iter()
                        .find(|(range, _)| range.contains(&i))
                        .map_or(Fraction::ONE, |(_, least)| *least),
                    Importance::ByMagnitude { classes, above, block: 1 } => classes
                        .iter()
                        .find(|(threshold, _)| given(case, position, i) <= *threshold)
                        .map_or(*above, |(_, least)| *least),
                    Importance::ByMagnitude { .. } => continue,
                };
                if magnitude && given(case, position, i) == 0.0 {
                    unseen.insert(least.get().to_bits());
                    continue;
                }
                let entry = classes.entry(least.get().to_bits()).or_default();
                entry.0 += u64::from(present[i][position]);
                entry.1 += 1;
            }
            for (least, (came, of)) in classes {
                let whole = unseen.contains(&least);
                let least = fraction(f64::from_bits(least));
                assert!(
                    came >= least.of(of) || whole,
                    "{came} of {of} from {position} at {folder}, {least} promised\n{case:#?}"
                );
            }
        }
        if accounted && !magnitude {
            let range = if case.kind == 0 { 0..case.count } else { elements.clone() };
            for (position, delivered) in outcome.delivered.iter().enumerate() {
                let came = range.clone().filter(|i| present[*i][position]).count();
                let want = if range.is_empty() { 1.0 } else { came as f64 / range.len() as f64 };
                assert_eq!(*delivered, want, "{case:#?}");
            }
        }
    }
}

/// The same where ranks die and come late: who is in a result is in it as its account says.
fn check_survivors(seed: u64) {
    let mut case = case(seed);
    let mut d = Draw::new(seed ^ 0xdead);
    let size = case.group.size();
    case.kind = d.below(3);
    case.options.policy = LossPolicy::Zero;
    case.options.hadamard = false;
    case.options.on_loss = OnLoss::Continue { at_least: 1 + d.below(size) };
    case.options.limit = Span::from_ms(d.one(&[60, 600, 6000]));
    case.options.deadline = match d.below(4) {
        0 => Deadline::After(Span::ZERO),
        1 => Deadline::After(Span::from_us(d.below(3000) as u64)),
        _ => Deadline::None,
    };
    if let Importance::ByMagnitude { .. } = case.options.importance {
        case.options.importance = Importance::Uniform(fraction(d.one(&[0.0, 0.5, 0.9, 1.0])));
    }
    for _ in 0..d.below(3) {
        let rank = case.group.rank(d.below(size));
        case.faults.deaths.push(Death { rank, after: d.below(4 * size + 2) as u64 });
    }
    case.faults.jitter = Span::from_us(d.one(&[0, 100, 5000]));
    case.faults.failing = fraction(d.one(&[0.0, 0.0, 0.02]));
    case.faults.detection = Span::from_us(d.one(&[20, 1000, 20_000]));
    let mut late = BTreeMap::new();
    if d.below(2) == 0 {
        late.insert(case.group.rank(d.below(size)), Span::from_us(d.below(20_000) as u64));
    }
    let mut world = World::new(case.world, case.faults.clone());
    let operation = operation(&case, ReduceOp::Sum);
    let give = |rank| data(&case, rank);
    let (results, longest) =
        world.run_late(&case.group, |_| operation, case.element, give, &case.options, &late);
    assert!(longest <= case.options.limit + Span::from_ms(1), "{seed}: {longest}");
    let mut first: Option<Outcome> = None;
    for (folder, elements) in folders(&case) {
        let Some(Some(Ok(outcome))) = results.get(case.group.rank(folder).index()) else {
            continue;
        };
        let numbers = from_bytes(&bytes(outcome), case.element);
        let (start, range) = match case.kind {
            0 => (0, 0..case.count),
            _ => (elements.start, elements.clone()),
        };
        assert_eq!(numbers.len(), range.len(), "{seed}: {case:#?}");
        if case.kind == 0 {
            if let Some(first) = &first {
                assert_eq!(bytes(first), bytes(outcome), "{seed}");
                assert_eq!(
                    (&first.delivered, &first.left_out, &first.missing),
                    (&outcome.delivered, &outcome.left_out, &outcome.missing),
                    "{seed}"
                );
            }
            first = Some(outcome.clone());
        }
        let mut thin = vec![None; case.count];
        for one in &outcome.missing {
            let at = one.elements.start + start..one.elements.end + start;
            thin[at].fill(Some(one.contributions));
        }
        // Shard by shard: who is in it at all.
        let shards: Vec<_> = match case.kind {
            0 => (0..size).map(|at| shard(case.count, size, at)).collect(),
            _ => vec![range.clone()],
        };
        let has = |i: usize, p: usize| numbers[i - start] as u64 >> p & 1 == 1;
        let left_out = |p: usize| outcome.left_out.contains(&case.group.rank(p));
        let mut sums = vec![(0u64, 0u64); size];
        for one in shards {
            for (p, (arrived, given)) in sums.iter_mut().enumerate() {
                let came = one.clone().filter(|i| has(*i, p)).count() as u64;
                *arrived += came;
                *given += one.len() as u64;
                if let Importance::Uniform(least) = case.options.importance {
                    assert!(
                        left_out(p) && came == 0 || came >= least.of(one.len() as u64),
                        "{seed}: {came} of {one:?} from {p}\n{case:#?}"
                    );
                }
            }
            for i in one.clone() {
                let here = (0..size).filter(|p| has(i, *p)).count() as u32;
                match thin[i] {
                    Some(said) => assert_eq!(said, here, "{seed}: element {i}\n{case:#?}"),
                    None => {
                        for p in 0..size {
                            assert!(
                                has(i, p) || left_out(p),
                                "{seed}: element {i} lacks {p}\n{case:#?}"
                            );
                        }
                    }
                }
            }
        }
        for (p, (delivered, (arrived, given))) in outcome.delivered.iter().zip(sums).enumerate() {
            let want = if given == 0 { 1.0 } else { arrived as f64 / given as f64 };
            assert_eq!(*delivered, want, "{seed}: {p}\n{case:#?}");
        }
    }
    for result in results.iter().flatten() {
        if let Err(OpError::Mismatch { .. } | OpError::Nonsense { .. }) = result {
            panic!("{seed}: {result:?}\n{case:#?}");
        }
    }
}

fn check_all(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        check(seed);
        check_survivors(seed);
    }
}

#[test]
fn whatever_the_shape_promises_and_accounts_hold() {
    check_all(0..700);
}

#[test]
#[ignore = "long; LAXITY_RUNS says how many cases"]
fn stress_whatever_the_shape_promises_and_accounts_hold() {
    let runs = std::env::var("LAXITY_RUNS").ok().and_then(|runs| runs.parse().ok());
    check_all(10_000..10_000 + runs.unwrap_or(20_000));
}
