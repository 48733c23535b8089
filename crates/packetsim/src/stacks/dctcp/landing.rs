//! Messages of a byte stream, as their bytes come in.

use crate::{flow::Messages, packet::PAYLOAD};

/// Counts messages that arrived whole. The messages of a flow lie back to back in its segments.
#[derive(Debug)]
pub(super) struct Landing {
    /// Where each message ends; empty where all are alike.
    ends: Vec<u64>,
    /// Bytes that are missing of each.
    missing: Vec<u32>,
    messages: Messages,
    /// How many have to arrive.
    enough: u32,
    whole: u32,
    bytes: u64,
}

impl Landing {
    pub(super) fn new(messages: &Messages, enough: u32) -> Self {
        let count = messages.count();
        let missing: Vec<u32> = (0..count).map(|message| messages.size(message)).collect();
        let ends = match messages {
            Messages::Equal { .. } => Vec::new(),
            Messages::Sizes(sizes) => sizes
                .iter()
                .scan(0, |end, size| {
                    *end += u64::from(*size);
                    Some(*end)
                })
                .collect(),
        };
        // Messages without bytes are there from the beginning.
        let whole = missing.iter().filter(|missing| **missing == 0).count() as u32;
        Self { ends, missing, messages: messages.clone(), enough, whole, bytes: 0 }
    }

    /// Messages that arrived whole, and their bytes.
    pub(super) fn arrived(&self) -> (u32, u64) {
        (self.whole, self.bytes)
    }

    pub(super) fn is_enough(&self) -> bool {
        self.whole >= self.enough
    }

    /// A segment with so many bytes arrived for the first time.
    pub(super) fn insert(&mut self, segment: u32, bytes: u32) {
        self.insert_from(u64::from(segment) * u64::from(PAYLOAD), bytes);
    }

    /// So many bytes arrived from this one on, for the first time.
    pub(super) fn insert_from(&mut self, first: u64, bytes: u32) {
        let (mut at, end) = (first, first + u64::from(bytes));
        while at < end {
            let message = self.message_at(at);
            let size = self.messages.size(message as u32);
            let message_end = match self.ends.get(message) {
                Some(end) => *end,
                None => (message as u64 + 1) * u64::from(size),
            };
            let part = message_end.min(end) - at;
            self.missing[message] -= part as u32;
            if self.missing[message] == 0 {
                self.whole += 1;
                self.bytes += u64::from(size);
            }
            at += part;
        }
    }

    /// The message that this byte belongs to.
    fn message_at(&self, byte: u64) -> usize {
        match self.messages {
            Messages::Equal { bytes, .. } => (byte / u64::from(bytes)) as usize,
            Messages::Sizes(_) => self.ends.partition_point(|end| *end <= byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against one flag per byte.
        #[test]
        fn counts_messages_whose_bytes_are_all_there(
            sizes in prop::collection::vec(0u32..4000, 1..20),
            order in prop::collection::vec(any::<u32>(), 40),
        ) {
            let messages = Messages::Sizes(sizes.clone().into());
            let total = messages.total();
            let segments = total.div_ceil(u64::from(PAYLOAD)) as u32;
            let mut landing = Landing::new(&messages, 1);
            let mut there = vec![false; total as usize];
            let mut left: Vec<u32> = (0..segments).collect();
            for pick in order {
                if left.is_empty() {
                    break;
                }
                let segment = left.swap_remove(pick as usize % left.len());
                let start = u64::from(segment) * u64::from(PAYLOAD);
                let end = (start + u64::from(PAYLOAD)).min(total);
                landing.insert(segment, (end - start) as u32);
                there[start as usize..end as usize].fill(true);
                let (mut at, mut whole, mut bytes) = (0, 0, 0);
                for size in &sizes {
                    let size = *size as usize;
                    if there[at..at + size].iter().all(|there| *there) {
                        whole += 1;
                        bytes += size as u64;
                    }
                    at += size;
                }
                prop_assert_eq!(landing.arrived(), (whole, bytes));
            }
        }
    }
}
