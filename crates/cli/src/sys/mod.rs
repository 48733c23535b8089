//! What std has no safe call for: mapped files, signals to and from processes, random bytes, the terminal's size.
#![allow(unsafe_code)] // The only place of the crate that talks to the kernel directly.

pub(crate) mod map;
pub(crate) mod process;
pub(crate) mod random;
pub(crate) mod signal;
pub(crate) mod terminal;
