//! Weights and links of flows side by side in memory.

use laxity_topology::LinkId;

/// In the place of a link: there are no more.
const END: u32 = u32::MAX;
/// Words in front of the links: the weight in two halves.
const FRONT: usize = 2;
const WORDS: usize = 8;

/// Half a line of cache, on a border of one: a weight and up to six links, which is a path through a
/// fat-tree, take one access.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Piece([u32; WORDS]);

/// Records of equal length, in as many pieces as the longest path needs.
#[derive(Debug, Clone)]
pub(super) struct Records {
    pieces: Vec<Piece>,
    /// Pieces of a record.
    stride: usize,
}

impl Default for Records {
    fn default() -> Self {
        Self { pieces: Vec::new(), stride: 1 }
    }
}

impl Records {
    /// Writes the record of a flow; a link that is named twice counts once.
    pub(super) fn set(&mut self, at: usize, weight: u64, path: &[LinkId]) {
        self.widen(path.len());
        let needed = (at + 1) * self.stride;
        if self.pieces.len() < needed {
            self.pieces.resize(needed, Piece([END; WORDS]));
        }
        let record = &mut self.pieces[at * self.stride..][..self.stride];
        record.fill(Piece([END; WORDS]));
        (record[0].0[0], record[0].0[1]) = (weight as u32, (weight >> 32) as u32);
        let mut count = FRONT;
        for (place, link) in path.iter().enumerate() {
            if !path[..place].contains(link) {
                record[count / WORDS].0[count % WORDS] = link.0;
                count += 1;
            }
        }
    }

    /// Makes room for paths of this many links.
    fn widen(&mut self, links: usize) {
        let stride = (FRONT + links).div_ceil(WORDS);
        if stride <= self.stride {
            return;
        }
        let mut pieces = vec![Piece([END; WORDS]); self.pieces.len() / self.stride * stride];
        for (new, old) in pieces.chunks_mut(stride).zip(self.pieces.chunks(self.stride)) {
            new[..old.len()].copy_from_slice(old);
        }
        (self.pieces, self.stride) = (pieces, stride);
    }

    /// Puts records into another order: at each place the one that was at `order` of it.
    pub(super) fn reorder(&mut self, order: &[u32]) {
        let mut pieces = Vec::with_capacity(order.len() * self.stride);
        for old in order {
            pieces.extend_from_slice(&self.pieces[*old as usize * self.stride..][..self.stride]);
        }
        self.pieces = pieces;
    }

    #[inline]
    pub(super) fn weight(&self, at: usize) -> u64 {
        let first = &self.pieces[at * self.stride].0;
        u64::from(first[0]) | u64::from(first[1]) << 32
    }

    /// Calls `each` with every link of a flow. A loop, for it is the innermost of all: an iterator over the
    /// pieces is compiled to three times as many steps.
    #[inline]
    pub(super) fn each_link(&self, at: usize, mut each: impl FnMut(u32)) {
        let mut first = FRONT;
        for piece in &self.pieces[at * self.stride..][..self.stride] {
            for link in &piece.0[first..] {
                if *link == END {
                    return;
                }
                each(*link);
            }
            first = 0;
        }
    }
}
