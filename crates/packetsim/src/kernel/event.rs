//! Events: when, of which class, in which order they were asked for, and for whom.

/// What happens. At one time the lower class comes first: lines become free before packets arrive at
/// them, and a driver sees what has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Class {
    /// A fault begins or ends.
    Fault,
    /// A line has sent its packet and others wait.
    Free,
    /// The first packet on a link has arrived.
    Arrive,
    /// A packet that was held back has arrived.
    Late,
    /// A stack's time has come.
    Timer,
    /// The driver's time has come.
    Driver,
    /// Queues are looked at.
    Sample,
}

impl Class {
    const ALL: [Self; 7] = [
        Self::Fault,
        Self::Free,
        Self::Arrive,
        Self::Late,
        Self::Timer,
        Self::Driver,
        Self::Sample,
    ];
}

const TARGET_BITS: u32 = 24;
const SEQUENCE_BITS: u32 = 36;

/// How many links, timers or packets under way events can tell apart.
pub(crate) const MOST_TARGETS: usize = 1 << TARGET_BITS;

/// One event in 16 bytes: the time, then class, sequence and target in one word. The sequence is
/// unique, so two events are never equal and their order never depends on the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) time: u64,
    key: u64,
}

impl Event {
    #[inline]
    pub(crate) fn new(time: u64, class: Class, sequence: u64, target: u32) -> Self {
        debug_assert!((target as usize) < MOST_TARGETS && sequence >> SEQUENCE_BITS == 0);
        let class = (class as u64) << (SEQUENCE_BITS + TARGET_BITS);
        Self { time, key: class | sequence << TARGET_BITS | u64::from(target) }
    }

    #[inline]
    pub(crate) fn class(self) -> Class {
        Class::ALL[(self.key >> (SEQUENCE_BITS + TARGET_BITS)) as usize]
    }

    #[inline]
    pub(crate) fn target(self) -> u32 {
        (self.key & (MOST_TARGETS as u64 - 1)) as u32
    }

    /// One number that orders events: comparing it is one subtraction with borrow.
    #[inline]
    pub(crate) fn order(self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.key)
    }
}

/// The first sequence that no longer fits.
pub(crate) const SEQUENCE_END: u64 = 1 << SEQUENCE_BITS;
