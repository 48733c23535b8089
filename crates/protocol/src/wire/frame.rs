//! Frames: what a data packet carries.

use laxity_interface::GroupId;
use smallvec::SmallVec;

use super::{Ack, Counts, Cursor, DecodeError, JobOpen, Runs, job_open::MAX_GROUPS, varint};
use crate::{ids::JobId, report::Ended};

/// The first byte of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum FrameKind {
    /// Nothing; fills a packet up.
    Padding = 0,
    /// Answer me.
    Ping = 1,
    /// Which packets arrived.
    Ack = 2,
    /// A job introduces itself.
    JobOpen = 3,
    /// An open window's final counts.
    Window = 4,
    /// The sender has nothing more to send for now: what is missing?
    Probe = 5,
    /// What is missing, and whether the receiver is content (then it means Stop).
    Status = 6,
    /// The receiver has no room for this job yet.
    Hold = 7,
    /// It has now.
    Go = 8,
    /// A job ends without its result.
    Reset = 9,
    /// The connection ends.
    Close = 10,
    /// A piece of a tensor; runs to the end of the packet.
    Chunk = 16,
    /// A whole message; length given.
    Message = 17,
    /// A piece of a long message; length given.
    Part = 18,
}

/// Payload bytes of a job and where they belong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece<'a> {
    /// Which job.
    pub job: JobId,
    /// The group it counts for.
    pub group: GroupId,
    /// Tensor: index of the first element. Messages: the message's number inside its group.
    pub index: u64,
    /// Bytes of the whole message this belongs to; for a chunk its own length.
    pub length: u64,
    /// Where in the message these bytes start.
    pub offset: u64,
    /// The bytes.
    pub body: &'a [u8],
}

/// One frame, read.
#[derive(Clone, PartialEq, Debug)]
pub enum Frame<'a> {
    /// Filler.
    Padding,
    /// Please answer.
    Ping,
    /// Acknowledgement.
    Ack(Ack),
    /// A new job.
    JobOpen(JobId, JobOpen),
    /// Final counts of an open window, per group in the order of its introduction, and its bytes.
    Window {
        /// Which job.
        job: JobId,
        /// All payload bytes.
        bytes: u64,
        /// Final counts.
        counts: SmallVec<[Counts; 2]>,
    },
    /// The sender asks what is missing.
    Probe {
        /// Which job.
        job: JobId,
        /// Counts up; the answer repeats it.
        round: u64,
    },
    /// What is missing from one group (or from the whole tensor).
    Status {
        /// Which job.
        job: JobId,
        /// The probe this answers.
        round: u64,
        /// Nothing more is wanted, and why: this is the papers' Stop.
        ended: Option<Ended>,
        /// Which group's numbering `runs` uses: its place in the introduction. Tensors use 0.
        space: u16,
        /// How many messages of each group arrived.
        received: SmallVec<[u64; 2]>,
        /// What is missing.
        runs: Runs,
    },
    /// Wait before sending more of this job.
    Hold(JobId),
    /// Go on.
    Go(JobId),
    /// The job is over without a result.
    Reset {
        /// Which job.
        job: JobId,
        /// The frame comes from the side that receives the job.
        by_receiver: bool,
        /// Why, see [`ResetCode`](crate::ResetCode).
        code: u64,
    },
    /// The connection is over.
    Close {
        /// Why.
        code: u64,
    },
    /// Payload.
    Piece(Piece<'a>, FrameKind),
}

/// Writes the head of a chunk frame; the chunk's bytes follow and run to the packet's end.
pub fn put_chunk(out: &mut Vec<u8>, job: JobId, group: GroupId, first: u64, index_width: usize) {
    out.push(FrameKind::Chunk as u8);
    varint::put(out, job.0);
    varint::put(out, u64::from(group.0));
    varint::put_wide(out, first, index_width);
}

/// Writes the head of a message frame, or of a part frame where the message needs several packets.
pub fn put_message(out: &mut Vec<u8>, piece: &Piece<'_>, body: usize) {
    let whole = body as u64 == piece.length;
    out.push(if whole { FrameKind::Message } else { FrameKind::Part } as u8);
    varint::put(out, piece.job.0);
    varint::put(out, u64::from(piece.group.0));
    varint::put(out, piece.index);
    if !whole {
        varint::put(out, piece.length);
        varint::put(out, piece.offset);
    }
    // Always two bytes, so that equal pieces give equal packets.
    varint::put_wide(out, body as u64, if body < 0x4000 { 2 } else { 4 });
}

impl<'a> Frame<'a> {
    /// Reads the next frame.
    pub fn get(cursor: &mut Cursor<'a>) -> Result<Self, DecodeError> {
        let kind = cursor.u8()?;
        Ok(match kind {
            0 => Self::Padding,
            1 => Self::Ping,
            2 => Self::Ack(Ack::get(cursor)?),
            3 => Self::JobOpen(JobId(cursor.varint()?), JobOpen::get(cursor)?),
            4 => Self::get_window(cursor)?,
            5 => Self::Probe { job: JobId(cursor.varint()?), round: cursor.varint()? },
            6 => Self::get_status(cursor)?,
            7 => Self::Hold(JobId(cursor.varint()?)),
            8 => Self::Go(JobId(cursor.varint()?)),
            9 => {
                let job = JobId(cursor.varint()?);
                let by_receiver = cursor.u8()? != 0;
                Self::Reset { job, by_receiver, code: cursor.varint()? }
            }
            10 => Self::Close { code: cursor.varint()? },
            16 => Self::get_chunk(cursor)?,
            17 => Self::get_message(cursor, FrameKind::Message)?,
            18 => Self::get_message(cursor, FrameKind::Part)?,
            other => return Err(DecodeError::Kind(other)),
        })
    }

    /// Appends the frame. Payload frames are written by [`put_chunk`] and [`put_message`] instead,
    /// because their bytes may stay where they are.
    ///
    /// # Panics
    /// On a payload frame.
    pub fn put(&self, out: &mut Vec<u8>, room: usize) -> u64 {
        let mut reach = 0;
        match self {
            Self::Padding => out.push(FrameKind::Padding as u8),
            Self::Ping => out.push(FrameKind::Ping as u8),
            Self::Ack(ack) => {
                out.push(FrameKind::Ack as u8);
                ack.put(out);
            }
            Self::JobOpen(job, open) => {
                put_job(out, FrameKind::JobOpen, *job);
                open.put(out);
            }
            Self::Window { job, bytes, counts } => {
                put_job(out, FrameKind::Window, *job);
                varint::put(out, *bytes);
                varint::put(out, counts.len() as u64);
                for count in counts {
                    varint::put(out, count.total);
                    varint::put(out, count.required);
                }
            }
            Self::Probe { job, round } => {
                put_job(out, FrameKind::Probe, *job);
                varint::put(out, *round);
            }
            Self::Status { job, round, ended, space, received, runs } => {
                let base = out.len();
                put_job(out, FrameKind::Status, *job);
                varint::put(out, *round);
                out.push(ended.map_or(0, Ended::to_wire));
                varint::put(out, u64::from(*space));
                varint::put(out, received.len() as u64);
                for count in received {
                    varint::put(out, *count);
                }
                reach = runs.put(out, room.saturating_sub(out.len() - base));
            }
            Self::Hold(job) => put_job(out, FrameKind::Hold, *job),
            Self::Go(job) => put_job(out, FrameKind::Go, *job),
            Self::Reset { job, by_receiver, code } => {
                put_job(out, FrameKind::Reset, *job);
                out.push(u8::from(*by_receiver));
                varint::put(out, *code);
            }
            Self::Close { code } => {
                out.push(FrameKind::Close as u8);
                varint::put(out, *code);
            }
            Self::Piece(..) => unreachable!("payload frames are written in place"),
        }
        reach
    }

    fn get_window(cursor: &mut Cursor<'a>) -> Result<Self, DecodeError> {
        let job = JobId(cursor.varint()?);
        let bytes = cursor.varint()?;
        let count = cursor.varint()?;
        if count > MAX_GROUPS as u64 {
            return Err(DecodeError::Value("window.groups"));
        }
        let mut counts = SmallVec::new();
        for _ in 0..count {
            let count = Counts { total: cursor.varint()?, required: cursor.varint()? };
            if count.required > count.total {
                return Err(DecodeError::Value("window.required"));
            }
            counts.push(count);
        }
        Ok(Self::Window { job, bytes, counts })
    }

    fn get_status(cursor: &mut Cursor<'a>) -> Result<Self, DecodeError> {
        let job = JobId(cursor.varint()?);
        let round = cursor.varint()?;
        let ended = match cursor.u8()? {
            0 => None,
            code => Some(Ended::from_wire(code).ok_or(DecodeError::Value("status.ended"))?),
        };
        let space = cursor.varint_u16("status.space")?;
        let count = cursor.varint()?;
        if count > MAX_GROUPS as u64 {
            return Err(DecodeError::Value("status.received"));
        }
        let received =
            (0..count).map(|_| cursor.varint()).collect::<Result<SmallVec<[u64; 2]>, _>>()?;
        Ok(Self::Status { job, round, ended, space, received, runs: Runs::get(cursor)? })
    }

    fn get_chunk(cursor: &mut Cursor<'a>) -> Result<Self, DecodeError> {
        let job = JobId(cursor.varint()?);
        let group = GroupId(cursor.varint_u16("chunk.group")?);
        let index = cursor.varint()?;
        let body = cursor.take(cursor.rest().len())?;
        let piece = Piece { job, group, index, length: body.len() as u64, offset: 0, body };
        Ok(Self::Piece(piece, FrameKind::Chunk))
    }

    fn get_message(cursor: &mut Cursor<'a>, kind: FrameKind) -> Result<Self, DecodeError> {
        let job = JobId(cursor.varint()?);
        let group = GroupId(cursor.varint_u16("message.group")?);
        let index = cursor.varint()?;
        let of_part = match kind {
            FrameKind::Part => Some((cursor.varint()?, cursor.varint()?)),
            _ => None,
        };
        let size = usize::try_from(cursor.varint()?).map_err(|_| DecodeError::Truncated)?;
        let body = cursor.take(size)?;
        let (length, offset) = of_part.unwrap_or((size as u64, 0));
        if offset.checked_add(size as u64).is_none_or(|end| end > length) {
            return Err(DecodeError::Value("part.offset"));
        }
        Ok(Self::Piece(Piece { job, group, index, length, offset, body }, kind))
    }
}

fn put_job(out: &mut Vec<u8>, kind: FrameKind, job: JobId) {
    out.push(kind as u8);
    varint::put(out, job.0);
}
