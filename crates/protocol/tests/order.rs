//! Whose turn it is among jobs to one peer.

mod harness;

use harness::{Action, Job, PathSpec, World, fraction};
use laxity_interface::{Bytes, Rate, Span, Time};
use laxity_protocol::{ClassRule, Config, ElementType, JobOrder, SendRequest};

const JOBS: usize = 4;
const BYTES: u64 = 1_000_000;

/// When each of several jobs of one size and priority had arrived, in ms after all of them began.
fn ends(job_order: JobOrder) -> Vec<f64> {
    // Where classes follow what is left, that comes first.
    let config = Config { job_order, class_rule: ClassRule::Dynamic, ..Config::insecure() };
    let mut world = World::new(format!("{job_order:?}"), 1, vec![config.clone(), config]);
    let path =
        PathSpec::clean(Some(Rate::from_mbps(100)), Span::from_us(100), Bytes::from_kib(256));
    for pair in [(0, 1), (1, 0)] {
        world.link(&[pair], &path, 1);
    }
    world.plan(Time::ZERO, Action::Connect(0, 1));
    for _ in 0..JOBS {
        let mut job =
            Job::new(0, 1, SendRequest::tensor(ElementType::F32, BYTES / 4, fraction(1.0)));
        job.at = Span::from_ms(2);
        world.add(job);
    }
    world.finish(Time::ZERO + Span::from_secs(10));
    let began = world.jobs[0].started.expect("it began");
    let end = |job: &Job| job.receiver.as_ref().expect("it ended").0.since(began);
    world.jobs.iter().map(|job| end(job).as_secs_f64() * 1e3).collect()
}

/// 1 MB takes 80 ms at 100 Mbit/s, and some more with headers.
#[test]
fn the_oldest_first_or_all_alike() {
    let fair = ends(JobOrder::Fair);
    assert!(fair.iter().all(|end| *end > 300.0), "all share until the end: {fair:?}");
    let oldest = ends(JobOrder::Oldest);
    for (place, end) in oldest.iter().enumerate() {
        let ideal = (place + 1) as f64 * 86.0;
        assert!((0.95 * ideal..1.1 * ideal + 5.0).contains(end), "{place}: {oldest:?}");
    }
}
