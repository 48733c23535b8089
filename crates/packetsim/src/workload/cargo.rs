//! What one flow carries.

use laxity_interface::{Bytes, Fraction};

use super::{gaps::Gaps, tag::Tag};
use crate::{
    chance::Chance,
    flow::{Flow, HostId, Messages},
    sizes::Sizes,
};

/// What every flow of a workload carries, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Cargo {
    /// Which of the hosts' stacks carries it.
    pub stack: u8,
    /// How much of it has to arrive.
    pub min_delivery: Fraction,
    /// Messages of a flow.
    pub messages: u32,
    /// Sizes of the messages.
    pub sizes: Sizes,
    /// Times between the messages of a flow.
    pub gaps: Gaps,
}

impl Cargo {
    /// Bytes cut into messages of one size; the last message is rounded up.
    pub fn cut(self, bytes: Bytes, message: Bytes) -> Self {
        let message = Bytes::new(message.get().clamp(1, bytes.get().max(1)));
        let messages = bytes.get().max(1).div_ceil(message.get());
        Self {
            messages: u32::try_from(messages).unwrap_or(u32::MAX),
            sizes: Sizes::Fixed(message),
            ..self
        }
    }

    /// Draws a flow.
    pub fn flow(&self, from: HostId, to: HostId, tag: Tag, chance: &mut Chance) -> Flow {
        let messages = match &self.sizes {
            Sizes::Fixed(_) => {
                Messages::Equal { count: self.messages, bytes: self.sizes.sample(chance) }
            }
            drawn => Messages::Sizes((0..self.messages).map(|_| drawn.sample(chance)).collect()),
        };
        let (stack, min_delivery) = (self.stack, self.min_delivery);
        let ready = self.gaps.draw(messages.count(), chance);
        Flow { from, to, stack, tag: tag.pack(), messages, ready, min_delivery }
    }

    /// Mean bytes of a flow.
    pub fn mean(&self) -> f64 {
        self.sizes.mean() * f64::from(self.messages)
    }
}

#[cfg(test)]
mod tests {
    use laxity_interface::Span;

    use super::*;
    use crate::workload::GapShape;

    fn cargo() -> Cargo {
        let min_delivery = Fraction::ONE;
        Cargo {
            stack: 2,
            min_delivery,
            messages: 5,
            sizes: "fbkv".parse().unwrap(),
            gaps: Gaps::AtOnce,
        }
    }

    #[test]
    fn messages_are_drawn_one_by_one() {
        let mut chance = Chance::new(1, "cargo", 0);
        let flow = cargo().flow(HostId(0), HostId(1), Tag::new(3, 4), &mut chance);
        assert_eq!((flow.messages.count(), flow.stack), (5, 2));
        assert_eq!(Tag::unpack(flow.tag), Tag::new(3, 4));
        let sizes: Vec<_> = (0..5).map(|m| flow.messages.size(m)).collect();
        assert!(sizes.windows(2).any(|pair| pair[0] != pair[1]), "{sizes:?}");
    }

    #[test]
    fn gaps_do_not_change_the_sizes_of_a_flow() {
        let mean = Span::from_us(1);
        let slow = Cargo { gaps: Gaps::OneByOne { shape: GapShape::Even, mean }, ..cargo() };
        let draw = |cargo: Cargo| {
            let mut chance = Chance::new(1, "cargo", 0);
            cargo.flow(HostId(0), HostId(1), Tag::new(3, 4), &mut chance)
        };
        let (at_once, slow) = (draw(cargo()), draw(slow));
        assert_eq!(at_once.messages, slow.messages);
        assert_eq!((at_once.ready.after(4), slow.ready.after(4)), (Span::ZERO, mean * 4));
    }

    #[test]
    fn bytes_are_cut_into_messages() {
        let cut = cargo().cut(Bytes::new(10_000), Bytes::new(1400));
        assert_eq!((cut.messages, cut.mean()), (8, 11_200.0));
        let small = cargo().cut(Bytes::new(100), Bytes::new(1400));
        assert_eq!((small.messages, small.mean()), (1, 100.0));
    }
}
