//! Getting connected while somebody plays with the packets.

use arbitrary::{Arbitrary, Unstructured};
use laxity_interface::{Ecn, Span};

use super::pair::Pair;

#[derive(Arbitrary, Debug)]
enum Step {
    /// The oldest packet arrives.
    Deliver(bool),
    /// It is lost.
    Drop(bool),
    /// It arrives twice.
    Repeat(bool),
    /// It arrives with one byte changed.
    Damage(bool, u16, u8),
    /// It arrives shortened.
    Cut(bool, u16),
    /// It comes back to where it was sent from.
    Reflect(bool),
    /// It arrives from another address.
    Spoof(bool, u8),
    /// Something else arrives, in the other side's name or in a stranger's.
    Inject(bool, bool, Vec<u8>),
    /// Time passes.
    Wait(u16),
    /// The client tries once more.
    Connect,
}

/// Drives a handshake with the steps that the bytes spell.
pub fn handshake(data: &[u8]) {
    let mut source = Unstructured::new(data);
    let Ok(keyed) = bool::arbitrary(&mut source) else { return };
    let mut pair = Pair::new(keyed);
    let _ = pair.ends[0].connect(pair.now, pair.addresses[1]);
    pair.drain(0);
    for _ in 0..64 {
        let Ok(step) = Step::arbitrary(&mut source) else { break };
        apply(&mut pair, step);
        pair.check_bounds();
        assert!(pair.ends[1].peers().count() <= 70);
    }
}

fn apply(pair: &mut Pair, step: Step) {
    let first =
        |pair: &mut Pair, to: usize| (!pair.wire[to].is_empty()).then(|| pair.wire[to].remove(0).1);
    match step {
        Step::Deliver(to) => drop(pair.deliver_next(usize::from(to))),
        Step::Drop(to) => drop(first(pair, usize::from(to))),
        Step::Repeat(to) => {
            let to = usize::from(to);
            if let Some(bytes) = first(pair, to) {
                let from = pair.addresses[1 - to];
                pair.deliver(to, from, Ecn::NotEct, bytes.clone());
                pair.deliver(to, from, Ecn::NotEct, bytes);
            }
        }
        Step::Damage(to, at, mask) => {
            let to = usize::from(to);
            if let Some(mut bytes) = first(pair, to) {
                let at = usize::from(at) % bytes.len();
                bytes[at] ^= mask;
                pair.deliver(to, pair.addresses[1 - to], Ecn::NotEct, bytes);
            }
        }
        Step::Cut(to, length) => {
            let to = usize::from(to);
            if let Some(mut bytes) = first(pair, to) {
                bytes.truncate(usize::from(length));
                pair.deliver(to, pair.addresses[1 - to], Ecn::NotEct, bytes);
            }
        }
        Step::Reflect(to) => {
            let to = usize::from(to);
            if let Some(bytes) = first(pair, to) {
                pair.deliver(1 - to, pair.addresses[to], Ecn::NotEct, bytes);
            }
        }
        Step::Spoof(to, last) => {
            let to = usize::from(to);
            if let Some(bytes) = first(pair, to) {
                pair.deliver(to, ([10, 9, 9, last], 9).into(), Ecn::NotEct, bytes);
            }
        }
        Step::Inject(to, stranger, bytes) => {
            let to = usize::from(to);
            let from = if stranger { ([10, 8, 8, 8], 8).into() } else { pair.addresses[1 - to] };
            pair.deliver(to, from, Ecn::NotEct, bytes);
        }
        Step::Wait(ms) => pair.advance(Span::from_ms(u64::from(ms) % 3000)),
        Step::Connect => {
            if pair.ends[0].peers().count() < 8 {
                let _ = pair.ends[0].connect(pair.now, pair.addresses[1]);
                pair.drain(0);
            }
        }
    }
}
