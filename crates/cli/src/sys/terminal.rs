//! The terminal's size.

use std::os::fd::{AsFd, AsRawFd};

/// How many characters fit a line; `None` if it is no terminal.
pub(crate) fn width(stream: &impl AsFd) -> Option<u16> {
    // SAFETY: all zero is a valid winsize.
    let mut size: libc::winsize = unsafe { std::mem::zeroed() };
    let fd = stream.as_fd().as_raw_fd();
    // SAFETY: TIOCGWINSZ writes a winsize to the address given.
    let answer = unsafe { libc::ioctl(fd, libc::TIOCGWINSZ, &raw mut size) };
    Some(size.ws_col).filter(|width| answer == 0 && *width > 0)
}
