//! What DCTCP's packets say.

/// Payload.
pub(super) const DATA: u8 = 0;
/// An acknowledgement of packets without marks.
pub(super) const ACK: u8 = 1;
/// An acknowledgement of packets with marks.
pub(super) const ACK_MARKED: u8 = 2;
/// The receiver has what it was promised: nothing more is to be sent.
pub(super) const STOP: u8 = 3;

/// An acknowledgement: everything before `next`, and one range (as the first block of RFC 2018)
/// around the segment that caused it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ack {
    pub(super) next: u32,
    pub(super) cause: u32,
    /// Segments that arrived right before the cause, and right behind it.
    pub(super) before: u16,
    pub(super) behind: u16,
}

impl Ack {
    /// As the two numbers of a packet: sequence and acknowledged.
    pub(super) fn encode(self) -> (u64, u64) {
        let range = u64::from(self.before) << 16 | u64::from(self.behind);
        (u64::from(self.cause) << 32 | range, u64::from(self.next))
    }

    pub(super) fn decode(sequence: u64, acknowledged: u64) -> Self {
        Self {
            next: acknowledged as u32,
            cause: (sequence >> 32) as u32,
            before: (sequence >> 16) as u16,
            behind: sequence as u16,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_from_the_wire() {
        let ack = Ack { next: 7, cause: u32::MAX - 1, before: 3, behind: u16::MAX };
        let (sequence, acknowledged) = ack.encode();
        assert_eq!(Ack::decode(sequence, acknowledged), ack);
    }
}
