//! Tiny buffers of a low class under bursts of a high one.

mod common;

use common::{World, hundred, slow};
use laxity_interface::{Span, Time};
use laxity_switch::{Limit, PortConfig, QueueLayout};

/// The part of the low class that is lost if its queue holds so many packets: it offers 7/24 (29 %) of
/// the port evenly, the high class 60 % in bursts of eight.
fn loss(packets: u32) -> f64 {
    let layout = QueueLayout::strict(&[Limit::Packets(1000), Limit::Packets(packets)]);
    let mut world = World::star(3, 1, &PortConfig { layout, ..slow() });
    let slot = Span::from_us(100);
    let (burst_every, low_every) = (slot.mul_f64(8.0 / 0.6), slot.mul_f64(24.0 / 7.0));
    let (mut burst, mut low) = (Time::ZERO, Time::ZERO + slot.mul_f64(0.19));
    let (high_frame, low_frame) = (hundred(0, 0), hundred(1, 3));
    let end = Time::ZERO + Span::from_secs(20);
    while burst.min(low) < end {
        if burst <= low {
            for _ in 0..8 {
                world.send(burst, 0, &high_frame);
            }
            burst += burst_every;
        } else {
            world.send(low, 2, &low_frame);
            low += low_every;
        }
        while let Some((_, frame, _)) = world.fabric.poll_frame(burst.min(low)) {
            world.fabric.recycle(frame);
        }
    }
    let (high, low) = (world.queue(1, 0), world.queue(1, 1));
    assert_eq!(high.full.packets, 0);
    low.full.packets as f64 / low.offered.packets as f64
}

/// 35 low packets come per 9 bursts, 3.9 each; 2.33 of them during the burst's eight slots, that is 2
/// or 3. One place keeps one of them and two places keep two: 12 and 3 of 35 are lost. Four places
/// lose nothing.
#[test]
fn few_packets_of_buffer_are_enough() {
    for (packets, expected) in [(1, 12.0 / 35.0), (2, 3.0 / 35.0), (4, 0.0), (7, 0.0)] {
        let loss = loss(packets);
        assert!((loss - expected).abs() < 0.001, "{packets} packets: {loss:.4}");
        assert!(packets < 4 || loss == 0.0, "{packets} packets: {loss:.4}");
    }
}
