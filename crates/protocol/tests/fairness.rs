//! What a loss-based TCP keeps beside a transfer that could afford to push it out.

mod harness;

use harness::{Action, Job, PathSpec, Rival, World, fraction};
use laxity_interface::{Bytes, Rate, Span, Time};
use laxity_protocol::{Config, ElementType, SendRequest};

const GBIT: Rate = Rate::from_gbps(1);
/// Both are there for so long before anything is counted, and are then watched for so long.
const SETTLE: Span = Span::from_ms(700);
const WATCH: Span = Span::from_secs(3);

#[derive(Clone, Copy, Debug)]
struct Case {
    min_delivery: f64,
    queue: Bytes,
    /// One way.
    delay: Span,
    /// Who finds the other at work.
    tcp_first: bool,
}

/// The part of the link that TCP gets, and the part that both get together.
fn beside_tcp(case: Case, seed: u64) -> (f64, f64) {
    let config = Config { line_rate: None, ..Config::insecure() };
    let mut world = World::new(format!("{case:?} seed {seed}"), seed, vec![config.clone(), config]);
    world.keep_log = false;
    let path = PathSpec::clean(Some(GBIT), case.delay, case.queue);
    for pair in [(0, 1), (1, 0)] {
        world.link(&[pair], &path, seed);
    }
    world.plan(Time::ZERO, Action::Connect(0, 1));
    let minimum = fraction(case.min_delivery);
    // More than the link carries in the whole time.
    let mut job = Job::new(0, 1, SendRequest::tensor(ElementType::F32, 200_000_000, minimum));
    let late = Span::from_ms(300 + seed * 7);
    let (ours, theirs) = if case.tcp_first { (late, Span::from_ms(1)) } else { (Span::ZERO, late) };
    job.at = ours;
    world.add(job);
    world.rival = Some((Rival::new(Time::ZERO + theirs, case.delay), 0));
    let count = |world: &World| {
        let tcp = world.rival.as_ref().expect("it is there").0.delivered;
        (tcp, world.links[0].stats().bytes_delivered.get())
    };
    world.run_for(late + SETTLE);
    let before = count(&world);
    world.run_for(WATCH);
    let after = count(&world);
    assert!(world.jobs[0].receiver.is_none(), "both were there all the time");
    let whole = GBIT.bytes_in(WATCH).get() as f64;
    // A TCP alone would fill the link with packets of 1448 bytes in 1538.
    let tcp = (after.0 - before.0) as f64 / (whole * 1448.0 / 1538.0);
    (tcp, (after.1 - before.1) as f64 / whole)
}

fn check(delays_us: &[u64], queues_kib: &[u64], seeds: u64, least: f64) {
    for (&us, &kib) in delays_us.iter().flat_map(|us| queues_kib.iter().map(move |kib| (us, kib))) {
        for (tcp_first, min_delivery) in [(true, 0.9), (false, 0.9), (true, 1.0)] {
            let (queue, delay) = (Bytes::from_kib(kib), Span::from_us(us));
            let case = Case { min_delivery, queue, delay, tcp_first };
            let runs: Vec<_> = (0..seeds).map(|seed| beside_tcp(case, seed)).collect();
            let tcp = runs.iter().map(|run| run.0).fold(f64::INFINITY, f64::min);
            let mean = runs.iter().map(|run| run.0).sum::<f64>() / runs.len() as f64;
            let used = runs.iter().map(|run| run.1).fold(f64::INFINITY, f64::min);
            println!("{case:?}: TCP gets {mean:.3}, at least {tcp:.3}, together {used:.3}");
            assert!(mean >= least, "TCP is pushed out: {mean:.3} of the link in {case:?}");
            // A single run may be a little unlucky.
            assert!(tcp >= 0.95 * least, "TCP is pushed out once: {tcp:.3} in {case:?}");
            // The same tests would pass if we gave way to everybody: we must not starve either.
            let ours = used - tcp;
            assert!(ours >= 0.1, "TCP pushes us out: {ours:.3} of the link in {case:?}");
            assert!(used >= 0.9, "the link stands idle: {used:.3} in {case:?}");
        }
    }
}

#[test]
fn tcp_keeps_its_part_in_a_rack() {
    check(&[50, 250], &[64, 256], 1, 0.35);
}

#[test]
#[ignore = "takes a minute or two"]
fn stress_tcp_keeps_its_part() {
    check(&[50, 250], &[64, 256, 1024], 5, 0.35);
    check(&[2500], &[256], 5, 0.3);
}
