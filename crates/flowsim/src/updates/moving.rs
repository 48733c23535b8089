//! Transfers on their way, at the rates of the planner.

use laxity_interface::{Bytes, Time};
use laxity_planner::{Demand, FlowKey, JobKey, Network, Options, Scheme, allocate};
use laxity_topology::{NodeId, Path};

use super::Transfers;
use crate::error::SimError;

/// Bits of a byte in 10⁻¹² of a bit: what a rate in bit/s moves in a picosecond.
const BYTE: u128 = 8 * 1_000_000_000_000;

/// What a transfer carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carries {
    /// An update straight to the server.
    Update(usize),
    /// An update to the host of its group.
    Member { group: usize, update: usize },
    /// The sum of a group.
    Sum(usize),
    /// The model, for a worker.
    Model(usize),
    /// What the replica lacks.
    Copy,
}

#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) carries: Carries,
    pub(super) path: Path,
    pub(super) ends: (NodeId, NodeId),
    size: Bytes,
    /// What is left, in 10⁻¹² of a bit.
    left: u128,
    rate: u64,
    /// Strict order under the rules; less goes first.
    pub(super) place: u32,
    number: u64,
}

impl Transfer {
    /// What is left, in whole bytes.
    pub(super) fn remaining(&self) -> Bytes {
        Bytes::new(u64::try_from(self.left.div_ceil(BYTE)).unwrap_or(u64::MAX))
    }

    /// Whether anything of it has moved.
    pub(super) fn begun(&self) -> bool {
        self.left < u128::from(self.size.get()) * BYTE
    }
}

#[derive(Debug)]
pub(super) struct Moving {
    pub(super) all: Vec<Transfer>,
    scheme: Scheme,
    next: u64,
}

impl Moving {
    pub(super) fn new(transfers: &Transfers) -> Self {
        let scheme = match transfers {
            Transfers::Together => Scheme::MaxMin,
            Transfers::NodeOrdered => Scheme::NodeOrdered,
            Transfers::Planned(_) => Scheme::Priority,
        };
        Self { all: Vec::new(), scheme, next: 0 }
    }

    pub(super) fn add(
        &mut self,
        carries: Carries,
        path: Path,
        ends: (NodeId, NodeId),
        size: Bytes,
        place: u32,
    ) {
        let left = u128::from(size.get()) * BYTE;
        let number = self.next;
        self.next += 1;
        self.all.push(Transfer { carries, path, ends, size, left, rate: 0, place, number });
    }

    /// Asks the planner for rates.
    pub(super) fn plan(&mut self, now: Time, network: &Network) -> Result<(), SimError> {
        let demands: Vec<_> = self
            .all
            .iter()
            .map(|transfer| {
                let key = FlowKey(transfer.number);
                let demand = Demand::new(key, JobKey(0), transfer.path.clone(), transfer.size);
                let (from, to) = transfer.ends;
                let sent = transfer.size - transfer.remaining();
                // Nodes send in the order of availability, the planner's rules in their own.
                let place = match self.scheme {
                    Scheme::NodeOrdered => transfer.number as u32,
                    _ => transfer.place,
                };
                Demand { sent, priority: Some(place), ..demand.between(from, to) }
            })
            .collect();
        let options = Options::new(self.scheme);
        let plan = allocate(now, network, &demands, &[], &options)
            .map_err(|source| SimError::Plan { at: now, source })?;
        for (transfer, decision) in self.all.iter_mut().zip(&plan.decisions) {
            transfer.rate = decision.rate.as_bps();
        }
        Ok(())
    }

    /// When the next transfer ends at these rates.
    pub(super) fn next_end(&self, now: Time) -> Option<Time> {
        let moving = self.all.iter().filter(|transfer| transfer.rate > 0);
        let ends = moving.map(|transfer| {
            let ps = transfer.left.div_ceil(u128::from(transfer.rate));
            Time::from_ps(u64::try_from(u128::from(now.as_ps()) + ps).unwrap_or(u64::MAX))
        });
        ends.min()
    }

    /// Lets transfers progress; returns those that have ended, the oldest first.
    pub(super) fn advance(&mut self, now: Time, next: Time) -> Vec<Transfer> {
        let ps = u128::from(next.since(now).as_ps());
        for transfer in &mut self.all {
            transfer.left = transfer.left.saturating_sub(u128::from(transfer.rate) * ps);
        }
        let mut ended: Vec<_> = self.all.extract_if(.., |transfer| transfer.left == 0).collect();
        ended.sort_by_key(|transfer| transfer.number);
        ended
    }
}
