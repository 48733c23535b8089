//! Losses on the wire.

mod common;

use common::{World, hundred, slow, us};
use laxity_interface::{Fraction, Time};
use laxity_switch::{Change, HostId, Loss, PortConfig};

fn fraction(value: f64) -> Fraction {
    Fraction::new(value).unwrap()
}

/// Sends frames one after the other; which of them were lost.
fn losses(loss: Loss, seed: u64, frames: u64) -> Vec<bool> {
    let mut world = World::star(2, seed, &PortConfig { loss, ..slow() });
    let bytes = hundred(0, 0);
    let mut lost = Vec::new();
    for number in 0..frames {
        world.send(us(number * 200), 0, &bytes);
        world.run();
        lost.push(world.arrivals.pop().is_none());
    }
    let down = world.down(1);
    assert_eq!(down.lost.packets, lost.iter().filter(|lost| **lost).count() as u64);
    assert_eq!(down.delivered.packets + down.lost.packets, frames);
    lost
}

fn mean(lost: &[bool]) -> f64 {
    lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64
}

#[test]
fn random_loss_is_near_its_probability_and_independent() {
    let lost = losses(Loss::Random(fraction(0.03)), 7, 100_000);
    // Five standard deviations: 5·sqrt(0.03·0.97/100000) = 0.0027.
    assert!((mean(&lost) - 0.03).abs() < 0.0027, "{}", mean(&lost));
    let after: Vec<_> = lost.windows(2).filter(|two| two[0]).map(|two| two[1]).collect();
    assert!((mean(&after) - 0.03).abs() < 0.017, "after a loss: {}", mean(&after));
}

#[test]
fn bursts_have_the_mean_and_the_length_of_the_chain() {
    let lost = losses(Loss::Burst { begin: fraction(0.01), end: fraction(0.2) }, 7, 200_000);
    assert!((mean(&lost) - 0.01 / 0.21).abs() < 0.005, "{}", mean(&lost));
    let bursts = lost.windows(2).filter(|two| !two[0] && two[1]).count();
    let length = lost.iter().filter(|lost| **lost).count() as f64 / bursts as f64;
    assert!((length - 5.0).abs() < 0.4, "{length}");
}

#[test]
fn the_seed_decides() {
    let loss = Loss::Random(fraction(0.5));
    assert_eq!(losses(loss, 1, 64), losses(loss, 1, 64));
    assert_ne!(losses(loss, 1, 64), losses(loss, 2, 64));
}

#[test]
fn a_lost_frame_has_taken_its_time() {
    let mut world = World::star(2, 1, &PortConfig { loss: Loss::Random(Fraction::ONE), ..slow() });
    let port = world.fabric.downlink(HostId::new(1));
    world.send(us(0), 0, &hundred(0, 0));
    world.send(us(0), 0, &hundred(1, 0));
    world.change(us(150), Change::Loss { port, loss: Loss::None });
    world.run();
    assert_eq!((world.times(), world.ports()), (vec![us(200)], vec![1]));
    assert_eq!(world.down(1).lost.packets, 1);
    assert_eq!(world.fabric.now(), Time::ZERO + us(200).since(Time::ZERO));
}
