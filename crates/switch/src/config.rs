//! What a port is like: rate, delay, loss, and its queues.

use laxity_interface::{Bytes, Dscp, Fraction, Layout, Rate, Span};
use serde::{Deserialize, Serialize};

/// What Ethernet adds to a frame on the wire beyond the bytes that software sees: preamble (8), frame
/// check sequence (4) and gap (12).
pub const ETHERNET_OVERHEAD: Bytes = Bytes::new(24);

/// The Ethernet header, which is part of a frame's bytes but not of the MTU.
pub const ETHERNET_HEADER: Bytes = Bytes::new(14);

/// How many priority queues a port has at most.
pub const MAX_QUEUES: usize = 8;

/// Above how many waiting packets the queues of a [`Layout`] mark where nobody says otherwise: what the
/// NetApprox paper (§5) gives its exact queue.
pub const MARK_PACKETS: u32 = 65;

/// The code points of Laxity's classes: class 0 is ordinary traffic, class i uses 4·i − 1.
pub const SLACK_CODE_POINTS: [u8; MAX_QUEUES] = [0, 3, 7, 11, 15, 19, 23, 27];

/// One direction of a link. The default neither delays nor loses nor limits anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortConfig {
    /// How fast it sends; without it frames take no time and never wait.
    pub rate: Option<Rate>,
    /// How long a frame travels after it was sent.
    pub delay: Span,
    /// Where frames wait.
    pub layout: QueueLayout,
    /// What gets lost on the wire: behind the queue, so a lost frame has taken link time.
    pub loss: Loss,
    /// What each frame takes on the wire beyond its own bytes.
    pub overhead: Bytes,
}

impl Default for PortConfig {
    fn default() -> Self {
        Self {
            rate: None,
            delay: Span::ZERO,
            layout: QueueLayout::default(),
            loss: Loss::None,
            overhead: ETHERNET_OVERHEAD,
        }
    }
}

impl PortConfig {
    /// A port of this rate and delay, with one queue without limit.
    pub fn new(rate: Rate, delay: Span) -> Self {
        Self { rate: Some(rate), delay, ..Self::default() }
    }

    /// A wire without a rate: frames only travel.
    pub fn wire(delay: Span) -> Self {
        Self { delay, ..Self::default() }
    }

    /// The same port with these queues.
    #[must_use]
    pub fn with_layout(mut self, layout: QueueLayout) -> Self {
        self.layout = layout;
        self
    }

    /// The same port with this loss.
    #[must_use]
    pub const fn with_loss(mut self, loss: Loss) -> Self {
        self.loss = loss;
        self
    }
}

/// What gets lost on a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Nothing.
    #[default]
    None,
    /// Each frame with this probability, independently.
    Random(Fraction),
    /// Bursts (Gilbert's chain): everything is lost while one lasts.
    Burst {
        /// The probability per frame that a burst begins.
        begin: Fraction,
        /// The probability per frame that it ends.
        end: Fraction,
    },
}

/// An amount of frames: by bytes, by number, or what a shared buffer has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// This many bytes, Ethernet headers included (see [`ETHERNET_HEADER`]).
    Bytes(Bytes),
    /// This many frames.
    Packets(u32),
    /// What the other queues of the port have left of [`QueueLayout::shared`].
    Shared,
}

/// One queue of a port. Frames that wait count; the one that is being sent does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueConfig {
    /// How much may wait; what does not fit is dropped.
    pub limit: Limit,
    /// Above how much waiting, with the frame itself, a frame is marked if its sender understands
    /// marks. ([`Limit::Shared`] marks when the whole shared buffer is full, that is never.)
    pub ecn: Option<Limit>,
}

/// The queues of a port, and which frames go where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueLayout {
    /// One to eight queues; a queue is served only while all before it are empty.
    pub queues: Vec<QueueConfig>,
    /// The queue of each code point. Numbers beyond the last queue mean the last.
    pub class_of_dscp: [u8; 64],
    /// How many bytes the queues with [`Limit::Shared`] hold together; without it, any amount.
    pub shared: Option<Bytes>,
}

impl Default for QueueLayout {
    /// One queue without limit.
    fn default() -> Self {
        let queue = QueueConfig { limit: Limit::Shared, ecn: None };
        Self { queues: vec![queue], class_of_dscp: [0; 64], shared: None }
    }
}

impl QueueLayout {
    /// One queue for everything that holds `limit` and marks above `ecn`.
    pub fn single(limit: Limit, ecn: Option<Limit>) -> Self {
        Self { queues: vec![QueueConfig { limit, ecn }], ..Self::default() }
    }

    /// Strict priority over `limits.len()` queues without marks; Laxity's class i goes to queue i.
    pub fn strict(limits: &[Limit]) -> Self {
        let queues = limits.iter().map(|&limit| QueueConfig { limit, ecn: None }).collect();
        Self { queues, class_of_dscp: slack_classes(), shared: None }
    }

    /// The layout of this name in a buffer of `total` bytes for packets of up to `mtu` bytes, with marks
    /// above `mark_packets` in each queue that marks. 65 packets suit 10 Gbit/s and more; a slower port
    /// wants the same time, so fewer.
    ///
    /// ```
    /// use laxity_interface::{Bytes, Layout};
    /// use laxity_switch::QueueLayout;
    /// let (buffer, mtu) = (Bytes::from_kib(256), Bytes::new(1500));
    /// let queues = |layout| QueueLayout::named(layout, buffer, mtu, 65).queues.len();
    /// assert_eq!(Layout::ALL.map(queues), [1, 8, 8]);
    /// ```
    pub fn named(layout: Layout, total: Bytes, mtu: Bytes, mark_packets: u32) -> Self {
        match layout {
            Layout::Single => Self::single(Limit::Bytes(total), Some(Limit::Packets(mark_packets))),
            Layout::Shared => Self::shared(total, mark_packets),
            Layout::Slack => Self::slack_marking(total, mtu, mark_packets),
        }
    }

    /// [`Layout::Shared`]: eight queues with strict priority for Laxity's classes, class 0 and foreign
    /// traffic first. All of them share the buffer, and each marks above `mark_packets`.
    ///
    /// ```
    /// use laxity_interface::Bytes;
    /// use laxity_switch::{Limit, QueueLayout};
    /// let layout = QueueLayout::shared(Bytes::from_kib(256), 65);
    /// assert!(layout.queues.iter().all(|queue| queue.limit == Limit::Shared));
    /// ```
    pub fn shared(total: Bytes, mark_packets: u32) -> Self {
        let queue = QueueConfig { limit: Limit::Shared, ecn: Some(Limit::Packets(mark_packets)) };
        Self {
            queues: vec![queue; MAX_QUEUES],
            class_of_dscp: slack_classes(),
            shared: Some(total),
        }
    }

    /// [`Layout::Slack`], the layout of the NetApprox paper (§5): eight queues; queue 0 for everything exact and for
    /// foreign traffic, with marks above 65 packets and all the buffer that is left; queue i = 1..7
    /// for Laxity's class i, which holds 8 − i packets of the size of an MTU.
    ///
    /// ```
    /// use laxity_interface::Bytes;
    /// use laxity_switch::{Limit, QueueLayout};
    /// let layout = QueueLayout::slack(Bytes::from_kib(256), Bytes::new(1500));
    /// assert_eq!(layout.queues[7].limit, Limit::Bytes(Bytes::new(1514)));
    /// assert_eq!(layout.queues[0].limit, Limit::Bytes(Bytes::new(262_144 - 28 * 1514)));
    /// ```
    pub fn slack(total: Bytes, mtu: Bytes) -> Self {
        Self::slack_marking(total, mtu, MARK_PACKETS)
    }

    /// [`slack`](Self::slack) with a threshold of one's own.
    pub fn slack_marking(total: Bytes, mtu: Bytes, mark_packets: u32) -> Self {
        let packet = mtu + ETHERNET_HEADER;
        let tiny = (1..MAX_QUEUES as u64).rev();
        let left = total - tiny.clone().map(|packets| packet * packets).sum();
        let first = QueueConfig {
            // However small the buffer, exact traffic must be able to pass.
            limit: Limit::Bytes(left.max(packet)),
            ecn: Some(Limit::Packets(mark_packets)),
        };
        let others =
            tiny.map(|packets| QueueConfig { limit: Limit::Bytes(packet * packets), ecn: None });
        let queues = std::iter::once(first).chain(others).collect();
        Self { queues, class_of_dscp: slack_classes(), shared: None }
    }

    /// The queue for a code point.
    pub fn queue_of(&self, dscp: Dscp) -> usize {
        let class = usize::from(self.class_of_dscp[usize::from(dscp.get())]);
        class.min(self.queues.len().saturating_sub(1))
    }
}

/// Laxity's code points to their classes, everything else to 0.
pub fn slack_classes() -> [u8; 64] {
    let mut classes = [0; 64];
    for (class, point) in SLACK_CODE_POINTS.iter().enumerate() {
        classes[usize::from(*point)] = class as u8;
    }
    classes
}

#[cfg(test)]
mod tests {
    use laxity_protocol::{Class, DscpMap};

    use super::*;

    #[test]
    fn the_code_points_are_those_of_the_protocol() {
        let (map, layout) =
            (DscpMap::default(), QueueLayout::slack(Bytes::from_mib(1), Bytes::new(1500)));
        for class in 0..8u8 {
            let dscp = map.dscp(Class::of(f64::from(class) / 7.0));
            assert_eq!(dscp.get(), SLACK_CODE_POINTS[usize::from(class)]);
            assert_eq!(layout.queue_of(dscp), usize::from(class));
        }
        assert_eq!(layout.queue_of(Dscp::new(46).unwrap()), 0, "foreign traffic is exact");
    }

    #[test]
    fn queues_of_the_paper() {
        let layout = QueueLayout::slack(Bytes::new(1_000_000), Bytes::new(986));
        let limits: Vec<_> = layout.queues.iter().map(|queue| queue.limit).collect();
        let kilo = |n: u64| Limit::Bytes(Bytes::new(1000 * n));
        assert_eq!(limits, [972, 7, 6, 5, 4, 3, 2, 1].map(kilo));
        assert_eq!(layout.queues[0].ecn, Some(Limit::Packets(65)));
        // A buffer that is smaller than the tiny queues together still lets exact traffic pass.
        let small = QueueLayout::slack(Bytes::new(10), Bytes::new(986));
        assert_eq!(small.queues[0].limit, kilo(1));
    }

    #[test]
    fn a_class_beyond_the_last_queue_takes_the_last() {
        let layout = QueueLayout::strict(&[Limit::Packets(1), Limit::Packets(2)]);
        assert_eq!(layout.queue_of(Dscp::new(27).unwrap()), 1);
    }
}
