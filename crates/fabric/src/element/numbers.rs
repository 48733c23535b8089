//! Numbers in memory that is used again.

use std::{
    fmt,
    marker::PhantomData,
    ops::{Deref, DerefMut},
};

use bytemuck::Pod;
use bytes::Bytes;
use laxity_endpoint::{Buffer, Store};

/// So many numbers of one type. Their memory comes from the process' [`Store`] and goes back there.
pub(crate) struct Numbers<T> {
    buffer: Buffer,
    kind: PhantomData<T>,
}

impl<T: Pod> Numbers<T> {
    /// `count` times the same.
    pub(crate) fn filled(number: T, count: usize) -> Self {
        let buffer = Store::global().lend(count * size_of::<T>());
        let mut numbers = Self { buffer, kind: PhantomData };
        numbers.fill(number);
        numbers
    }

    /// The numbers, without copying them.
    pub(crate) fn into_bytes(self) -> Bytes {
        Bytes::from_owner(self.buffer)
    }
}

impl<T: Pod> Deref for Numbers<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(self.buffer.bytes())
    }
}

impl<T: Pod> DerefMut for Numbers<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(self.buffer.bytes_mut())
    }
}

impl<T> Clone for Numbers<T> {
    fn clone(&self) -> Self {
        Self { buffer: self.buffer.clone(), kind: PhantomData }
    }
}

impl<T> fmt::Debug for Numbers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Numbers({} bytes)", self.buffer.bytes().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_what_they_were_filled_with_whatever_was_there_before() {
        for (count, number) in [(100_000, 1.5f64), (100_000, -2.5), (3, 0.25), (0, 1.0)] {
            let numbers = Numbers::filled(number, count);
            assert_eq!(numbers.len(), count);
            assert!(numbers.iter().all(|x| *x == number));
            let bytes = numbers.clone().into_bytes();
            assert_eq!(bytes, bytemuck::cast_slice::<f64, u8>(&vec![number; count]));
        }
    }
}
