//! Frames of one peer made parcels again. Bodies are read straight to where they stay.

use std::{
    collections::BTreeMap,
    io::{self, IoSliceMut, Read},
};

use bytes::Bytes;
use laxity_endpoint::{Buffer, Store};

use super::frame::{FRAME_BYTES, HEAD, Head, Kind, MAX_OPEN};
use crate::carrier::Envelope;

/// Room for heads, and for small parcels many of which come in one read.
const STAGE_BYTES: usize = 16 << 10;

/// What came.
#[derive(PartialEq, Debug)]
pub(super) enum Came {
    /// A whole parcel.
    Parcel(Envelope, Bytes),
    /// The sender gave a parcel up.
    Void(Envelope),
    /// The peer is finished.
    Goodbye,
}

/// How a read ended.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Rest {
    /// There is nothing more for now.
    Dry,
    /// There may be more: the turn is over.
    More,
    /// The peer has closed.
    End,
}

/// One peer's bytes on their way to parcels.
#[derive(Debug)]
pub(super) struct Reader {
    stage: Box<[u8]>,
    from: usize,
    to: usize,
    open: BTreeMap<u64, Partial>,
    /// The parcel whose frame is being read, and the body bytes that are left of it.
    current: Option<(u64, usize)>,
    max_parcel: u64,
}

#[derive(Debug)]
struct Partial {
    envelope: Envelope,
    body: Buffer,
    filled: usize,
}

impl Reader {
    pub(super) fn new(max_parcel: u64) -> Self {
        let stage = vec![0; STAGE_BYTES].into_boxed_slice();
        Self { stage, from: 0, to: 0, open: BTreeMap::new(), current: None, max_parcel }
    }

    /// Whether a parcel has begun and is not whole.
    pub(super) fn is_busy(&self) -> bool {
        !self.open.is_empty()
    }

    /// Bytes set aside for parcels that are not whole.
    pub(super) fn reserved(&self) -> u64 {
        self.open.values().map(|partial| partial.body.bytes().len() as u64).sum()
    }

    /// Starts with what was read before there was this reader.
    pub(super) fn begin_with(&mut self, bytes: &[u8], came: &mut Vec<Came>) -> io::Result<()> {
        for part in bytes.chunks(STAGE_BYTES / 2) {
            self.stage.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
            self.stage[self.to..self.to + part.len()].copy_from_slice(part);
            self.to += part.len();
            self.parse(came).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Reads for one turn: at most about `most` bytes.
    pub(super) fn read(
        &mut self,
        source: &mut impl Read,
        most: usize,
        came: &mut Vec<Came>,
    ) -> io::Result<Rest> {
        let mut left = most;
        while left > 0 {
            let count = match self.fill(source) {
                Ok(0) => return Ok(Rest::End),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Rest::Dry),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.parse(came).map_err(io::Error::other)?;
            left = left.saturating_sub(count);
        }
        Ok(Rest::More)
    }

    /// One call of the system: the current body first, then whatever follows.
    fn fill(&mut self, source: &mut impl Read) -> io::Result<usize> {
        self.stage.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        let stage = &mut self.stage[self.to..];
        let Some((parcel, left)) = &mut self.current else {
            let count = source.read(stage)?;
            self.to += count;
            return Ok(count);
        };
        // A frame's body is read only when the stage is used up, so what comes first belongs to it.
        let Some(partial) = self.open.get_mut(parcel) else {
            unreachable!("the current parcel is open");
        };
        let body = &mut partial.body.bytes_mut()[partial.filled..partial.filled + *left];
        let count = source.read_vectored(&mut [IoSliceMut::new(body), IoSliceMut::new(stage)])?;
        let placed = count.min(*left);
        partial.filled += placed;
        *left -= placed;
        self.to += count - placed;
        Ok(count)
    }

    fn parse(&mut self, came: &mut Vec<Came>) -> Result<(), String> {
        loop {
            if let Some((parcel, left)) = self.current {
                let staged = (self.to - self.from).min(left);
                let Some(partial) = self.open.get_mut(&parcel) else {
                    unreachable!("the current parcel is open");
                };
                let end = partial.filled + staged;
                partial.body.bytes_mut()[partial.filled..end]
                    .copy_from_slice(&self.stage[self.from..self.from + staged]);
                partial.filled = end;
                self.from += staged;
                if staged < left {
                    self.current = Some((parcel, left - staged));
                    return Ok(());
                }
                self.current = None;
                if partial.filled == partial.body.bytes().len() {
                    let whole = self.open.remove(&parcel);
                    let parcel = |whole: Partial| {
                        Came::Parcel(whole.envelope, Bytes::from_owner(whole.body))
                    };
                    came.extend(whole.map(parcel));
                }
            }
            let staged = &self.stage[self.from..self.to];
            let Some(head) = staged.first_chunk::<HEAD>() else { return Ok(()) };
            let head = Head::decode(head)?;
            let extra = head.kind.extra();
            if staged.len() < HEAD + extra {
                return Ok(());
            }
            let extra = staged[HEAD..HEAD + extra].to_vec();
            self.from += HEAD + extra.len();
            self.begin(head, &extra, came)?;
        }
    }

    fn begin(&mut self, head: Head, extra: &[u8], came: &mut Vec<Came>) -> Result<(), String> {
        let envelope =
            || Envelope::decode(&extra[..Envelope::BYTES]).map_err(|error| error.to_string());
        if head.length > 0 && matches!(head.kind, Kind::Void | Kind::Goodbye) {
            return Err(format!("{} bytes where none belong", head.length));
        }
        match head.kind {
            Kind::Open => {
                let total = u64::from_le_bytes(std::array::from_fn(|i| extra[Envelope::BYTES + i]));
                if total > self.max_parcel {
                    return Err(format!(
                        "a parcel of {total} bytes, the most is {}",
                        self.max_parcel
                    ));
                }
                if self.open.len() >= MAX_OPEN || self.open.contains_key(&head.parcel) {
                    return Err(format!("parcel {} out of turn", head.parcel));
                }
                if total < u64::from(head.length)
                    || (u64::from(head.length) < total && head.length as usize != FRAME_BYTES)
                {
                    return Err(format!("a frame of {} bytes for {total}", head.length));
                }
                // Whatever it held before: it is handed over when all of it has been written.
                let body = Store::global().lend(total as usize);
                let partial = Partial { envelope: envelope()?, body, filled: 0 };
                self.open.insert(head.parcel, partial);
                self.current = Some((head.parcel, head.length as usize));
            }
            Kind::More => {
                let Some(partial) = self.open.get(&head.parcel) else {
                    return Err(format!("more of parcel {}, which is not open", head.parcel));
                };
                if head.length == 0
                    || partial.filled + head.length as usize > partial.body.bytes().len()
                {
                    return Err(format!("a frame of {} bytes beyond its parcel", head.length));
                }
                self.current = Some((head.parcel, head.length as usize));
            }
            Kind::Void => {
                self.open.remove(&head.parcel);
                came.push(Came::Void(envelope()?));
            }
            Kind::Goodbye => came.push(Came::Goodbye),
        }
        Ok(())
    }
}
