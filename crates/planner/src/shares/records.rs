//! Weights and links of flows side by side in memory.

use laxity_topology::LinkId;

/// Words in front of the links: the weight in two halves, and how many links there are.
const FRONT: usize = 3;

/// Records of equal length: one memory access finds weight and links of a flow.
#[derive(Debug, Clone)]
pub(super) struct Records {
    words: Vec<u32>,
    /// Words of a record.
    stride: usize,
}

impl Default for Records {
    fn default() -> Self {
        Self { words: Vec::new(), stride: FRONT + 1 }
    }
}

impl Records {
    /// Makes room for paths of this many links.
    pub(super) fn widen(&mut self, links: usize) {
        let stride = FRONT + links;
        if stride <= self.stride {
            return;
        }
        let mut words = vec![0; self.words.len() / self.stride * stride];
        for (new, old) in words.chunks_mut(stride).zip(self.words.chunks(self.stride)) {
            new[..old.len()].copy_from_slice(old);
        }
        (self.words, self.stride) = (words, stride);
    }

    /// Writes the record of a flow; a link that is named twice counts once.
    pub(super) fn set(&mut self, at: usize, weight: u64, path: &[LinkId]) {
        self.widen(path.len());
        if self.words.len() < (at + 1) * self.stride {
            self.words.resize((at + 1) * self.stride, 0);
        }
        let record = &mut self.words[at * self.stride..][..self.stride];
        (record[0], record[1]) = (weight as u32, (weight >> 32) as u32);
        let mut count = 0;
        for link in path {
            if !record[FRONT..FRONT + count].contains(&link.0) {
                record[FRONT + count] = link.0;
                count += 1;
            }
        }
        record[2] = count as u32;
    }

    /// Appends a copy of a record of `other`, which has the same width.
    pub(super) fn push_from(&mut self, other: &Self, at: usize) {
        debug_assert_eq!(self.stride, other.stride);
        // Word by word: a call to copy a few words would keep the next record from being fetched.
        self.words.extend(other.words[at * other.stride..][..other.stride].iter().copied());
    }

    /// Appends the records of `other` from `first` on; says how many there were before.
    pub(super) fn append_tail(&mut self, other: &Self, first: usize) -> usize {
        debug_assert_eq!(self.stride, other.stride);
        let before = self.words.len() / self.stride;
        self.words.extend_from_slice(&other.words[first * other.stride..]);
        before
    }

    /// Appends the first records of `other`.
    pub(super) fn append_first(&mut self, other: &Self, count: usize) {
        debug_assert_eq!(self.stride, other.stride);
        self.words.extend_from_slice(&other.words[..count * other.stride]);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub(super) fn truncate(&mut self, count: usize) {
        self.words.truncate(count * self.stride);
    }

    pub(super) fn weight(&self, at: usize) -> u64 {
        let record = &self.words[at * self.stride..][..2];
        u64::from(record[0]) | u64::from(record[1]) << 32
    }

    pub(super) fn links(&self, at: usize) -> &[u32] {
        let record = &self.words[at * self.stride..][..self.stride];
        &record[FRONT..FRONT + record[2] as usize]
    }
}
