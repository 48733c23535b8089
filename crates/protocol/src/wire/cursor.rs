//! Reading bytes without ever reading past the end.

use super::{DecodeError, varint};

/// A position in a received packet.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What has not been read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether everything has been read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `n` bytes.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], DecodeError> {
        let (head, rest) = self.rest.split_at_checked(n).ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(head)
    }

    /// The next `N` bytes as an array.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(*head)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes, big endian.
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// Four bytes, big endian.
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// A varint.
    pub fn varint(&mut self) -> Result<u64, DecodeError> {
        varint::get(self)
    }

    /// A varint that must fit 16 bits.
    pub fn varint_u16(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        u16::try_from(self.varint()?).map_err(|_| DecodeError::Value(field))
    }
}
