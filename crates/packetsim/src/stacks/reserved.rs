//! The papers' forms behind NetApprox' first rule for switches (§5.2): the highest queue is reserved
//! for non-approximate jobs.
//!
//! The protocol crate sends a job whose slack is spent (target loss rate 0) with the exact traffic,
//! because it could starve behind it for ever. The paper does not: its seven other queues share the
//! whole range of target loss rates. The difference matters. The papers' rate control looks at losses
//! alone, and queue 0 has the port's whole buffer: a job that got there would not lose anything before
//! the buffer is full, and would fill it.

use std::collections::BTreeSet;

use laxity_interface::{Ecn, Layout, Rate, Time};
use laxity_protocol::{Endpoint, MessageOrder, Reason};

use super::laxity::{Form, Laxity};
use crate::{
    flow::{FlowId, HostId},
    packet::Packet,
    stack::{Context, Stack, Tally},
};

/// The highest queue that approximate jobs may use.
const HIGHEST: u8 = 1;

/// One of the papers' forms on one host, with queue 0 reserved for exact flows.
#[derive(Debug)]
pub struct Reserved {
    inner: Laxity,
    /// Hosts to which exact flows went: they share a connection with what else goes there, so its
    /// packets keep the queue that they ask for.
    exact: BTreeSet<HostId>,
}

/// What rate control did last, and why.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outlook {
    /// The rate that may be sent at.
    pub rate: Rate,
    /// Loss rate of the last epoch, and what could be afforded; unknown at the minimum rate.
    pub loss_and_target: Option<(f64, f64)>,
}

impl Reserved {
    /// On the host of this number.
    pub fn new(form: Form, layout: Layout, host: HostId, seed: u64) -> Self {
        Self { inner: Laxity::new(form, layout, host, seed), exact: BTreeSet::new() }
    }

    /// The other reading of the paper: what got lost is not sent again while the slack covers it. The
    /// target loss rate (equation 1) then falls with every loss, as figure 12 shows it; where lost
    /// messages are sent again with all others (§4.3), it rises as a job goes on.
    #[must_use]
    pub fn leaving_losses(self) -> Self {
        let inner = self.inner.with_order(MessageOrder::FewestRemaining);
        Self { inner, ..self }
    }

    /// What rate control thinks of the connection that was opened first.
    pub fn outlook(&self) -> Option<Outlook> {
        let endpoint: &Endpoint = self.inner.endpoint()?;
        let lane = endpoint.peers().find_map(|peer| endpoint.peer(peer))?.slack;
        let loss_and_target = match lane.reason {
            Reason::WithinSlack { loss, target } | Reason::BeyondSlack { loss, target } => {
                Some((loss, target))
            }
            _ => None,
        };
        Some(Outlook { rate: lane.rate, loss_and_target })
    }
}

impl Stack for Reserved {
    fn handle_start(&mut self, id: FlowId, cx: &mut Context<'_>) {
        let flow = cx.flow(id);
        let count = u64::from(flow.messages.count());
        if flow.min_delivery.of(count) == count {
            self.exact.insert(flow.to);
        }
        self.inner.handle_start(id, cx);
    }

    fn handle_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.inner.handle_packet(packet, cx);
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        self.inner.handle_timeout(cx);
    }

    fn poll_packet(&mut self, cx: &mut Context<'_>) -> Option<Packet> {
        let mut packet = self.inner.poll_packet(cx)?;
        // Payload understands marks; acknowledgements, questions and answers do not.
        if packet.ecn == Ecn::Ect0 && !self.exact.contains(&packet.to) {
            packet.class = packet.class.max(HIGHEST);
        }
        Some(packet)
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.inner.poll_timeout()
    }

    fn tally(&self) -> Tally {
        self.inner.tally()
    }
}
