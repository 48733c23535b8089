//! What waits, what is dropped, what is marked, who goes first.

mod common;

use common::{World, checksum, hundred, slow, udp, us};
use laxity_interface::{Bytes, Ecn};
use laxity_switch::{Limit, PortConfig, QueueConfig, QueueLayout};

fn star(layout: QueueLayout) -> World {
    World::star(3, 1, &PortConfig { layout, ..slow() })
}

#[test]
fn a_queue_of_n_packets_holds_n_beside_the_one_that_is_sent() {
    for limit in [0, 1, 2, 7, 100] {
        let mut world = star(QueueLayout::single(Limit::Packets(limit), None));
        for number in 0..200 {
            world.send(us(0), 0, &hundred(number, 0));
        }
        let queue = world.queue(1, 0);
        assert_eq!(queue.backlog.packets, u64::from(limit));
        assert_eq!(queue.full.packets, 199 - u64::from(limit));
        // The frame that is being sent leaves at 100: then there is room for one more, not two.
        world.send(us(99), 0, &hundred(1000, 0));
        world.send(us(100), 0, &hundred(1001, 0));
        world.send(us(100), 0, &hundred(1002, 0));
        world.run();
        let mut expected: Vec<u16> = (0..=limit as u16).chain([1001]).collect();
        if limit == 0 {
            // Nothing waits, but at 100 the port is idle and sends at once.
            expected = vec![0, 1001];
        }
        assert_eq!(world.ports(), expected, "{limit}");
    }
}

#[test]
fn a_queue_of_n_bytes_takes_a_frame_that_just_fits() {
    let mut world = star(QueueLayout::single(Limit::Bytes(Bytes::new(1000)), None));
    world.send(us(0), 0, &hundred(0, 0));
    for (number, size) in [(1, 600), (2, 401), (3, 400), (4, 60)] {
        world.send(us(0), 0, &udp(0, 1, size, 0, Ecn::NotEct, number));
    }
    let queue = world.queue(1, 0);
    assert_eq!((queue.max_bytes, queue.max_packets), (Bytes::new(1000), 2));
    assert_eq!((queue.full.packets, queue.full.bytes), (2, Bytes::new(461)));
    world.run();
    assert_eq!(world.ports(), [0, 1, 3]);
}

#[test]
fn a_shared_buffer_is_shared() {
    let layout = QueueLayout {
        shared: Some(Bytes::new(2000)),
        ..QueueLayout::strict(&[Limit::Shared, Limit::Shared, Limit::Packets(1)])
    };
    let mut world = star(layout);
    world.send(us(0), 0, &hundred(0, 0));
    // 1500 of the first queue and 500 of the second fill it; the third has its own.
    for (number, size, dscp) in
        [(1, 1500, 0), (2, 501, 3), (3, 500, 3), (4, 60, 0), (5, 1500, 7), (6, 60, 7)]
    {
        world.send(us(0), 0, &udp(0, 1, size, dscp, Ecn::NotEct, number));
    }
    let full: Vec<_> = (0..3).map(|queue| world.queue(1, queue).full.packets).collect();
    assert_eq!(full, [1, 1, 1]);
    // At 100 the first waiting frame is taken out, so 1500 bytes are free again.
    world.send(us(100), 0, &udp(0, 1, 1500, 3, Ecn::NotEct, 7));
    world.run();
    assert_eq!(world.ports(), [0, 1, 3, 7, 5]);
}

#[test]
fn a_queue_waits_until_all_before_it_are_empty() {
    let mut world = star(QueueLayout::strict(&[Limit::Packets(100); 8]));
    let points = [27, 23, 19, 15, 11, 7, 3, 0];
    for (class, dscp) in points.into_iter().enumerate() {
        for number in 0..3 {
            world.send(us(0), 0, &hundred(10 * (7 - class as u16) + number, dscp));
        }
    }
    // One of the highest class that comes late goes before everything that waits.
    world.send(us(1050), 0, &hundred(5, 0));
    world.run();
    // The very first frame found the port idle: nothing is interrupted.
    let mut expected = vec![70, 0, 1, 2];
    expected.extend((1..3).flat_map(|class| (0..3).map(move |number| 10 * class + number)));
    expected.push(30);
    expected.push(5);
    expected.extend([31, 32]);
    expected.extend((4..7).flat_map(|class| (0..3).map(move |number| 10 * class + number)));
    expected.extend([71, 72]);
    assert_eq!(world.ports(), expected);
}

#[test]
fn an_overload_of_the_first_queue_starves_the_second() {
    let mut world = star(QueueLayout::strict(&[Limit::Packets(50), Limit::Packets(50)]));
    // High at 120 %, low at 50 %.
    for step in 0..6000u64 {
        if step.is_multiple_of(5) {
            world.send(us(step * 100 / 6), 0, &hundred(0, 0));
        }
        if step.is_multiple_of(12) {
            world.send(us(step * 100 / 6), 2, &hundred(1, 3));
        }
    }
    let (high, low) = (world.queue(1, 0), world.queue(1, 1));
    assert_eq!(high.sent.packets, 1000, "all the port's time");
    assert_eq!((low.offered.packets, low.sent.packets), (500, 0));
    assert_eq!(low.full.packets, 450);
}

#[test]
fn frames_above_the_threshold_are_marked_and_only_those() {
    let ecn = Some(Limit::Packets(5));
    let mut world = star(QueueLayout::single(Limit::Packets(20), ecn));
    let kinds = [Ecn::Ect0, Ecn::Ect1, Ecn::Ce, Ecn::NotEct];
    for number in 0..30u16 {
        let ecn = kinds[usize::from(number % 4)];
        world.send(us(0), 0, &udp(0, 1, 1226, 0, ecn, number));
    }
    world.run();
    // Frame 0 is sent at once; 1 to 5 wait as number 1 to 5; 6 to 20 wait above the threshold.
    assert_eq!(world.arrivals.len(), 21);
    for (number, arrival) in world.arrivals.iter().enumerate() {
        let sent = kinds[number % 4];
        let expected = if number > 5 { sent.marked() } else { sent };
        assert_eq!(arrival.ecn(), expected, "frame {number}");
        assert_eq!(checksum(&arrival.bytes[14..34]), 0, "the checksum of frame {number}");
    }
    // Of 15 frames above the threshold 8 could be marked: 4 had a mark, 3 do not understand any.
    let could = (6..=20).filter(|n| matches!(n % 4, 0 | 1)).count() as u64;
    assert_eq!(world.queue(1, 0).marked.packets, could);
}

#[test]
fn thresholds_in_bytes_count_the_frame_itself() {
    let ecn = Some(Limit::Bytes(Bytes::new(3 * 1226)));
    let layout = QueueLayout {
        queues: vec![QueueConfig { limit: Limit::Packets(10), ecn }],
        ..QueueLayout::default()
    };
    let mut world = star(layout);
    for number in 0..6 {
        world.send(us(0), 0, &udp(0, 1, 1226, 0, Ecn::Ect0, number));
    }
    world.run();
    let marked: Vec<_> = world.arrivals.iter().map(|arrival| arrival.ecn() == Ecn::Ce).collect();
    assert_eq!(marked, [false, false, false, false, true, true]);
}

#[test]
fn other_ports_do_not_notice() {
    let mut world = star(QueueLayout::single(Limit::Packets(1), None));
    for number in 0..10 {
        world.send(us(0), 0, &hundred(number, 0));
    }
    world.send(us(0), 0, &udp(0, 2, 1226, 0, Ecn::NotEct, 99));
    world.run();
    let other: Vec<_> = world.arrivals.iter().filter(|arrival| arrival.host == 2).collect();
    assert_eq!((other.len(), other[0].at), (1, us(100)));
}
