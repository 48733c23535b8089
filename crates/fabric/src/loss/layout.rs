//! How a contribution is cut into parcels of different minimum delivery.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use laxity_interface::Fraction;
use laxity_protocol::ElementType;

use super::Importance;
use crate::element::read_f64;

/// The part number of the parcel that says in which class each block is.
pub(crate) const MAP: u32 = u32::MAX;

/// The classes of one shard's elements; each class is one parcel.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Layout {
    /// In the order of part numbers. A class without elements is not sent, except if it is the only
    /// one.
    pub(crate) classes: Vec<Class>,
}

/// Elements that share a minimum delivery.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Class {
    pub(crate) min_delivery: Fraction,
    /// Where they are in the shard, ascending.
    pub(crate) ranges: Vec<Range<usize>>,
}

impl Class {
    /// How many elements.
    pub(crate) fn count(&self) -> usize {
        super::ranges::total(&self.ranges)
    }

    /// Their bytes; not copied if they lie together.
    pub(crate) fn body(&self, shard: &Bytes, size: usize) -> Bytes {
        if let [range] = &self.ranges[..] {
            return shard.slice(range.start * size..range.end * size);
        }
        let mut body = BytesMut::with_capacity(self.count() * size);
        for range in &self.ranges {
            body.extend_from_slice(&shard[range.start * size..range.end * size]);
        }
        body.freeze()
    }

    /// Ranges of the class's parcel as ranges of the shard.
    pub(crate) fn to_shard(&self, parcel: &[Range<usize>]) -> Vec<Range<usize>> {
        let (mut found, mut at) = (Vec::new(), 0);
        for range in &self.ranges {
            for part in parcel {
                let (start, end) = (part.start.max(at), part.end.min(at + range.len()));
                if start < end {
                    found.push(range.start + start - at..range.start + end - at);
                }
            }
            at += range.len();
        }
        found
    }
}

impl Layout {
    /// All elements of a shard of this length in one class.
    pub(crate) fn uniform(count: usize, min_delivery: Fraction) -> Self {
        Self { classes: vec![Class { min_delivery, ranges: vec![0..count] }] }
    }

    /// The classes of the elements `shard` of the tensor, if they do not depend on the numbers.
    pub(crate) fn fixed(importance: &Importance, shard: &Range<usize>) -> Option<Self> {
        match importance {
            Importance::Uniform(least) => Some(Self::uniform(shard.len(), *least)),
            Importance::ByRange(table) => Some(Self::by_range(table, shard)),
            Importance::ByMagnitude { .. } => None,
        }
    }

    fn by_range(table: &[(Range<usize>, Fraction)], shard: &Range<usize>) -> Self {
        let mut layout = Self { classes: Vec::new() };
        let mut at = shard.start;
        for (range, least) in table {
            let (start, end) = (range.start.max(at), range.end.min(shard.end));
            if start < end {
                layout.add(Fraction::ONE, at - shard.start..start - shard.start);
                layout.add(*least, start - shard.start..end - shard.start);
                at = end;
            }
        }
        layout.add(Fraction::ONE, at - shard.start..shard.len());
        if layout.classes.is_empty() { Self::uniform(0, Fraction::ONE) } else { layout }
    }

    /// The classes of these numbers by magnitude, and the map that tells the receiver.
    pub(crate) fn by_magnitude(
        numbers: &[u8],
        element: ElementType,
        classes: &[(f64, Fraction)],
        above: Fraction,
        block: usize,
    ) -> (Self, Bytes) {
        let size = element.size();
        // A block may be said to be longer than anything, to make all of a shard one.
        let blocks = numbers.chunks(block.saturating_mul(size)).map(|block| {
            let largest = block
                .chunks_exact(size)
                .map(|number| read_f64(number, element).abs())
                // NaN is in no class of small numbers.
                .fold(0.0, |a, b| if b.is_nan() { f64::INFINITY } else { f64::max(a, b) });
            classes.partition_point(|(threshold, _)| *threshold < largest) as u8
        });
        let mut runs: Vec<(u8, u32)> = Vec::new();
        for class in blocks {
            match runs.last_mut() {
                Some((last, count)) if *last == class => *count += 1,
                _ => runs.push((class, 1)),
            }
        }
        let map = runs.iter().flat_map(|(class, count)| {
            let [a, b, c, d] = count.to_le_bytes();
            [*class, a, b, c, d]
        });
        (Self::from_runs(&runs, numbers.len() / size, classes, above, block), map.collect())
    }

    /// The classes that a map names, for a shard of `count` elements. `None`: it is no such map.
    pub(crate) fn from_map(
        map: &[u8],
        count: usize,
        classes: &[(f64, Fraction)],
        above: Fraction,
        block: usize,
    ) -> Option<Self> {
        let (runs, rest) = map.as_chunks::<5>();
        let run = |[class, a, b, c, d]: &[u8; 5]| (*class, u32::from_le_bytes([*a, *b, *c, *d]));
        let runs: Vec<_> = runs.iter().map(run).collect();
        let blocks: u64 = runs.iter().map(|(_, count)| u64::from(*count)).sum();
        let known =
            runs.iter().all(|(class, count)| *count > 0 && *class as usize <= classes.len());
        let proper = rest.is_empty() && known && blocks == count.div_ceil(block) as u64;
        proper.then(|| Self::from_runs(&runs, count, classes, above, block))
    }

    fn from_runs(
        runs: &[(u8, u32)],
        count: usize,
        classes: &[(f64, Fraction)],
        above: Fraction,
        block: usize,
    ) -> Self {
        let least = classes.iter().map(|(_, least)| *least).chain([above]);
        let classes = least.map(|min_delivery| Class { min_delivery, ranges: Vec::new() });
        let mut layout = Self { classes: classes.collect() };
        let mut at = 0;
        for (class, blocks) in runs {
            let end = (*blocks as usize).saturating_mul(block).saturating_add(at).min(count);
            layout.classes[*class as usize].ranges.push(at..end);
            at = end;
        }
        layout
    }

    /// Puts elements into the class of their minimum delivery; makes one if there is none.
    fn add(&mut self, min_delivery: Fraction, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        match self.classes.iter_mut().find(|class| class.min_delivery == min_delivery) {
            Some(class) => match class.ranges.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => class.ranges.push(range),
            },
            None => self.classes.push(Class { min_delivery, ranges: vec![range] }),
        }
    }

    /// Whether this class travels: it has elements, or it is all there is.
    pub(crate) fn travels(&self, class: usize) -> bool {
        self.classes.len() == 1 || !self.classes[class].ranges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::into_bytes;

    fn fraction(value: f64) -> Fraction {
        Fraction::new(value).unwrap()
    }

    #[test]
    fn layers_of_one_minimum_share_a_parcel() {
        let table = [(10..20, fraction(0.9)), (20..30, fraction(0.5)), (40..50, fraction(0.9))];
        let layout = Layout::by_range(&table, &(15..45));
        let named: Vec<_> =
            layout.classes.iter().map(|c| (c.min_delivery.get(), c.ranges.clone())).collect();
        assert_eq!(
            named,
            [(0.9, vec![0..5, 25..30]), (0.5, vec![5..15]), (1.0, vec![15..25])],
            "in elements of the shard"
        );
        let shard = into_bytes((0..30u8).collect());
        assert_eq!(&layout.classes[0].body(&shard, 1)[..], [0, 1, 2, 3, 4, 25, 26, 27, 28, 29]);
        assert_eq!(layout.classes[0].to_shard(std::slice::from_ref(&(3..7))), [3..5, 25..27]);
        assert!(Layout::by_range(&table, &(15..15)).travels(0), "even nothing is announced");
    }

    #[test]
    fn large_numbers_are_told_from_small_ones_at_both_ends() {
        let classes = [(0.001, fraction(0.5)), (0.0025, fraction(0.8))];
        let numbers = [0.0005f32, 0.0, 0.002, 0.0001, 0.1, 0.0, -0.0009, 0.0008, f32::NAN];
        let bytes = into_bytes(numbers.to_vec());
        let (layout, map) =
            Layout::by_magnitude(&bytes, ElementType::F32, &classes, Fraction::ONE, 2);
        let ranges: Vec<_> = layout.classes.iter().map(|class| class.ranges.clone()).collect();
        assert_eq!(ranges, [vec![0..2, 6..8], vec![2..4], vec![4..6, 8..9]]);
        assert_eq!(Layout::from_map(&map, 9, &classes, Fraction::ONE, 2), Some(layout));
        assert_eq!(Layout::from_map(&map, 11, &classes, Fraction::ONE, 2), None);
        assert_eq!(Layout::from_map(&[9, 5, 0, 0, 0], 9, &classes, Fraction::ONE, 2), None);
    }
}
