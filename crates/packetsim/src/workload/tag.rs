//! What a driver writes on its flows.

/// Which workload, which of its jobs, which part of the job; 64 bits in all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Tag {
    /// Which workload of a combination.
    pub workload: u8,
    /// Which job of the workload, counted from 0.
    pub job: u32,
    /// Which part of the job: a step, a direction. 24 bits.
    pub part: u32,
}

impl Tag {
    /// A part of a job of the only workload.
    pub const fn new(job: u32, part: u32) -> Self {
        Self { workload: 0, job, part }
    }

    /// As it stands in a flow.
    pub const fn pack(self) -> u64 {
        debug_assert!(self.part < 1 << 24);
        (self.workload as u64) << 56 | (self.job as u64) << 24 | self.part as u64
    }

    /// From what stands in a flow.
    pub const fn unpack(packed: u64) -> Self {
        let (workload, job) = ((packed >> 56) as u8, (packed >> 24) as u32);
        Self { workload, job, part: packed as u32 & 0xff_ffff }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_loses_nothing() {
        for tag in [
            Tag::default(),
            Tag { workload: 255, job: u32::MAX, part: (1 << 24) - 1 },
            Tag { workload: 3, job: 7, part: 9 },
        ] {
            assert_eq!(Tag::unpack(tag.pack()), tag);
        }
    }
}
