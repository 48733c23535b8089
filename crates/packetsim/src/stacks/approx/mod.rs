//! EarlySend and SampleSend: approximation over a transport that knows nothing of it.
//!
//! Seed paper "NetApprox" (§2.2, §7.1). EarlySend hands all messages to a reliable transport in their
//! order and stops once the promised number has arrived. SampleSend picks that many messages, spread
//! evenly, and sends only those. Both keep the bound on loss: the receiver ends when it has
//! ⌈d·N⌉ whole messages, never before.

use std::{borrow::Cow, fmt, str::FromStr};

use crate::flow::{Flow, Messages};

/// What a reliable transport sends of a flow that may lose something.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Approx {
    /// Everything, whatever was promised.
    #[default]
    Whole,
    /// Everything in order, until enough has arrived.
    EarlySend,
    /// Only as many messages as were promised, spread evenly over the flow.
    SampleSend,
}

impl Approx {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Whole, Self::EarlySend, Self::SampleSend];

    /// The messages that are sent, ascending.
    pub(crate) fn sent(self, flow: &Flow) -> Vec<u32> {
        let count = flow.messages.count();
        match self {
            Self::Whole | Self::EarlySend => (0..count).collect(),
            Self::SampleSend => {
                let (n, k) = (u64::from(count), u64::from(Self::EarlySend.required(flow)));
                (0..count).filter(|i| (u64::from(*i) + 1) * k / n > u64::from(*i) * k / n).collect()
            }
        }
    }

    /// The sizes of the messages that are sent.
    pub fn messages(self, flow: &Flow) -> Cow<'_, Messages> {
        match (self, &flow.messages) {
            (Self::Whole | Self::EarlySend, messages) => Cow::Borrowed(messages),
            (Self::SampleSend, Messages::Equal { bytes, .. }) => {
                Cow::Owned(Messages::Equal { count: self.required(flow), bytes: *bytes })
            }
            (Self::SampleSend, Messages::Sizes(sizes)) => {
                let sent = self.sent(flow).into_iter().map(|message| sizes[message as usize]);
                Cow::Owned(Messages::Sizes(sent.collect()))
            }
        }
    }

    /// How many messages have to arrive whole before the receiver is content.
    pub fn required(self, flow: &Flow) -> u32 {
        let count = flow.messages.count();
        match self {
            Self::Whole => count,
            Self::EarlySend | Self::SampleSend => flow.min_delivery.of(u64::from(count)) as u32,
        }
    }

    /// The suffix in names of schemes.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Whole => "",
            Self::EarlySend => "-es",
            Self::SampleSend => "-ss",
        }
    }
}

impl fmt::Display for Approx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole => "whole",
            Self::EarlySend => "early-send",
            Self::SampleSend => "sample-send",
        })
    }
}

impl FromStr for Approx {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|approx| approx.to_string() == text).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use laxity_interface::Fraction;
    use proptest::prelude::*;

    use super::*;
    use crate::flow::{HostId, Ready};

    fn flow(count: u32, min: f64) -> Flow {
        Flow {
            from: HostId(0),
            to: HostId(1),
            stack: 0,
            tag: 0,
            messages: Messages::Equal { count, bytes: 1000 },
            ready: Ready::AtOnce,
            min_delivery: Fraction::new(min).unwrap(),
        }
    }

    #[test]
    fn names_come_back() {
        for approx in Approx::ALL {
            assert_eq!(approx.to_string().parse(), Ok(approx));
        }
        assert_eq!("later".parse::<Approx>(), Err(()));
    }

    #[test]
    fn a_sample_is_spread_evenly() {
        assert_eq!(Approx::SampleSend.sent(&flow(10, 0.5)), [1, 3, 5, 7, 9]);
        assert_eq!(Approx::SampleSend.sent(&flow(3, 0.5)), [1, 2]);
    }

    proptest! {
        #[test]
        fn the_bound_is_kept_and_not_exceeded(count in 1u32..2000, min in 0.0f64..=1.0) {
            let flow = flow(count, min);
            let promised = flow.min_delivery.of(u64::from(count));
            for approx in [Approx::EarlySend, Approx::SampleSend] {
                prop_assert_eq!(u64::from(approx.required(&flow)), promised);
            }
            prop_assert_eq!(Approx::SampleSend.sent(&flow).len() as u64, promised);
            prop_assert_eq!(u64::from(Approx::SampleSend.messages(&flow).count()), promised);
            prop_assert_eq!(Approx::EarlySend.sent(&flow).len() as u32, count);
            prop_assert_eq!(Approx::Whole.required(&flow), count);
        }
    }
}
