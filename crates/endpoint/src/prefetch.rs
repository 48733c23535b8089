//! Asking for memory a packet before it is needed.
//!
//! A tensor is larger than any cache, and the packets of many peers take turns with it, so that the
//! processor's own prefetching, which learns from long runs, finds little in packets of 1,500 bytes.
//! What lies behind a piece of a tensor is nearly always wanted one packet later: while this packet is
//! sealed or the next one opened, it can be on its way. Measured in docs/measurements.md.
#![allow(unsafe_code)] // One instruction that the language does not offer.

/// Longer pieces are runs of their own, which the processor follows without being told.
const LONGEST: usize = 4096;
/// What comes from memory at a time on x86-64.
const LINE: usize = 64;

/// Says that `soon`, which lies behind a piece of `length` bytes, is wanted when the next piece of
/// about that length is.
pub(crate) fn behind(length: usize, soon: &[u8]) {
    if length <= LONGEST {
        for line in soon[..soon.len().min(length)].chunks(LINE) {
            ask_for(line.as_ptr());
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn ask_for(line: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint; it cannot fault, and changes nothing that a program can see.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
}

/// Elsewhere the processor is left to itself.
#[cfg(not(target_arch = "x86_64"))]
fn ask_for(_line: *const u8) {}
