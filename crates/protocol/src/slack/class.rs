//! Priority classes in the network (§5 of the NetApprox paper).

use laxity_interface::Dscp;

/// Bytes left to deliver up to which a job is in the first class, more or less.
const FIRST_BORDER: u128 = 16 << 10;

/// The queue of a switch port that a packet asks for: 0 is for everything exact and is served first, 7
/// last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Class(u8);

impl Class {
    /// The class of exact traffic.
    pub const EXACT: Self = Self(0);

    /// The class for a target loss rate. Zero slack goes with the exact traffic: it could starve for
    /// ever behind it otherwise.
    pub fn of(target_loss_rate: f64) -> Self {
        Self((target_loss_rate.clamp(0.0, 1.0) * 7.0).ceil() as u8)
    }

    /// The class for so many bytes that are left to deliver: up to 16 KiB first, then twice as much for
    /// each class. Before that the bytes are taken for 3/4 to 3/2 of what they are, by a number that
    /// each job draws once: jobs of one size would otherwise share a queue and all end with the last of
    /// them.
    pub fn of_remaining(bytes: u64, dice: u32) -> Self {
        let factor = 3 * ((1u128 << 32) + u128::from(dice));
        let bytes = (u128::from(bytes) * factor) >> 34;
        let steps = bytes.div_ceil(FIRST_BORDER).max(1).next_power_of_two().ilog2();
        Self(steps.min(7) as u8)
    }

    /// Round trips without an arrival after which a job in this class goes with the exact traffic, where
    /// classes follow what is left: others may never empty their queues. Twice as many for each class, as
    /// much more as there is left to deliver; less than eight would take waiting at one's own host for it.
    /// Packets are given up after as many as the last classes wait. If small jobs waited as long, repairs
    /// would leave for the very queue that is not served, and the wait begin anew. If large ones waited
    /// less, those that stand behind small ones by design would leave as well.
    pub(crate) fn patience(self) -> u64 {
        (2u64 << self.0).clamp(8, 64)
    }

    /// How many there are.
    pub const COUNT: usize = 8;

    /// The class with this number; beyond the last, the last.
    pub(crate) fn at(index: usize) -> Self {
        Self(index.min(Self::COUNT - 1) as u8)
    }

    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// 0 to 7.
    pub fn get(self) -> u8 {
        self.0
    }
}

/// Which code point each class uses on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DscpMap([Dscp; 8]);

impl DscpMap {
    /// A map of one's own.
    pub fn new(points: [Dscp; 8]) -> Self {
        Self(points)
    }

    /// The code point of a class.
    pub fn dscp(&self, class: Class) -> Dscp {
        self.0[usize::from(class.0)]
    }
}

impl Default for DscpMap {
    /// Class 0 is ordinary traffic; class i uses code point 4·i − 1, from the pool that RFC 2474 §6
    /// leaves for local use, so that no network gives it a meaning by accident.
    fn default() -> Self {
        let point = |value| Dscp::new(value).expect("below 64");
        Self([0, 3, 7, 11, 15, 19, 23, 27].map(point))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_needs_least_goes_first() {
        let class = |kib: u64| Class::of_remaining(kib << 10, u32::MAX / 3).get();
        assert_eq!(
            [0, 15, 17, 31, 33, 1020, 1028, u64::MAX >> 10].map(class),
            [0, 0, 1, 1, 2, 6, 7, 7]
        );
    }

    #[test]
    fn who_has_less_left_waits_less_for_an_empty_queue() {
        let patience: Vec<_> = (0..Class::COUNT).map(|at| Class::at(at).patience()).collect();
        assert_eq!(patience, [8, 8, 8, 16, 32, 64, 64, 64]);
    }

    #[test]
    fn equals_do_not_all_choose_the_same_class() {
        let classes = |bytes| [0, u32::MAX].map(|dice| Class::of_remaining(bytes, dice).get());
        assert_eq!(classes(64 << 10), [2, 3]);
        assert_eq!(classes(1), [0, 0]);
        assert_eq!(classes(1 << 40), [7, 7]);
    }

    #[test]
    fn seven_equal_parts_and_zero() {
        let class = |tlr| Class::of(tlr).get();
        assert_eq!(class(0.0), 0);
        assert_eq!(class(1e-9), 1);
        assert_eq!(class(1.0 / 7.0), 1);
        assert_eq!(class(0.5), 4, "the paper's example starts in queue 4");
        assert_eq!(class(1.0), 7);
        assert_eq!(class(7.0), 7);
    }
}
