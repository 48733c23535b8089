//! The shipping protocol and the papers' forms of it.

use laxity_interface::Time;

use crate::world::{flow, ideal, incast, last, ratio, run, scheme};

#[test]
fn a_lone_job_is_close_to_ideal() {
    // 1 MB at 40 Gbit/s is 213 µs; the start takes a few round trips of 9 µs.
    for min in [0.5, 0.9, 1.0] {
        let outcome = run(scheme("laxity"), 2, &[(Time::ZERO, flow(1, 0, (1000, 1000), min))]);
        let ideal = ideal((1e6 * min) as u64);
        let slowdown = ratio(last(&outcome), ideal);
        assert!((1.0..1.35).contains(&slowdown), "d = {min}: {slowdown}");
        assert_eq!(outcome.drops, 0, "d = {min}");
    }
}

#[test]
fn connections_are_warm() {
    // One packet and no handshake: less than a round trip.
    let outcome = run(scheme("laxity"), 2, &[(Time::ZERO, flow(1, 0, (1, 1000), 1.0))]);
    assert!(ratio(last(&outcome), ideal(1000)) < 1.05, "{}", last(&outcome));
    assert_eq!(outcome.tally.data_packets, 1);
}

#[test]
fn line_rate_without_control_loses_most_under_incast() {
    let flows = incast(8, (200, 1400), 0.7);
    let base = run(scheme("atp-base"), 9, &flows);
    let full = run(scheme("atp-full"), 9, &flows);
    assert!(base.drops > 2 * full.drops, "{} {}", base.drops, full.drops);
    assert!(base.tally.data_packets > full.tally.data_packets);
}

#[test]
fn what_may_be_lost_decides_the_queue() {
    // Exact traffic leaves first (DCTCP in ATP): a job with slack waits, the exact one hardly notices.
    let exact = flow(1, 0, (700, 1400), 1.0);
    let slack = flow(2, 0, (700, 1400), 0.5);
    let alone = run(scheme("atp-full"), 3, &[(Time::ZERO, exact.clone())]);
    let both = run(scheme("atp-full"), 3, &[(Time::ZERO, exact), (Time::ZERO, slack)]);
    let of = |outcome: &laxity_packetsim::Outcome, index| {
        let done = outcome.done.iter().find(|done| done.flow.index() == index).unwrap();
        done.finished.since(done.started)
    };
    assert!(ratio(of(&both, 0), of(&alone, 0)) < 1.3, "{} {}", of(&both, 0), of(&alone, 0));
    assert!(of(&both, 1) > of(&alone, 0) / 2);
}

/// Jobs of few large messages soon have no slack left. Their packets went to queue 0, which the paper
/// reserves (§5.2), and filled it: its rate control hears of losses only, and there were none before
/// the whole buffer was full.
#[test]
fn spent_slack_filled_the_queue_of_exact_traffic() {
    let outcome = run(scheme("atp-full"), 9, &incast(8, (20, 60_000), 0.9));
    assert!(outcome.drops > 0, "slack was spent");
    // Queue 0 is the only one that marks.
    assert_eq!(outcome.marks, 0);
}
