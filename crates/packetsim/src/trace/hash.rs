//! One number for all that happened: two runs are the same if it is.

/// A running hash over every packet that leaves a queue or is lost, and every flow that ends. It
/// finds differences between runs; it is no defence against anybody.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TraceHash(u64);

impl Default for TraceHash {
    fn default() -> Self {
        // The first digits of pi, so that leading zeros count.
        Self(0x2432_f6a8_885a_308d)
    }
}

impl TraceHash {
    #[inline]
    pub(crate) fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    pub(crate) fn get(self) -> u64 {
        crate::random::mix(self.0)
    }
}
