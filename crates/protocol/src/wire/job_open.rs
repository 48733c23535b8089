//! How a job introduces itself to the receiver.

use laxity_interface::{Finish, GroupId};
use smallvec::SmallVec;

use super::{Cursor, DecodeError, varint};

/// Groups a job may have: its introduction has to fit one packet.
pub(crate) const MAX_GROUPS: usize = 64;
/// Bytes of the application's own label.
pub(crate) const MAX_LABEL: usize = 256;

/// What the elements of a tensor are. The transport only needs their size; the receiver's application
/// needs the rest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum ElementType {
    /// 8-bit unsigned, also plain bytes.
    U8 = 0,
    /// 8-bit signed.
    I8 = 1,
    /// 16-bit signed.
    I16 = 2,
    /// 32-bit signed.
    I32 = 3,
    /// 64-bit signed.
    I64 = 4,
    /// IEEE 754 half precision.
    F16 = 5,
    /// bfloat16.
    Bf16 = 6,
    /// IEEE 754 single precision.
    F32 = 7,
    /// IEEE 754 double precision.
    F64 = 8,
}

impl ElementType {
    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::I16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }

    /// The name used in reports: `f32`, `bf16`, …
    pub fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// The type with this number on the wire.
    pub fn from_byte(byte: u8) -> Option<Self> {
        [
            Self::U8,
            Self::I8,
            Self::I16,
            Self::I32,
            Self::I64,
            Self::F16,
            Self::Bf16,
            Self::F32,
            Self::F64,
        ]
        .into_iter()
        .find(|e| *e as u8 == byte)
    }
}

/// The two shapes of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JobKind {
    /// One vector, cut into chunks that each fit a packet and are placed by index.
    Tensor {
        /// What it holds.
        element: ElementType,
        /// How many.
        elements: u64,
    },
    /// Separate opaque messages, each delivered whole or not at all.
    Messages {
        /// The counts are an estimate that a later frame corrects.
        open_window: bool,
        /// The largest message that may come.
        max_message: u64,
    },
}

/// How many messages of a group there are and how many must arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// N.
    pub total: u64,
    /// ceil(MinDelivery · N).
    pub required: u64,
}

/// One group of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupOpen {
    /// The application's name for it.
    pub id: GroupId,
    /// What is in it.
    pub counts: Counts,
    /// Its messages are handed over in order: nothing of it may be lost.
    pub ordered: bool,
}

/// The introduction of a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JobOpen {
    /// Its shape.
    pub kind: JobKind,
    /// All payload bytes (an estimate for an open window).
    pub bytes: u64,
    /// Payload bytes of a full packet: of a chunk, or of one piece of a long message.
    pub piece: u32,
    /// When it counts as finished.
    pub finish: Finish,
    /// Microseconds from opening after which it ends with what it has, if that is enough. 0: never.
    pub deadline_us: u64,
    /// Microseconds from opening after which it fails. 0: never.
    pub limit_us: u64,
    /// Its groups.
    pub groups: SmallVec<[GroupOpen; 2]>,
    /// Whatever the application wants the receiver to know.
    pub label: Vec<u8>,
}

impl JobOpen {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let (kind, finish) = (&self.kind, self.finish);
        let flags = match kind {
            JobKind::Tensor { .. } => 0,
            JobKind::Messages { open_window, .. } => 1 | u8::from(*open_window) << 1,
        } | u8::from(finish == Finish::Enough) << 2;
        out.push(flags);
        match *kind {
            JobKind::Tensor { element, elements } => {
                out.push(element as u8);
                varint::put(out, elements);
            }
            JobKind::Messages { max_message, .. } => varint::put(out, max_message),
        }
        varint::put(out, self.bytes);
        varint::put(out, u64::from(self.piece));
        varint::put(out, self.deadline_us);
        varint::put(out, self.limit_us);
        varint::put(out, self.groups.len() as u64);
        for group in &self.groups {
            varint::put(out, u64::from(group.id.0) << 1 | u64::from(group.ordered));
            varint::put(out, group.counts.total);
            varint::put(out, group.counts.required);
        }
        varint::put(out, self.label.len() as u64);
        out.extend_from_slice(&self.label);
    }

    pub(crate) fn get(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let flags = cursor.u8()?;
        if flags > 7 || flags & 0b11 == 0b10 {
            return Err(DecodeError::Value("open.flags"));
        }
        let kind = if flags & 1 == 0 {
            let element =
                ElementType::from_byte(cursor.u8()?).ok_or(DecodeError::Value("open.element"))?;
            JobKind::Tensor { element, elements: cursor.varint()? }
        } else {
            JobKind::Messages { open_window: flags & 2 != 0, max_message: cursor.varint()? }
        };
        let bytes = cursor.varint()?;
        let piece =
            u32::try_from(cursor.varint()?).map_err(|_| DecodeError::Value("open.piece"))?;
        let deadline_us = cursor.varint()?;
        let limit_us = cursor.varint()?;
        let groups = Self::get_groups(cursor)?;
        let length = cursor.varint()?;
        if length > MAX_LABEL as u64 {
            return Err(DecodeError::Value("open.label"));
        }
        let label = cursor.take(length as usize)?.to_vec();
        let finish = if flags & 4 != 0 { Finish::Enough } else { Finish::FirstPass };
        Ok(Self { kind, bytes, piece, finish, deadline_us, limit_us, groups, label })
    }

    fn get_groups(cursor: &mut Cursor<'_>) -> Result<SmallVec<[GroupOpen; 2]>, DecodeError> {
        let count = cursor.varint()?;
        if count == 0 || count > MAX_GROUPS as u64 {
            return Err(DecodeError::Value("open.groups"));
        }
        let mut groups: SmallVec<[GroupOpen; 2]> = SmallVec::new();
        for _ in 0..count {
            let first = cursor.varint()?;
            let id = u16::try_from(first >> 1).map_err(|_| DecodeError::Value("open.group"))?;
            let (id, ordered) = (GroupId(id), first & 1 != 0);
            let counts = Counts { total: cursor.varint()?, required: cursor.varint()? };
            let lax = counts.required < counts.total;
            let wrong = counts.required > counts.total || ordered && lax;
            if wrong || groups.iter().any(|g| g.id == id) {
                return Err(DecodeError::Value("open.group"));
            }
            groups.push(GroupOpen { id, counts, ordered });
        }
        Ok(groups)
    }
}
