//! Reading and writing socket options, the part that socket2 does not name.

use std::{
    ffi::{c_int, c_void},
    io,
    os::fd::{AsRawFd, BorrowedFd},
};

/// Sets an integer option.
pub(super) fn set(fd: BorrowedFd<'_>, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    set_value(fd, level, name, &value)
}

/// Sets an option whose value is a plain C structure.
pub(super) fn set_value<T: Copy>(
    fd: BorrowedFd<'_>,
    level: c_int,
    name: c_int,
    value: &T,
) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `value`, which outlives the call; the kernel only
    // reads.
    let result = unsafe {
        libc::setsockopt(fd.as_raw_fd(), level, name, (&raw const *value).cast::<c_void>(), length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an integer option.
pub(super) fn get(fd: BorrowedFd<'_>, level: c_int, name: c_int) -> io::Result<c_int> {
    let mut values = [0];
    get_words(fd, level, name, &mut values)?;
    Ok(values[0])
}

/// Reads an option that is an array of words; returns how many the kernel filled.
pub(super) fn get_words(
    fd: BorrowedFd<'_>,
    level: c_int,
    name: c_int,
    words: &mut [c_int],
) -> io::Result<usize> {
    let mut length = size_of_val(words) as libc::socklen_t;
    // SAFETY: the pointer and the length describe `words`, exclusively borrowed; the kernel writes
    // at most `length` bytes, and any bytes are valid integers.
    let result = unsafe {
        libc::getsockopt(fd.as_raw_fd(), level, name, words.as_mut_ptr().cast(), &raw mut length)
    };
    if result == 0 {
        Ok(length as usize / size_of::<c_int>())
    } else {
        Err(io::Error::last_os_error())
    }
}
