//! The bytes between two ranks: frames, so that parcels can take turns.
//!
//! Little endian. `kind` 1 byte, 3 of zero, `length` 4 (body bytes that follow the head), `parcel` 8.
//! [`Kind::Open`] goes on with the envelope (32) and the bytes of the whole parcel (8), [`Kind::Void`]
//! with the envelope.

use crate::carrier::Envelope;

/// Body bytes of one frame at most: what an urgent parcel may have to wait for.
pub(super) const FRAME_BYTES: usize = 256 << 10;
/// Parcels of one peer that may be under way at once.
pub(super) const MAX_OPEN: usize = 64;
/// Bytes of every head.
pub(super) const HEAD: usize = 16;

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Kind {
    /// A parcel begins.
    Open = 1,
    /// It goes on.
    More = 2,
    /// It will not come after all.
    Void = 3,
    /// Nothing more will come: the rank is finished.
    Goodbye = 4,
}

/// The head of a frame.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Head {
    pub(super) kind: Kind,
    pub(super) length: u32,
    pub(super) parcel: u64,
}

impl Head {
    pub(super) fn encode(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.kind as u8, 0, 0, 0]);
        out.extend_from_slice(&self.length.to_le_bytes());
        out.extend_from_slice(&self.parcel.to_le_bytes());
    }

    pub(super) fn decode(bytes: &[u8; HEAD]) -> Result<Self, String> {
        let kind = match bytes[0] {
            1 => Kind::Open,
            2 => Kind::More,
            3 => Kind::Void,
            4 => Kind::Goodbye,
            other => return Err(format!("a frame of unknown kind {other}")),
        };
        let length = u32::from_le_bytes(std::array::from_fn(|i| bytes[4 + i]));
        if length as usize > FRAME_BYTES {
            return Err(format!("a frame of {length} bytes, the most is {FRAME_BYTES}"));
        }
        let parcel = u64::from_le_bytes(std::array::from_fn(|i| bytes[8 + i]));
        Ok(Self { kind, length, parcel })
    }
}

impl Kind {
    /// Bytes between the head and the body.
    pub(super) fn extra(self) -> usize {
        match self {
            Self::Open => Envelope::BYTES + 8,
            Self::Void => Envelope::BYTES,
            Self::More | Self::Goodbye => 0,
        }
    }
}
