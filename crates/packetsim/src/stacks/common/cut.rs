//! A flow as packets: which messages each of them carries a part of.

use crate::{flow::Flow, packet::PAYLOAD, stacks::approx::Approx};

/// A flow's messages, one behind the other as a byte stream, in packets of equal payload. Small
/// messages share packets; a message is there when all packets that it touches are.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    /// One past the last byte of each message that is sent.
    ends: Vec<u64>,
    packets: u32,
    required: u32,
    goal: u32,
    /// Packets are cut as messages become ready: each says which bytes it has.
    gradual: bool,
}

impl Cut {
    pub(crate) fn new(flow: &Flow, approx: Approx) -> Self {
        let messages = approx.messages(flow);
        let ends: Vec<u64> = (0..messages.count())
            .scan(0, |end, message| {
                *end += u64::from(messages.size(message));
                Some(*end)
            })
            .collect();
        let required = approx.required(flow);
        let up_to = |bytes: u64| bytes.div_ceil(u64::from(PAYLOAD)).max(1) as u32;
        let packets = up_to(ends.last().copied().unwrap_or(0));
        let goal = match required {
            0 => 1,
            some => up_to(ends[some as usize - 1]),
        };
        let gradual = flow.ready.is_gradual() && !ends.is_empty();
        Self { ends, packets, required, goal, gradual }
    }

    /// Packets in all. At least one, so that an empty flow is noticed.
    pub(crate) fn packets(&self) -> u32 {
        self.packets
    }

    /// Packets up to the end of the last message that has to arrive, sent in order: what is enough
    /// where nothing gets lost.
    pub(crate) fn goal(&self) -> u32 {
        self.goal
    }

    /// Bytes up to the end of the last message that has to arrive, in order.
    pub(crate) fn goal_bytes(&self) -> u64 {
        self.required.checked_sub(1).map_or(0, |last| self.ends[last as usize])
    }

    /// Bytes of all messages.
    pub(crate) fn bytes(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Bytes of payload in a packet.
    pub(crate) fn payload(&self, packet: u32) -> u32 {
        let total = self.ends.last().copied().unwrap_or(0);
        let from = u64::from(packet) * u64::from(PAYLOAD);
        total.saturating_sub(from).min(u64::from(PAYLOAD)) as u32
    }

    /// First byte of a message.
    fn start(&self, message: usize) -> u64 {
        if message == 0 { 0 } else { self.ends[message - 1] }
    }

    /// Packets that a message touches: first and one past the last.
    fn span(&self, message: usize) -> (u32, u32) {
        let (start, end) = (self.start(message), self.ends[message]);
        let payload = u64::from(PAYLOAD);
        if start == end {
            // An empty message travels with its neighbour.
            let at = (start / payload).min(u64::from(self.packets) - 1) as u32;
            return (at, at + 1);
        }
        ((start / payload) as u32, end.div_ceil(payload) as u32)
    }
}

/// What has arrived of a cut flow. Where packets say which bytes they have, bytes are counted, otherwise
/// packets.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    cut: Cut,
    seen: Vec<bool>,
    /// Packets or bytes still missing of each message.
    left: Vec<u32>,
    packets: u32,
    messages: u32,
    bytes: u64,
}

impl Arrivals {
    pub(crate) fn new(cut: Cut) -> Self {
        let left = (0..cut.ends.len())
            .map(|message| {
                if cut.gradual {
                    return (cut.ends[message] - cut.start(message)) as u32;
                }
                let (first, end) = cut.span(message);
                end - first
            })
            .collect();
        let seen = vec![false; if cut.gradual { 0 } else { cut.packets as usize }];
        Self { cut, seen, left, packets: 0, messages: 0, bytes: 0 }
    }

    /// Notes a packet by its number and, where that is not enough, by the bytes that it says it has;
    /// false if it was there.
    pub(crate) fn insert(&mut self, packet: u32, part: (u32, u32)) -> bool {
        if self.cut.gradual {
            return self.insert_part(packet, part);
        }
        let Some(seen) = self.seen.get_mut(packet as usize) else { return false };
        if std::mem::replace(seen, true) {
            return false;
        }
        self.packets += 1;
        let from = u64::from(packet) * u64::from(PAYLOAD);
        let to = from + u64::from(PAYLOAD);
        let mut message = self.cut.ends.partition_point(|end| *end < from);
        while message < self.left.len() && self.cut.start(message) <= to {
            let (first, end) = self.cut.span(message);
            if (first..end).contains(&packet) {
                self.left[message] -= 1;
                if self.left[message] == 0 {
                    self.messages += 1;
                    self.bytes += self.cut.ends[message] - self.cut.start(message);
                }
            }
            message += 1;
        }
        true
    }

    fn insert_part(&mut self, packet: u32, (first, bytes): (u32, u32)) -> bool {
        if self.seen.len() <= packet as usize {
            self.seen.resize(packet as usize + 1, false);
        }
        if std::mem::replace(&mut self.seen[packet as usize], true) {
            return false;
        }
        self.packets += 1;
        let (mut at, end) = (u64::from(first), u64::from(first) + u64::from(bytes));
        let mut message = self.cut.ends.partition_point(|end| *end <= at);
        while at < end {
            let own = self.cut.ends[message].min(end) - at;
            self.left[message] -= own as u32;
            if self.left[message] == 0 {
                self.messages += 1;
                self.bytes += self.cut.ends[message] - self.cut.start(message);
            }
            at += own;
            message += 1;
        }
        true
    }

    /// Bytes of payload in a packet that arrived.
    pub(crate) fn payload(&self, packet: u32, part: (u32, u32)) -> u32 {
        if self.cut.gradual { part.1 } else { self.cut.payload(packet) }
    }

    /// Packets that have not arrived, where it is known how many there are.
    pub(crate) fn missing(&self) -> Option<u32> {
        (!self.cut.gradual).then(|| self.cut.packets - self.packets)
    }

    /// Messages that arrived whole.
    pub(crate) fn messages(&self) -> u32 {
        self.messages
    }

    /// Bytes of those.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the promise is kept.
    pub(crate) fn enough(&self) -> bool {
        // A flow that promises nothing still has to be heard of.
        self.messages >= self.cut.required && self.packets > 0
    }
}

#[cfg(test)]
mod tests {
    use laxity_interface::Fraction;
    use proptest::prelude::*;

    use super::*;
    use crate::flow::{HostId, Messages, Ready};

    fn flow(sizes: &[u32], min: f64) -> Flow {
        Flow {
            from: HostId(0),
            to: HostId(1),
            stack: 0,
            tag: 0,
            messages: Messages::Sizes(sizes.into()),
            ready: Ready::AtOnce,
            min_delivery: Fraction::new(min).unwrap(),
        }
    }

    #[test]
    fn small_messages_share_a_packet_and_large_ones_take_several() {
        let cut = Cut::new(&flow(&[1000, 1000, 3000], 1.0), Approx::Whole);
        assert_eq!(cut.packets(), 4);
        assert_eq!((cut.payload(0), cut.payload(3)), (1460, 5000 - 3 * 1460));
        let mut arrivals = Arrivals::new(cut);
        assert!(arrivals.insert(0, (0, 0)));
        assert_eq!(arrivals.messages(), 1);
        assert!(!arrivals.insert(0, (0, 0)), "twice");
        assert!(arrivals.insert(3, (0, 0)) && arrivals.insert(2, (0, 0)));
        assert_eq!(arrivals.messages(), 1);
        assert!(arrivals.insert(1, (0, 0)));
        assert_eq!((arrivals.messages(), arrivals.bytes()), (3, 5000));
    }

    #[test]
    fn a_part_in_order_is_enough_for_early_send() {
        let cut = Cut::new(&flow(&[1460; 10], 0.45), Approx::EarlySend);
        assert_eq!((cut.packets(), cut.goal()), (10, 5));
        let cut = Cut::new(&flow(&[1460; 10], 0.45), Approx::SampleSend);
        assert_eq!((cut.packets(), cut.goal()), (5, 5));
    }

    proptest! {
        #[test]
        fn everything_arrives_once_in_any_order(
            sizes in prop::collection::vec(0u32..5000, 1..40),
            order in any::<u64>(),
        ) {
            let flow = flow(&sizes, 1.0);
            let cut = Cut::new(&flow, Approx::Whole);
            let payload: u64 = (0..cut.packets()).map(|p| u64::from(cut.payload(p))).sum();
            prop_assert_eq!(payload, flow.messages.total());
            let mut arrivals = Arrivals::new(cut.clone());
            let mut packets: Vec<u32> = (0..cut.packets()).collect();
            packets.sort_by_key(|p| (u64::from(*p) ^ order).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            for (at, packet) in packets.iter().enumerate() {
                prop_assert!(!arrivals.enough() || at == packets.len());
                prop_assert!(arrivals.insert(*packet, (0, 0)));
            }
            prop_assert!(arrivals.enough());
            prop_assert_eq!(arrivals.messages() as usize, sizes.len());
            prop_assert_eq!(arrivals.bytes(), flow.messages.total());
        }
    }
}
