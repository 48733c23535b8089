//! Flows of one host by number.

use crate::flow::FlowId;

/// Places of flows, sorted by flow. Flows start in the order of their numbers, so new ones go to the
/// end or near it.
#[derive(Debug, Default)]
pub(super) struct Table(Vec<(FlowId, u32)>);

impl Table {
    #[inline]
    pub(super) fn get(&self, flow: FlowId) -> Option<u32> {
        // Hosts with one flow are common.
        if let [(only, place)] = self.0[..] {
            return (only == flow).then_some(place);
        }
        let at = self.0.binary_search_by_key(&flow, |(flow, _)| *flow).ok()?;
        Some(self.0[at].1)
    }

    pub(super) fn insert(&mut self, flow: FlowId, place: u32) {
        match self.0.binary_search_by_key(&flow, |(flow, _)| *flow) {
            Ok(at) => self.0[at].1 = place,
            Err(at) => self.0.insert(at, (flow, place)),
        }
    }

    pub(super) fn remove(&mut self, flow: FlowId) {
        if let Ok(at) = self.0.binary_search_by_key(&flow, |(flow, _)| *flow) {
            self.0.remove(at);
        }
    }
}
