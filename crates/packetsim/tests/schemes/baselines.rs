//! What the papers say of the transports that we compare with.

use laxity_interface::{Bytes, Span, Time};
use laxity_packetsim::{DropReason, Outcome};

use crate::world::{
    LINE, crowd, flow, ideal, incast, last, losses, ratio, run, run_on, scheme, setup,
};

fn early(outcome: &Outcome) -> u64 {
    outcome.drops_by_reason.of(DropReason::Early)
}

/// Mean slowdown of the small flows of a crowd.
fn small_flows(name: &str) -> f64 {
    let flows = crowd(8, 400, 21, 1.0);
    let outcome = run(scheme(name), 8, &flows);
    let slowdowns: Vec<f64> = outcome
        .done
        .iter()
        .filter(|done| done.bytes < 20_000)
        .map(|done| ratio(done.finished.since(done.started), ideal(done.bytes)))
        .collect();
    assert!(slowdowns.len() > 100);
    slowdowns.iter().sum::<f64>() / slowdowns.len() as f64
}

#[test]
fn pfabric_is_near_ideal_for_small_flows_under_load() {
    // §5.4: small flows hardly notice the others; DCTCP's wait in its queues.
    let (pfabric, dctcp) = (small_flows("pfabric"), small_flows("dctcp"));
    assert!(pfabric < 1.25, "{pfabric}");
    assert!(pfabric < 0.6 * dctcp, "{pfabric} {dctcp}");
}

#[test]
fn pfabric_sends_the_shortest_first() {
    let mut flows = incast(2, (700, 1460), 1.0);
    flows.push((Time::ZERO + Span::from_us(50), flow(3, 0, (20, 1460), 1.0)));
    let outcome = run(scheme("pfabric"), 4, &flows);
    let done = &outcome.done[0];
    assert_eq!(done.flow.index(), 2);
    assert!(ratio(done.finished.since(done.started), ideal(29_200)) < 1.3);
}

#[test]
fn ndp_incast_is_near_ideal_and_only_headers_are_cut() {
    // §6.1: within a few per cent of the best, whatever the number of senders.
    for senders in [8, 32] {
        let outcome = run(scheme("ndp"), u32::from(senders) + 1, &incast(senders, (90, 1460), 1.0));
        let ideal = ideal(u64::from(senders) * 90 * 1460);
        assert!(ratio(last(&outcome), ideal) < 1.1, "{senders}: {}", last(&outcome));
        assert!(outcome.trimmed > 0);
        assert_eq!((outcome.drops, outcome.tally.timeouts), (0, 0), "{senders}");
    }
}

#[test]
fn aeolus_loses_only_unscheduled_packets() {
    let senders = 16;
    let outcome = run(scheme("aeolus"), 17, &incast(senders, (400, 1460), 1.0));
    assert!(outcome.drops > 0, "the first bursts do not fit");
    assert_eq!(outcome.drops, early(&outcome), "{:?}", outcome.drops_by_reason);
    assert_eq!(outcome.tally.timeouts, 0);
    let ideal = ideal(u64::from(senders) * 400 * 1460);
    assert!(ratio(last(&outcome), ideal) < 1.25, "{}", last(&outcome));
}

#[test]
fn aeolus_uses_the_first_round_trip() {
    // A flow of less than a bandwidth-delay product takes as long as the empty network needs.
    let outcome = run(scheme("aeolus"), 2, &[(Time::ZERO, flow(1, 0, (20, 1460), 1.0))]);
    assert!(ratio(last(&outcome), ideal(29_200)) < 1.05, "{}", last(&outcome));
}

#[test]
fn aeolus_first_bursts_do_not_hurt_scheduled_packets() {
    let long = (Time::ZERO, flow(1, 0, (4000, 1460), 1.0));
    let alone = run(scheme("aeolus"), 6, std::slice::from_ref(&long));
    let mut flows = vec![long];
    for at in 0..40 {
        let start = Time::ZERO + Span::from_us(100 + at * 20);
        flows.push((start, flow(2 + (at % 4) as u16, 0, (3, 1460), 1.0)));
    }
    let both = run(scheme("aeolus"), 6, &flows);
    let of_long = both.done.iter().find(|done| done.flow.index() == 0).unwrap();
    let slower = ratio(of_long.finished.since(of_long.started), last(&alone));
    // The small ones are 3 % of the bytes.
    assert!(slower < 1.15, "{slower}");
    assert_eq!(both.drops, early(&both));
}

#[test]
fn udp_loses_what_the_receiver_cannot_take() {
    // Four senders at line rate into one line; the buffer saves a little.
    let (senders, packets) = (4, 4000);
    let flows = incast(senders, (packets, 1460), 1.0);
    let outcome = run(scheme("udp"), 5, &flows);
    let sent = u64::from(senders) * u64::from(packets);
    assert_eq!(outcome.tally.data_packets, sent);
    let time = LINE.time_for(Bytes::new(u64::from(packets) * 1518));
    let fits = LINE.bytes_in(time).get() + 1_500_000;
    let expected = 1.0 - fits as f64 / (sent * 1518) as f64;
    let lost = outcome.drops as f64 / sent as f64;
    assert!((lost - expected).abs() < 0.01, "{lost} {expected}");
    // Senders in step with each other: one of them may always find room.
    assert!(outcome.done.iter().filter(|done| done.short).count() >= 3);
}

#[test]
fn bounded_ends_at_its_fraction_and_waits_for_no_timer() {
    // One packet in a hundred gets lost, also the last ones; at 90 % none of them matters.
    let mut setup = setup(scheme("bounded"), 2, 3);
    setup.faults.push(losses(0.01));
    let flows: Vec<_> =
        (0..40).map(|at| (Time::ZERO + Span::from_ms(at), flow(1, 0, (100, 1460), 0.9))).collect();
    let outcome = run_on(scheme("bounded"), &setup, &flows);
    assert!(outcome.drops > 20);
    assert_eq!(outcome.tally.timeouts, 0);
    for done in &outcome.done {
        assert!(done.delivered >= 90, "{done:?}");
        assert!(done.finished.since(done.started) < Span::from_us(200), "{done:?}");
    }
    let plain = run_on(scheme("dctcp-plain"), &setup, &flows);
    assert!(plain.tally.timeouts > 0, "the same losses cost others a timeout");
}
