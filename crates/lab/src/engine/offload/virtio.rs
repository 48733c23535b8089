//! What a packet socket tells about a frame beside its bytes: `struct virtio_net_hdr`.
//!
//! The numbers are those of linux/virtio_net.h, in the machine's byte order.

/// How many bytes it takes.
pub(in crate::engine) const LENGTH: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;

const GSO_NONE: u8 = 0;
const GSO_TCP4: u8 = 1;
const GSO_TCP6: u8 = 4;
const GSO_UDP: u8 = 5;
const GSO_ECN: u8 = 0x80;

/// A checksum that nobody has finished: the place `offset` behind `start` holds the sum of the
/// pseudo-header, and that of everything from `start` on is to be added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::engine) struct OpenChecksum {
    /// From the beginning of the frame.
    pub(super) start: u16,
    pub(super) offset: u16,
}

impl OpenChecksum {
    /// As a number that can travel with a frame; 0 is none.
    pub(in crate::engine) fn to_note(this: Option<Self>) -> u32 {
        this.map_or(0, |Self { start, offset }| u32::from(start) << 16 | u32::from(offset))
    }

    /// What [`to_note`](Self::to_note) made a number of.
    pub(in crate::engine) fn from_note(note: u32) -> Option<Self> {
        (note != 0).then_some(Self { start: (note >> 16) as u16, offset: note as u16 })
    }
}

/// The protocol of the packets in a frame that holds several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::engine) enum Protocol {
    Tcp4,
    Tcp6,
    /// Over either IP.
    Udp,
}

/// That a frame holds several packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::engine) struct Several {
    pub(super) protocol: Protocol,
    /// The payload of each but the last, which may be shorter.
    pub(super) size: u16,
    /// Whether the first says that the sender has slowed down (TCP's CWR flag).
    pub(super) slowed: bool,
}

/// What is told about a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::engine) struct Meta {
    pub(in crate::engine) checksum: Option<OpenChecksum>,
    pub(in crate::engine) several: Option<Several>,
    /// How long all headers together are; only a hint how the kernel lays it out in memory.
    pub(super) headers: u16,
}

/// The header tells of something that does not exist here, such as a tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::engine) struct Unknown;

impl Meta {
    /// For a frame that is one packet.
    pub(in crate::engine) const fn single(checksum: Option<OpenChecksum>) -> Self {
        Self { checksum, several: None, headers: 0 }
    }

    /// Reads it.
    pub(in crate::engine) fn decode(bytes: [u8; LENGTH]) -> Result<Self, Unknown> {
        let [flags, kind, rest @ ..] = bytes;
        let number = |at: usize| u16::from_ne_bytes([rest[at], rest[at + 1]]);
        let (headers, size, start, offset) = (number(0), number(2), number(4), number(6));
        let checksum = (flags & NEEDS_CHECKSUM != 0).then_some(OpenChecksum { start, offset });
        let protocol = match kind & !GSO_ECN {
            GSO_NONE => return Ok(Self { checksum, several: None, headers }),
            GSO_TCP4 => Protocol::Tcp4,
            GSO_TCP6 => Protocol::Tcp6,
            GSO_UDP => Protocol::Udp,
            _ => return Err(Unknown),
        };
        let several = Several { protocol, size, slowed: kind & GSO_ECN != 0 };
        Ok(Self { checksum, several: Some(several), headers })
    }

    /// Writes it.
    pub(in crate::engine) fn encode(self) -> [u8; LENGTH] {
        let kind = self.several.map_or(GSO_NONE, |several| {
            let ecn = if several.slowed { GSO_ECN } else { 0 };
            ecn | match several.protocol {
                Protocol::Tcp4 => GSO_TCP4,
                Protocol::Tcp6 => GSO_TCP6,
                Protocol::Udp => GSO_UDP,
            }
        });
        let flags = if self.checksum.is_some() { NEEDS_CHECKSUM } else { 0 };
        let mut bytes = [flags, kind, 0, 0, 0, 0, 0, 0, 0, 0];
        let size = self.several.map_or(0, |several| several.size);
        let (start, offset) = self.checksum.map_or((0, 0), |sum| (sum.start, sum.offset));
        for (at, number) in [(2, self.headers), (4, size), (6, start), (8, offset)] {
            bytes[at..at + 2].copy_from_slice(&number.to_ne_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let checksum = Some(OpenChecksum { start: 34, offset: 16 });
        let several = Several { protocol: Protocol::Tcp4, size: 1448, slowed: true };
        let all = [
            Meta::default(),
            Meta::single(checksum),
            Meta { checksum, several: Some(several), headers: 66 },
            Meta {
                checksum,
                several: Some(Several { protocol: Protocol::Udp, slowed: false, ..several }),
                headers: 42,
            },
        ];
        for meta in all {
            assert_eq!(Meta::decode(meta.encode()), Ok(meta));
            assert_eq!(
                OpenChecksum::from_note(OpenChecksum::to_note(meta.checksum)),
                meta.checksum
            );
        }
        assert_eq!(all[2].encode()[..2], [1, 0x81]);
        assert_eq!(Meta::decode([1, 0x20, 0, 0, 0, 0, 0, 0, 0, 0]), Err(Unknown), "a tunnel");
    }
}
