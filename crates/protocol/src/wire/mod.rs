//! What the packets look like. No state: bytes in, values out, and back.
//!
//! `docs/protocol.md` describes the same in prose; the snapshot tests pin the bytes.

mod ack;
mod cursor;
mod frame;
mod header;
mod hello;
mod job_open;
mod runs;
pub mod varint;

pub use ack::Ack;
pub use cursor::Cursor;
pub use frame::{Frame, FrameKind, Piece, put_chunk, put_message};
pub use header::{
    DATA_HEADER, DataHeader, PacketKind, VERSION, expand_packet_number, peek_destination,
};
pub use hello::{Accept, COOKIE_LEN, Hello, Params, Refusal, Refuse, Retry};
pub use job_open::{Counts, ElementType, GroupOpen, JobKind, JobOpen};
pub use runs::Runs;

/// Why bytes are not a packet of this protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The packet ends in the middle of a field.
    #[error("packet ends in the middle of a field")]
    Truncated,
    /// A version this code does not speak.
    #[error("protocol version {0} is not spoken here")]
    Version(u8),
    /// A packet or frame kind that does not exist.
    #[error("unknown packet or frame kind {0:#04x}")]
    Kind(u8),
    /// A field holds a value that cannot be meant.
    #[error("field {0} holds an impossible value")]
    Value(&'static str),
}
