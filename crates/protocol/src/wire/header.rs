//! The first bytes of every packet, and packet numbers.

use super::{Cursor, DecodeError};

/// The protocol version, in the high half of a packet's first byte.
pub const VERSION: u8 = 1;

/// Bytes of a data packet before its first frame.
pub const DATA_HEADER: usize = 9;

/// What a packet is, in the low half of its first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PacketKind {
    /// Client to server: I would like to connect.
    Hello = 0,
    /// Server to client: say it again, with this cookie.
    Retry = 1,
    /// Server to client: connected.
    Accept = 2,
    /// Server to client: no, and why. A hint only: nobody signed it.
    Refuse = 3,
    /// Frames of an established connection, protected.
    Data = 4,
}

impl PacketKind {
    /// The first byte of such a packet.
    pub fn first_byte(self) -> u8 {
        VERSION << 4 | self as u8
    }

    /// Reads the first byte.
    pub fn from_first_byte(byte: u8) -> Result<Self, DecodeError> {
        if byte >> 4 != VERSION {
            return Err(DecodeError::Version(byte >> 4));
        }
        Ok(match byte & 0x0f {
            0 => Self::Hello,
            1 => Self::Retry,
            2 => Self::Accept,
            3 => Self::Refuse,
            4 => Self::Data,
            _ => return Err(DecodeError::Kind(byte)),
        })
    }
}

/// Kind and destination connection id, which every packet starts with. The id stands at a fixed place
/// so that a kernel filter can steer packets to the right socket without knowing more.
pub fn peek_destination(bytes: &[u8]) -> Result<(PacketKind, u32), DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let kind = PacketKind::from_first_byte(cursor.u8()?)?;
    Ok((kind, cursor.u32()?))
}

/// The header of a data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataHeader {
    /// The id the destination chose for itself.
    pub destination: u32,
    /// The low 32 bits of the packet number.
    pub number: u32,
}

impl DataHeader {
    /// The header as it stands on the wire.
    pub fn encode(self) -> [u8; DATA_HEADER] {
        let mut out = [0; DATA_HEADER];
        out[0] = PacketKind::Data.first_byte();
        out[1..5].copy_from_slice(&self.destination.to_be_bytes());
        out[5..9].copy_from_slice(&self.number.to_be_bytes());
        out
    }

    /// Reads a header whose kind was checked already.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        cursor.u8()?;
        Ok(Self { destination: cursor.u32()?, number: cursor.u32()? })
    }
}

/// The full packet number whose low 32 bits are `low` and that lies closest to `expected`.
pub fn expand_packet_number(low: u32, expected: u64) -> u64 {
    const WINDOW: u64 = 1 << 32;
    let candidate = (expected & !(WINDOW - 1)) | u64::from(low);
    if candidate + WINDOW / 2 <= expected {
        candidate + WINDOW
    } else if candidate > expected + WINDOW / 2 && candidate >= WINDOW {
        candidate - WINDOW
    } else {
        candidate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_expand_to_the_nearest() {
        assert_eq!(expand_packet_number(5, 0), 5);
        assert_eq!(expand_packet_number(3, 0xffff_fff0), 0x1_0000_0003);
        assert_eq!(expand_packet_number(0xffff_fff0, 0x1_0000_0003), 0xffff_fff0);
        assert_eq!(expand_packet_number(7, 0x5_0000_0000), 0x5_0000_0007);
    }

    #[test]
    fn a_foreign_version_is_told_apart_from_garbage() {
        assert_eq!(PacketKind::from_first_byte(0x24), Err(DecodeError::Version(2)));
        assert_eq!(PacketKind::from_first_byte(0x1f), Err(DecodeError::Kind(0x1f)));
        assert_eq!(peek_destination(&[0x14, 0, 0]), Err(DecodeError::Truncated));
    }

    #[test]
    fn header_round_trip() {
        let header = DataHeader { destination: 0x0102_0304, number: 0x0506_0708 };
        let bytes = header.encode();
        assert_eq!(bytes, [0x14, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(DataHeader::decode(&bytes), Ok(header));
    }
}
