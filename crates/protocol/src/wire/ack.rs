//! Acknowledgements: which packets arrived, how long the answer waited, what ECN said.

use smallvec::SmallVec;

use super::{Cursor, DecodeError, varint};

/// More ranges than this are neither sent nor read; what falls off the end is resent in doubt.
pub(crate) const MAX_RANGES: usize = 64;

/// One acknowledgement frame.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ack {
    /// Received packet numbers as inclusive `(first, last)`, newest range first.
    pub ranges: SmallVec<[(u64, u64); 8]>,
    /// Microseconds between receiving the newest packet and sending this.
    pub delay_us: u64,
    /// Packets that arrived marked ECT(0), ever.
    pub ect0: u64,
    /// Packets that arrived marked CE, ever.
    pub ce: u64,
    /// How many peers are sending jobs to this receiver right now.
    pub active_senders: u64,
    /// What all of them get together, in bytes per millisecond; 0 if that was not measured.
    pub intake: u64,
}

impl Ack {
    /// Appends everything but the frame kind.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let Some(&(first, last)) = self.ranges.first() else {
            unreachable!("an acknowledgement of nothing is never built");
        };
        varint::put(out, last);
        varint::put(out, self.delay_us);
        varint::put(out, self.ect0);
        varint::put(out, self.ce);
        varint::put(out, self.active_senders);
        varint::put(out, self.intake);
        varint::put(out, self.ranges.len() as u64 - 1);
        varint::put(out, last - first);
        let mut below = first;
        for &(first, last) in &self.ranges[1..] {
            // Adjacent ranges would have been one, so the gap is at least one packet.
            varint::put(out, below - last - 2);
            varint::put(out, last - first);
            below = first;
        }
    }

    /// Reads what [`put`](Self::put) wrote.
    pub(crate) fn get(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut last = cursor.varint()?;
        let delay_us = cursor.varint()?;
        let ect0 = cursor.varint()?;
        let ce = cursor.varint()?;
        let active_senders = cursor.varint()?;
        let intake = cursor.varint()?;
        let more = cursor.varint()?;
        if more >= MAX_RANGES as u64 {
            return Err(DecodeError::Value("ack.ranges"));
        }
        let mut ranges = SmallVec::new();
        let mut first =
            last.checked_sub(cursor.varint()?).ok_or(DecodeError::Value("ack.range"))?;
        ranges.push((first, last));
        for _ in 0..more {
            let gap = cursor.varint()?;
            last = first.checked_sub(gap + 2).ok_or(DecodeError::Value("ack.gap"))?;
            first = last.checked_sub(cursor.varint()?).ok_or(DecodeError::Value("ack.range"))?;
            ranges.push((first, last));
        }
        Ok(Self { ranges, delay_us, ect0, ce, active_senders, intake })
    }
}
