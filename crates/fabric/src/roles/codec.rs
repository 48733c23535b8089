//! Fixed layouts, little endian, with every length checked before anything is taken.

use laxity_interface::{Fraction, Rate, Span};

use super::ids::{SumId, UpdateId, Version};
use crate::rank::Rank;

/// Why bytes are no word of a role.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WordError {
    /// They end too early.
    #[error("the word ends inside its {what}: {have} bytes are left, {need} are needed")]
    Short {
        /// What was being read.
        what: &'static str,
        /// How many bytes it has.
        need: usize,
        /// How many there are.
        have: usize,
    },
    /// They go on after the end.
    #[error("{0} bytes follow the end of the word; is the other side newer?")]
    Trailing(usize),
    /// A number that means nothing.
    #[error("the word's {what} is {value}, which means nothing here; is the other side newer?")]
    Unknown {
        /// Which field.
        what: &'static str,
        /// Its value.
        value: u64,
    },
    /// A list that is too long.
    #[error("the word lists {count} {what}, more than the {most} that are allowed")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many it lists.
        count: u64,
        /// How many are allowed.
        most: usize,
    },
    /// A number outside of its range.
    #[error("the word's {what} is {value}: it must be a finite number, 0 or above")]
    Number {
        /// Which field.
        what: &'static str,
        /// Its value.
        value: String,
    },
    /// The tensor beside the word is not the one it announces.
    #[error("the word announces {announced} elements beside it, but {came} came")]
    Tensor {
        /// How many elements the word names.
        announced: u64,
        /// How many came.
        came: u64,
    },
    /// Not framed as a word at all.
    #[error("the parcel is not framed as a word of roles: {what}")]
    Frame {
        /// What is wrong.
        what: &'static str,
    },
}

#[derive(Debug, Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    /// With room for a usual word.
    pub(crate) fn for_word() -> Self {
        Self(Vec::with_capacity(160))
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn f64(&mut self, value: f64) {
        self.u64(value.to_bits());
    }

    pub(crate) fn rank(&mut self, rank: Rank) {
        self.u32(rank.get());
    }

    pub(crate) fn update(&mut self, update: UpdateId) {
        self.rank(update.worker);
        self.u64(update.number);
    }

    pub(crate) fn sum(&mut self, sum: SumId) {
        self.u64(sum.0);
    }

    pub(crate) fn version(&mut self, version: Version) {
        self.u32(version.epoch);
        self.u64(version.commits);
    }

    pub(crate) fn span(&mut self, span: Span) {
        self.u64(span.as_ps());
    }

    pub(crate) fn rate(&mut self, rate: Rate) {
        self.u64(rate.as_bps());
    }

    /// A value that may be absent; absent ones take one byte.
    pub(crate) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.u8(value.is_some().into());
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub(crate) fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.u32(items.len() as u32);
        for item in items {
            write(self, item);
        }
    }
}

#[derive(Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Refuses what follows the end.
    pub(crate) fn end(self) -> Result<(), WordError> {
        if self.rest.is_empty() { Ok(()) } else { Err(WordError::Trailing(self.rest.len())) }
    }

    fn take<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], WordError> {
        let short = WordError::Short { what, need: N, have: self.rest.len() };
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(short)?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8, WordError> {
        self.take::<1>(what).map(|[byte]| byte)
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, WordError> {
        self.take(what).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, WordError> {
        self.take(what).map(u64::from_le_bytes)
    }

    /// A finite number, 0 or above: all numbers of words are norms and distances.
    pub(crate) fn f64(&mut self, what: &'static str) -> Result<f64, WordError> {
        let value = f64::from_bits(self.u64(what)?);
        if value.is_finite() && value >= 0.0 {
            Ok(value)
        } else {
            Err(WordError::Number { what, value: value.to_string() })
        }
    }

    pub(crate) fn rank(&mut self, what: &'static str) -> Result<Rank, WordError> {
        self.u32(what).map(Rank::new)
    }

    pub(crate) fn update(&mut self) -> Result<UpdateId, WordError> {
        Ok(UpdateId { worker: self.rank("worker")?, number: self.u64("update number")? })
    }

    pub(crate) fn sum(&mut self) -> Result<SumId, WordError> {
        self.u64("sum number").map(SumId)
    }

    pub(crate) fn version(&mut self) -> Result<Version, WordError> {
        Ok(Version { epoch: self.u32("epoch")?, commits: self.u64("version")? })
    }

    pub(crate) fn span(&mut self, what: &'static str) -> Result<Span, WordError> {
        self.u64(what).map(Span::from_ps)
    }

    pub(crate) fn rate(&mut self, what: &'static str) -> Result<Rate, WordError> {
        self.u64(what).map(Rate::bps)
    }

    pub(crate) fn flag(&mut self, what: &'static str) -> Result<bool, WordError> {
        match self.u8(what)? {
            0 => Ok(false),
            1 => Ok(true),
            value => Err(WordError::Unknown { what, value: value.into() }),
        }
    }

    pub(crate) fn fraction(&mut self, what: &'static str) -> Result<Fraction, WordError> {
        let value = self.f64(what)?;
        Fraction::new(value).map_err(|_| WordError::Number { what, value: value.to_string() })
    }

    pub(crate) fn option<T>(
        &mut self,
        what: &'static str,
        read: impl FnOnce(&mut Self) -> Result<T, WordError>,
    ) -> Result<Option<T>, WordError> {
        if self.flag(what)? { read(self).map(Some) } else { Ok(None) }
    }

    /// A list whose items take at least `each` bytes, so that a long count needs as long a word.
    pub(crate) fn list<T>(
        &mut self,
        what: &'static str,
        most: usize,
        each: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, WordError>,
    ) -> Result<Vec<T>, WordError> {
        let count = self.u32(what)? as usize;
        if count > most {
            return Err(WordError::TooMany { what, count: count as u64, most });
        }
        let need = count.saturating_mul(each);
        if need > self.rest.len() {
            return Err(WordError::Short { what, need, have: self.rest.len() });
        }
        (0..count).map(|_| read(self)).collect()
    }
}
