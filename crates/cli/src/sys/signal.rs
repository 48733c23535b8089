//! Signals: noticed, then acted upon at a good moment.

use std::sync::atomic::{AtomicI32, Ordering};

use crate::failure::Interrupted;

static CAUGHT: AtomicI32 = AtomicI32::new(0);

/// From here on SIGINT and SIGTERM are only noted, see [`check`]; a second one ends the process at
/// once. A mapped file that somebody truncates ends it with words instead of a bare SIGBUS.
pub(crate) fn watch() {
    // A second signal finds the default action again: nobody is locked in.
    install(libc::SIGINT, note, libc::SA_RESETHAND);
    install(libc::SIGTERM, note, libc::SA_RESETHAND);
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
    CAUGHT.store(signal, Ordering::Relaxed);
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
