//! How the engine's thread asks the system to be on time.
#![allow(unsafe_code, reason = "scheduling and sleeping are system calls")]

use std::{
    io, mem,
    os::fd::{AsRawFd, BorrowedFd, RawFd},
    ptr,
};

use laxity_interface::Span;

/// The real-time priority: above what programs take that just want to be ahead of others.
const PRIORITY: libc::c_int = 50;

/// Makes the calling thread a real-time thread on the last core it may use; whether that worked.
pub(super) fn become_realtime() -> bool {
    // SAFETY: all-zero bytes are a valid, empty set, and an allowed argument everywhere below; 0 is
    // the calling thread.
    unsafe {
        let mut cores: libc::cpu_set_t = mem::zeroed();
        if libc::sched_getaffinity(0, size_of_val(&cores), &mut cores) == 0
            && let Some(last) =
                (0..libc::CPU_SETSIZE as usize).rev().find(|core| libc::CPU_ISSET(*core, &cores))
        {
            let mut one: libc::cpu_set_t = mem::zeroed();
            libc::CPU_SET(last, &mut one);
            libc::sched_setaffinity(0, size_of_val(&one), &one);
        }
        let mut parameters: libc::sched_param = mem::zeroed();
        parameters.sched_priority = PRIORITY;
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &parameters) == 0
    }
}

/// Lets an ordinary thread's timers be as exact as a real-time thread's.
pub(super) fn sharpen_timers() {
    // SAFETY: takes a number only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// Sleeps until one of `files` can be read or `limit` has passed.
pub(super) fn sleep(files: &mut [libc::pollfd], limit: Option<Span>) {
    let limit = limit.map(|span| libc::timespec {
        tv_sec: (span.as_ns() / 1_000_000_000) as libc::time_t,
        tv_nsec: (span.as_ns() % 1_000_000_000) as libc::c_long,
    });
    let limit = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the files and the limit are valid for the call. An error is a signal or a lack of
    // memory; the caller looks at everything again either way.
    unsafe { libc::ppoll(files.as_mut_ptr(), files.len() as libc::nfds_t, limit, ptr::null()) };
}

/// What [`sleep`] waits for.
pub(super) const fn readable(fd: RawFd) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}

/// A counter that wakes a sleeper.
pub(super) fn bell() -> io::Result<RawFd> {
    // SAFETY: takes numbers only.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(fd) }
}

/// Wakes whoever sleeps on the bell. A bell that has been rung 2⁶⁴ − 2 times stays rung.
pub(super) fn ring_bell(bell: BorrowedFd<'_>) {
    let one = 1u64.to_ne_bytes();
    // SAFETY: eight bytes that are there.
    unsafe { libc::write(bell.as_raw_fd(), one.as_ptr().cast(), one.len()) };
}

/// Makes the bell silent again.
pub(super) fn silence(bell: BorrowedFd<'_>) {
    let mut count = [0; 8];
    // SAFETY: eight bytes that are there.
    unsafe { libc::read(bell.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
}
