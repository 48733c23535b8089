//! A star, described in Rust: what most tests and measurements want.

use std::collections::BTreeMap;

use laxity_interface::{Bytes, Fraction, Layout, Rate, Span};

use super::{
    FileError, LabFile,
    raw::{QueueKind, RawBackground, RawBurst, RawHosts, RawLab, RawLink, RawQueues, RawWay},
    text::{Amount, List},
};
use crate::host::Receive;

/// Hosts `h1`, `h2`, … around one switch. See [`LabFile::star`].
#[derive(Clone, Debug)]
pub struct Star {
    raw: RawLab,
    queues: RawQueues,
}

/// The name that the star's own queues get.
const OWN: &str = "port";

impl Star {
    pub(super) fn new(hosts: u32) -> Self {
        let hosts = RawHosts {
            name: "h".to_owned(),
            count: Some(hosts),
            switch: None,
            link: RawLink::default(),
            up: RawWay::default(),
        };
        let kind = QueueKind::Named(Layout::Single);
        let queues = RawQueues { kind, buffer: None, ecn: None, queue: Vec::new() };
        Self { raw: RawLab { hosts: vec![hosts], ..RawLab::default() }, queues }
    }

    /// The rate of every port that leads to a host.
    #[must_use]
    pub fn rate(mut self, rate: Rate) -> Self {
        self.raw.link.rate = Some(rate);
        self
    }

    /// The rate of what each host sends; as fast as it can if left out.
    #[must_use]
    pub fn up_rate(mut self, rate: Rate) -> Self {
        self.raw.up.rate = Some(rate);
        self
    }

    /// The delay of every link, one way: a round trip takes four of them.
    #[must_use]
    pub fn delay(mut self, delay: Span) -> Self {
        self.raw.link.delay = Some(delay);
        self
    }

    /// The fraction of packets that every port to a host loses.
    #[must_use]
    pub fn loss(mut self, loss: Fraction) -> Self {
        (self.raw.link.loss, self.raw.link.burst_loss) = (Some(loss), None);
        self
    }

    /// Loss in bursts that begin and end with these probabilities per packet.
    #[must_use]
    pub fn burst_loss(mut self, begin: Fraction, end: Fraction) -> Self {
        (self.raw.link.loss, self.raw.link.burst_loss) = (None, Some(RawBurst { begin, end }));
        self
    }

    /// The largest packet, IP header included.
    #[must_use]
    pub fn mtu(mut self, mtu: u32) -> Self {
        self.raw.link.mtu = Some(mtu);
        self
    }

    /// How much may wait at a port, all queues together.
    #[must_use]
    pub fn buffer(mut self, buffer: Bytes) -> Self {
        self.queues.buffer = Some(buffer);
        self
    }

    /// Above how many waiting packets a port marks.
    #[must_use]
    pub fn ecn_packets(mut self, packets: u32) -> Self {
        self.queues.ecn = Some(Amount::Packets(packets));
        self
    }

    /// The queues of every port; [`Layout::Single`] if left out.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Self {
        self.queues.kind = QueueKind::Named(layout);
        self
    }

    /// Whether the switch cuts and joins packets for hosts, as network cards do; it does if left out.
    #[must_use]
    pub fn offload(mut self, offload: bool) -> Self {
        self.raw.offload = Some(offload);
        self
    }

    /// How hosts take in what arrives; with interrupts if left out.
    #[must_use]
    pub fn receive(mut self, receive: Receive) -> Self {
        self.raw.receive = Some(receive);
        self
    }

    /// What chance is drawn from.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.raw.seed = Some(seed);
        self
    }

    /// TCP flows of these sizes (points of their distribution) from some hosts to some others that
    /// fill this part of the receivers' links, from the beginning on for this long.
    #[must_use]
    pub fn background(
        mut self,
        from: &[&str],
        to: &[&str],
        sizes: &[(Bytes, Fraction)],
        load: Fraction,
        duration: Span,
    ) -> Self {
        let list = |names: &[&str]| List::Many(names.iter().map(|&name| name.to_owned()).collect());
        self.raw.background.push(RawBackground {
            name: None,
            from: list(from),
            to: list(to),
            transport: None,
            start: None,
            duration,
            rate: None,
            on: None,
            off: None,
            sizes: sizes.to_vec(),
            load: Some(load),
            congestion: None,
        });
        self
    }

    /// Checks it.
    pub fn build(mut self) -> Result<LabFile, FileError> {
        self.raw.queues = BTreeMap::from([(OWN.to_owned(), self.queues)]);
        self.raw.link.queue = Some(OWN.to_owned());
        self.raw.try_into()
    }
}
