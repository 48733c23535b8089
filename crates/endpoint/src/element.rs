//! Element types of tensors, and memory aligned for all of them.
#![allow(unsafe_code)] // Reinterpreting numbers as bytes and back.

use half::{bf16, f16};
use laxity_protocol::ElementType;

use crate::store::Store;

#[cfg(target_endian = "big")]
compile_error!("the wire is little endian, and tensors are sent from where they lie");

mod sealed {
    pub trait Sealed {}
}

/// A number that tensors can hold. Sealed: the wire knows exactly these.
pub trait Element: Copy + Send + Sync + sealed::Sealed + 'static {
    /// Its name on the wire.
    const TYPE: ElementType;
}

macro_rules! elements {
    ($($type:ty => $name:ident),*) => {$(
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const TYPE: ElementType = ElementType::$name;
        }
    )*};
}

elements!(u8 => U8, i8 => I8, i16 => I16, i32 => I32, i64 => I64, f16 => F16, bf16 => Bf16,
          f32 => F32, f64 => F64);

/// The bytes of numbers, in the machine's order (all machines we run on are little endian, and the
/// wire is).
pub(crate) fn as_bytes<T: Element>(numbers: &[T]) -> &[u8] {
    // SAFETY: every sealed `Element` is a plain number without padding; the slice's memory is
    // initialised and as long as computed.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

/// The bytes of numbers, to be written. Every bit pattern is a valid number.
pub(crate) fn as_bytes_mut<T: Element>(numbers: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `as_bytes`, and any bytes written are valid numbers again.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), size_of_val(numbers)) }
}

/// Memory for a tensor, aligned for every element type.
#[derive(Default)]
pub struct Buffer {
    words: Vec<u64>,
    length: usize,
    /// Where the memory goes afterwards.
    home: Option<Store>,
}

impl Buffer {
    /// `length` zero bytes. The operating system hands the pages out as they are touched.
    pub fn zeroed(length: usize) -> Self {
        Self { words: vec![0; length.div_ceil(8)], length, home: None }
    }

    /// The first `length` bytes of memory that goes back to a store afterwards.
    pub(crate) fn lent(words: Vec<u64>, length: usize, home: Store) -> Self {
        assert!(length <= words.len() * 8, "{length} bytes in {} words", words.len());
        Self { words, length, home: Some(home) }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `words` holds at least `length` initialised bytes.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.length) }
    }

    /// The bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and exclusively borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.length) }
    }

    /// The bytes as numbers. `None` if they do not make a whole number of them.
    pub fn elements<T: Element>(&self) -> Option<&[T]> {
        if !self.length.is_multiple_of(size_of::<T>()) {
            return None;
        }
        let count = self.length / size_of::<T>();
        // SAFETY: memory of `u64`s is aligned for every sealed element; length checked above; every
        // bit pattern is a valid number.
        Some(unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), count) })
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        let words = self.words[..self.length.div_ceil(8)].to_vec();
        Self { words, length: self.length, home: None }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            home.give_back(std::mem::take(&mut self.words));
        }
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({} bytes)", self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_as_bytes() {
        let numbers = [1.5f32, -2.0, f32::MIN_POSITIVE];
        let mut buffer = Buffer::zeroed(12);
        buffer.bytes_mut().copy_from_slice(as_bytes(&numbers));
        assert_eq!(buffer.elements::<f32>().unwrap(), numbers);
        assert!(buffer.elements::<f64>().is_none(), "12 bytes are not a whole number of f64");
        let mut halves = [bf16::from_f32(1.0); 3];
        as_bytes_mut(&mut halves).copy_from_slice(&[0; 6]);
        assert_eq!(halves[2].to_f32(), 0.0);
        assert!(Buffer::zeroed(0).elements::<i64>().unwrap().is_empty());
    }
}
