//! Signals: noticed, then acted upon at a good moment.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use crate::failure::Interrupted;

static CAUGHT: AtomicI32 = AtomicI32::new(0);
/// When that was, on the monotonic clock; 0 until then.
static CAUGHT_MS: AtomicU64 = AtomicU64::new(0);
/// `timeout` sends its signal twice at once, to the process and to its group: that is one request to
/// stop, and a person who insists is slower.
const SAME_MS: u64 = 300;

/// From here on SIGINT, SIGTERM and SIGHUP, which a terminal leaves behind, are only noted, see [`check`]; a
/// second one, later, ends the process at once. A mapped file that somebody truncates ends it with words instead of a bare SIGBUS.
pub(crate) fn watch() {
    install(libc::SIGINT, note, 0);
    install(libc::SIGTERM, note, 0);
    // Under `nohup` it stays without effect.
    if !is_ignored(libc::SIGHUP) {
        install(libc::SIGHUP, note, 0);
    }
    install(libc::SIGBUS, lost_file, libc::SA_RESETHAND);
}

/// An error once a signal has come.
pub(crate) fn check() -> Result<(), Interrupted> {
    match CAUGHT.load(Ordering::Relaxed) {
        0 => Ok(()),
        signal => Err(Interrupted { signal }),
    }
}

extern "C" fn note(signal: libc::c_int) {
    let now = now_ms().max(1);
    let first = CAUGHT_MS.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    let Err(first) = first else { return CAUGHT.store(signal, Ordering::Relaxed) };
    if now.saturating_sub(first) >= SAME_MS {
        // Nobody is locked in.
        // SAFETY: both calls may be made from a signal handler; the signal takes effect on return.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

fn now_ms() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: may be called from a signal handler; `now` is large enough. This clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

extern "C" fn lost_file(_: libc::c_int) {
    const WORDS: &[u8] =
        b"error: a file was cut short, or its disk failed, while it was in use\n  \
        try:     send a copy that nobody changes meanwhile; check the disk\n";
    // SAFETY: both calls may be made from a signal handler; WORDS is as long as it says.
    unsafe {
        libc::write(libc::STDERR_FILENO, WORDS.as_ptr().cast(), WORDS.len());
        libc::_exit(1);
    }
}

fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: all zero is a valid sigaction; without a new one the call only tells of the old one.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

fn install(signal: libc::c_int, handler: extern "C" fn(libc::c_int), flags: libc::c_int) {
    // SAFETY: all zero is a valid sigaction; the handlers only do what handlers may. The call fails
    // only for signals that cannot be caught, which these are not.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = flags;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}
