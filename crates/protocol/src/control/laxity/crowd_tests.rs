//! Several senders to one receiver, one controller's view.

use laxity_interface::{Rate, Span, Time};

use super::{Laxity, TRUST};
use crate::control::{AckSample, Controller, Epoch, Start};

const RTT: Span = Span::from_us(500);
const PACKET: u64 = 1250;

fn start() -> Laxity {
    let start =
        Start { line_rate: None, packet: PACKET, rtt: RTT, initial_packets: 32, slack_start: None };
    Laxity::new(&start)
}

/// Rounds in which the path delivered at this rate.
fn deliver(laxity: &mut Laxity, mbps: u64, rounds: u64) {
    for round in 1..=rounds {
        let delivered = laxity.round_ends + 10 * PACKET;
        let ack = AckSample {
            bytes: 10 * PACKET,
            packets: 10,
            marked: 0,
            smoothed_rtt: RTT,
            min_rtt: RTT,
            latest_rtt: RTT,
            host_delay: Span::ZERO,
            delivery: Some(Rate::from_mbps(mbps)),
            app_limited: false,
            delivered_at_send: laxity.round_ends,
            delivered,
            in_flight: 0,
        };
        laxity.on_ack(Time::ZERO + RTT * (laxity.round + round), &ack);
    }
}

fn epoch(marked: u64) -> Epoch {
    Epoch {
        acked: 100,
        lost: 0,
        marked,
        silent: false,
        target_loss_rate: 0.1,
        promised_loss_rate: 0.1,
        smoothed_rtt: RTT,
        packet: PACKET,
    }
}

/// A controller that cruises at 200 Mbit/s while all of its packets are marked.
fn marked(senders: u64, intake_mbps: Option<u64>) -> Laxity {
    let mut laxity = start();
    deliver(&mut laxity, 200, 12);
    for at in 0..100 {
        laxity.on_receiver(senders, intake_mbps.map(Rate::from_mbps));
        laxity.on_epoch(Time::ZERO + RTT * at, &epoch(100));
    }
    laxity
}

#[test]
fn marks_push_nobody_below_an_equal_part() {
    let part = |senders, intake| {
        let laxity = marked(senders, intake);
        (laxity.rate().as_bps() as f64 / laxity.gain() / 1e6).round()
    };
    assert_eq!(part(1, None), 100.0, "alone: half of it, as DCTCP");
    assert_eq!(part(4, None), 100.0, "nobody knows what an equal part is");
    assert_eq!(part(4, Some(600)), 150.0, "that part");
    assert_eq!(part(4, Some(2000)), 200.0, "what the path gave, if the part is more");
    assert_eq!(part(8, Some(400)), 100.0, "half is more than the part");
}

#[test]
fn marks_in_a_crowd_take_what_waits_in_queues() {
    assert!(marked(4, Some(800)).window() < marked(1, None).window());
}

#[test]
fn who_stays_inherits_an_equal_part_but_nobodys_word_is_taken_for_everything() {
    let inherited = |intake| {
        let mut laxity = start();
        deliver(&mut laxity, 10, 12);
        laxity.on_receiver(4, Some(Rate::from_mbps(intake)));
        laxity.on_receiver(2, None);
        laxity.bandwidth() / 1e6
    };
    assert_eq!(inherited(100), 50.0);
    assert_eq!(inherited(10), 10.0, "it has more than that already");
    assert_eq!(inherited(1_000_000), 10.0 * TRUST);
}

#[test]
fn who_waited_long_inherits_an_equal_part_of_a_line_that_it_knows() {
    let mut laxity = Laxity { line_rate: Some(Rate::from_gbps(10)), ..start() };
    deliver(&mut laxity, 1, 12);
    laxity.on_receiver(4, None);
    assert_eq!(laxity.bandwidth() / 1e6, 1.0, "nobody has ended");
    laxity.on_receiver(2, None);
    assert_eq!(laxity.bandwidth() / 1e6, 5000.0, "far more than was measured behind the others");
}

#[test]
fn who_knows_its_line_paces_an_equal_part_and_has_no_more_on_the_way_than_was_measured() {
    let mut laxity = Laxity { line_rate: Some(Rate::from_gbps(10)), ..start() };
    deliver(&mut laxity, 100, 12);
    let alone = (laxity.rate(), laxity.window());
    assert!(alone.0 < Rate::from_mbps(500), "{alone:?}");
    laxity.on_receiver(4, None);
    assert_eq!((laxity.rate(), laxity.window()), (Rate::from_mbps(2500), alone.1));
}

#[test]
fn who_has_ended_causes_no_more_marks() {
    let mut laxity = marked(8, None);
    let before = laxity.mark_share;
    laxity.on_receiver(2, None);
    assert_eq!(laxity.mark_share, before / 4.0);
    laxity.on_receiver(8, None);
    assert_eq!(laxity.mark_share, before / 4.0, "new ones have not caused any yet");
}
