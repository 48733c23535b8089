//! A link against closed forms.

use laxity_interface::{Bytes, Ecn, Fraction, Rate, Span, Time};
use laxity_link::{
    Delivery, DropReason, Link, LinkConfig, PacketInfo, Rules, Verdict, flip_bits,
    rules::{Blackout, Corrupt, DropNth, Duplicate, RandomLoss, Reorder},
};
use proptest::prelude::*;

const SIZE: Bytes = Bytes::new(1250);

fn at_us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// 10 Gbit/s, so that a packet takes a microsecond, and 20 us of delay.
fn config() -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_gbps(10)),
        delay: Span::from_us(20),
        ..LinkConfig::default()
    }
}

fn fraction(value: f64) -> Fraction {
    Fraction::new(value).unwrap()
}

fn drain<P>(link: &mut Link<P>) -> Vec<Delivery<P>> {
    let mut arrived = Vec::new();
    while let Some(now) = link.poll_timeout() {
        assert!(link.poll_delivery(now - Span::from_ps(1)).is_none(), "arrived before its time");
        let delivery = link.poll_delivery(now).expect("due now");
        assert_eq!(delivery.at, now);
        arrived.push(delivery);
    }
    arrived
}

/// Hands in `count` packets at once, numbered.
fn burst(link: &mut Link<u64>, count: u64, ecn: Ecn) {
    for number in 0..count {
        let _ = link.handle_packet(Time::ZERO, PacketInfo::new(SIZE).with_ecn(ecn), number);
    }
}

/// When each packet of a burst of 100 arrives, or nothing.
fn run(config: LinkConfig, rules: Rules) -> Vec<(Time, u64)> {
    let mut link = Link::new(config, rules);
    burst(&mut link, 100, Ecn::NotEct);
    drain(&mut link).into_iter().map(|delivery| (delivery.at, delivery.payload)).collect()
}

#[test]
fn a_burst_arrives_one_by_one() {
    let arrived = run(config(), Rules::new());
    let expected: Vec<_> = (0..100).map(|k| (at_us(20 + k + 1), k)).collect();
    assert_eq!(arrived, expected);
}

#[test]
fn overhead_takes_time_too() {
    let config = LinkConfig { overhead: Bytes::new(125), ..config() };
    let last = run(config, Rules::new()).pop().unwrap();
    assert_eq!(last, (at_us(20 + 110), 99));
}

#[test]
fn a_link_that_fell_idle_starts_anew() {
    let mut link = Link::new(config(), Rules::new());
    for us in [0, 0, 10, 11] {
        link.handle_packet(at_us(us), PacketInfo::new(SIZE), us).unwrap();
    }
    let times: Vec<_> = drain(&mut link).into_iter().map(|delivery| delivery.at).collect();
    assert_eq!(times, [21, 22, 31, 32].map(at_us));
}

#[test]
fn without_a_rate_nothing_waits() {
    let config = LinkConfig { rate: None, queue: Bytes::ZERO, ..config() };
    let arrived = run(config, Rules::new());
    // All at the same time: ties go by sequence.
    assert_eq!(arrived, (0..100).map(|k| (at_us(20), k)).collect::<Vec<_>>());
}

#[test]
fn a_dead_link_keeps_everything() {
    let mut link = Link::new(LinkConfig { rate: Some(Rate::ZERO), ..config() }, Rules::new());
    burst(&mut link, 3, Ecn::NotEct);
    assert_eq!((link.poll_timeout(), link.in_flight()), (None, 3));
    assert!(link.poll_delivery(Time::MAX).is_none());
}

#[test]
fn what_does_not_fit_is_dropped_at_the_tail() {
    // One packet is being sent and five wait.
    let mut link = Link::new(LinkConfig { queue: SIZE * 5, ..config() }, Rules::new());
    burst(&mut link, 10, Ecn::NotEct);
    assert_eq!(link.stats().dropped_by(DropReason::Queue), 4);
    assert_eq!(link.stats().max_queue, SIZE * 5);
    // After 2.5 us three packets have begun: three wait and two fit.
    let now = Time::ZERO + Span::from_ns(2500);
    assert_eq!(link.backlog(now), SIZE * 3);
    let fits = |_| link.handle_packet(now, PacketInfo::new(SIZE), 0).is_ok();
    assert_eq!([(); 3].map(fits), [true, true, false]);
    assert_eq!(drain(&mut link).last().unwrap().at, at_us(28));
    assert_eq!((link.stats().lost(), link.stats().delivered), (5, 8));
}

#[test]
fn no_queue_still_sends_one_at_a_time() {
    let mut link = Link::new(LinkConfig { queue: Bytes::ZERO, ..config() }, Rules::new());
    assert!(link.handle_packet(at_us(0), PacketInfo::new(SIZE), ()).is_ok());
    let refused = link.handle_packet(at_us(0), PacketInfo::new(SIZE), ()).unwrap_err();
    assert_eq!(refused.to_string(), "packet 1 was dropped by queue");
    assert!(link.handle_packet(at_us(1), PacketInfo::new(SIZE), ()).is_ok());
}

#[test]
fn marks_begin_above_the_threshold() {
    let config = LinkConfig { ecn_threshold: Some(SIZE * 3), ..config() };
    let marks = |ecn| {
        let mut link = Link::new(config.clone(), Rules::new());
        burst(&mut link, 6, ecn);
        let marked = link.stats().marked;
        (drain(&mut link).into_iter().map(|d| d.info.ecn == Ecn::Ce).collect::<Vec<_>>(), marked)
    };
    // Packet 0 does not wait; packets 1 to 3 fill the queue up to the threshold.
    assert_eq!(marks(Ecn::Ect0), (vec![false, false, false, false, true, true], 2));
    assert_eq!(marks(Ecn::NotEct), (vec![false; 6], 0));
    assert_eq!(marks(Ecn::Ce), (vec![true; 6], 0));
}

#[test]
fn rules_can_mark() {
    let mut link = Link::new(config(), Rules::new().with(|_: Time, _: &PacketInfo| Verdict::Mark));
    burst(&mut link, 2, Ecn::Ect1);
    assert!(drain(&mut link).iter().all(|delivery| delivery.info.ecn == Ecn::Ce));
    assert_eq!(link.stats().marked, 2);
}

#[test]
fn dropped_packets_take_no_time() {
    let arrived = run(config(), Rules::new().with(DropNth::new([0, 2])));
    assert_eq!(arrived[..3], [(at_us(21), 1), (at_us(22), 3), (at_us(23), 4)]);
    assert_eq!(arrived.len(), 98);
}

#[test]
fn a_blackout_ends() {
    let rules = Rules::new().with(Blackout::new([at_us(5)..at_us(7)]));
    let mut link = Link::new(config(), rules);
    let passes = |us| link.handle_packet(at_us(us), PacketInfo::new(SIZE), ()).is_ok();
    assert_eq!([4, 5, 6, 7].map(passes), [true, false, false, true]);
    assert_eq!(link.stats().dropped_by(DropReason::Rule("blackout")), 2);
}

#[test]
fn copies_follow_the_packet() {
    let twice = Duplicate::new(Fraction::ONE, 1, 0).with_copies(2, Span::from_us(3));
    let mut link = Link::new(config(), Rules::new().with(twice));
    burst(&mut link, 2, Ecn::NotEct);
    let arrived = drain(&mut link);
    let seen: Vec<_> = arrived.iter().map(|d| (d.at, d.payload, d.copy)).collect();
    let expected = [(21, 0, 0), (22, 1, 0), (24, 0, 1), (25, 1, 1), (27, 0, 2), (28, 1, 2)];
    assert_eq!(seen, expected.map(|(us, payload, copy)| (at_us(us), payload, copy)));
    assert_eq!((link.stats().duplicated, link.stats().delivered), (4, 6));
}

#[test]
fn damage_is_left_to_the_caller_and_can_be_repeated() {
    let damaged = || {
        let mut link = Link::new(config(), Rules::new().with(Corrupt::new(fraction(0.5), 9, 0)));
        for _ in 0..50 {
            link.handle_packet(Time::ZERO, PacketInfo::new(SIZE), vec![0u8; 16]).unwrap();
        }
        let corrupted = link.stats().corrupted;
        let payloads: Vec<_> = drain(&mut link)
            .into_iter()
            .map(|mut delivery| {
                if let Some(random) = delivery.corrupt {
                    flip_bits(&mut delivery.payload, random);
                }
                delivery.payload
            })
            .collect();
        (corrupted, payloads)
    };
    let (corrupted, payloads) = damaged();
    assert_eq!(payloads.iter().filter(|p| **p != [0; 16]).count() as u64, corrupted);
    assert!((10..40).contains(&corrupted), "{corrupted}");
    assert_eq!(damaged(), (corrupted, payloads));
}

#[test]
fn packets_behind_overtake_one_that_is_held_back() {
    let hold = |_: Time, packet: &PacketInfo| match packet.sequence {
        1 => Verdict::Deliver { extra_delay: Span::from_ns(2500) },
        _ => Verdict::Pass,
    };
    let order: Vec<_> =
        run(config(), Rules::new().with(hold)).into_iter().map(|(_, n)| n).take(6).collect();
    assert_eq!(order, [0, 2, 3, 1, 4, 5]);
}

#[test]
fn the_seed_decides_everything() {
    let rules = |seed| {
        Rules::new().with(RandomLoss::new(fraction(0.1), seed, 0)).with(Reorder::new(
            fraction(0.1),
            Span::from_us(5),
            seed,
            0,
        ))
    };
    let jittery = |seed| LinkConfig { seed, jitter: Span::from_us(3), ..config() };
    assert_eq!(run(jittery(7), rules(7)), run(jittery(7), rules(7)));
    assert_ne!(run(jittery(7), rules(7)), run(jittery(8), rules(7)));
    assert_ne!(run(jittery(7), rules(7)), run(jittery(7), rules(8)));
    let other = LinkConfig { index: 1, ..jittery(7) };
    assert_ne!(run(jittery(7), Rules::new()), run(other, Rules::new()));
}

/// Adding a rule in front must not change what those behind it do to the packets that are left.
#[test]
fn rules_do_not_shift_each_other() {
    let loss = || RandomLoss::new(fraction(0.3), 1, 0);
    let lost = |rules| {
        let arrived = run(config(), rules);
        (0..100).filter(|n| arrived.iter().all(|(_, number)| number != n)).collect::<Vec<u64>>()
    };
    let alone = lost(Rules::new().with(loss()));
    let mut both = lost(Rules::new().with(DropNth::new([3, 50])).with(loss()));
    both.retain(|n| ![3, 50].contains(n) || alone.contains(n));
    assert_eq!(both, alone);
}

#[test]
#[should_panic(expected = "time went backwards on a link: 4us after 5us")]
fn time_does_not_go_back() {
    let mut link = Link::new(config(), Rules::new());
    link.handle_packet(at_us(5), PacketInfo::new(SIZE), ()).unwrap();
    let _ = link.handle_packet(at_us(4), PacketInfo::new(SIZE), ());
}

#[test]
fn counters_read_well() {
    let rules = Rules::new().with(DropNth::new([0]));
    let mut link = Link::new(LinkConfig { queue: SIZE, ..config() }, rules);
    burst(&mut link, 4, Ecn::NotEct);
    drain(&mut link);
    let said = "sent 4 (5kB), delivered 2 (2500B), dropped 2 (queue 1, drop-nth 1), marked 0, \
                duplicated 0, corrupted 0, queue at most 1250B";
    assert_eq!(link.stats().to_string(), said);
    let json = serde_json::to_value(link.stats()).unwrap();
    assert_eq!(json["dropped"]["drop-nth"], 1);
    let config: LinkConfig =
        serde_json::from_str(r#"{ "rate": "10Gbps", "delay": "20us" }"#).unwrap();
    assert_eq!(config, self::config());
}

proptest! {
    /// Any traffic over any link: packets are conserved, the queue keeps its limit, nothing arrives
    /// before it can, order holds.
    #[test]
    fn packets_are_conserved(
        traffic in proptest::collection::vec((0u64..3_000, 1u64..9_000), 1..200),
        rate in 1u64..100,
        queue in 0u64..40_000,
        jitter in 0u64..5_000,
        loss in 0.0..0.5f64,
        copies in 0.0..0.5f64,
        seed: u64,
    ) {
        let config = LinkConfig {
            rate: Some(Rate::from_gbps(rate)),
            queue: Bytes::new(queue),
            jitter: Span::from_ns(jitter),
            seed,
            ..config()
        };
        let rules = Rules::new()
            .with(RandomLoss::new(fraction(loss), seed, 0))
            .with(Duplicate::new(fraction(copies), seed, 0));
        let mut link = Link::new(config.clone(), rules);
        let mut now = Time::ZERO;
        let mut refused = 0;
        for (gap, size) in traffic {
            now += Span::from_ns(gap);
            let packet = PacketInfo::new(Bytes::new(size));
            refused += u64::from(link.handle_packet(now, packet, now).is_err());
            prop_assert!(link.backlog(now) <= config.queue);
        }
        let arrived = drain(&mut link);
        prop_assert!(arrived.is_sorted_by_key(|delivery| (delivery.at, delivery.info.sequence)));
        prop_assert!(arrived.is_sorted_by_key(|delivery| delivery.info.sequence));
        for delivery in &arrived {
            let took = delivery.at.since(delivery.payload);
            let least = config.delay + Rate::from_gbps(rate).time_for(delivery.info.size);
            prop_assert!(took >= least, "{took} < {least}");
        }
        let stats = link.stats();
        prop_assert_eq!(stats.sent + stats.duplicated, stats.delivered + stats.lost());
        prop_assert_eq!(stats.lost(), refused);
        prop_assert_eq!(stats.delivered, arrived.len() as u64);
        prop_assert!(stats.max_queue <= config.queue);
    }
}
