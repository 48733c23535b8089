//! A flat vector cut into chunks.

use std::ops::Range;

/// How a vector of `length` numbers is cut: into chunks of equal size, the last of which may be
/// shorter. A chunk fits one packet; 350 floats fill one of 1400 bytes.
///
/// ```
/// let chunks = laxity_learn::policy::Chunks::new(1000, 350);
/// assert_eq!((chunks.count(), chunks.range(2)), (3, 700..1000));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chunks {
    length: usize,
    size: usize,
}

impl Chunks {
    /// Chunks of `size` numbers of a vector of `length`.
    ///
    /// # Panics
    /// If the size is 0.
    pub fn new(length: usize, size: usize) -> Self {
        assert!(size > 0, "chunks hold something");
        Self { length, size }
    }

    /// How many chunks there are.
    pub fn count(self) -> usize {
        self.length.div_ceil(self.size)
    }

    /// How many numbers there are.
    pub fn length(self) -> usize {
        self.length
    }

    /// Which numbers a chunk has.
    pub fn range(self, chunk: usize) -> Range<usize> {
        chunk * self.size..((chunk + 1) * self.size).min(self.length)
    }

    /// The ranges of all chunks in order.
    pub fn ranges(self) -> impl Iterator<Item = Range<usize>> {
        (0..self.count()).map(move |chunk| self.range(chunk))
    }
}
