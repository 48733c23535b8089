//! What the receiver knows when a job has ended.

use laxity_interface::Time;

use super::job::RecvJob;
use crate::{
    report::{DeliveryReport, Ended, GroupDelivery, Missing},
    send::to_elements,
    wire::{GroupOpen, JobKind},
};

impl RecvJob {
    /// What is known at the end.
    pub(crate) fn report(&self, now: Time, ended: Ended, loss_rate: f64) -> DeliveryReport {
        let groups = self
            .open
            .groups
            .iter()
            .enumerate()
            .map(|(at, group)| GroupDelivery {
                id: group.id,
                total: self.counts[at].total,
                required: self.counts[at].required,
                received: self.received[at],
            })
            .collect();
        let missing = match self.open.kind {
            JobKind::Tensor { element, elements } => {
                let per_chunk = u64::from(self.open.piece) / element.size() as u64;
                Missing::Elements(to_elements(&self.missing(0, 0).missing, per_chunk, elements))
            }
            JobKind::Messages { .. } => {
                let groups = self.open.groups.iter().enumerate();
                let list = |(at, group): (usize, &GroupOpen)| {
                    (group.id, self.missing(at as u16, 0).missing)
                };
                Missing::Messages(groups.map(list).collect())
            }
        };
        DeliveryReport {
            groups,
            missing,
            elapsed: now.since(self.started),
            bytes: self.bytes,
            loss_rate,
            repeated: self.duplicates,
            ended,
        }
    }
}
