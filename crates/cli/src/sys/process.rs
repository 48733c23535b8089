//! Signals to others.

/// Sends a signal to a child and all that it started, where it leads a group of its own.
pub(crate) fn signal_group(leader: u32, signal: libc::c_int) {
    let Ok(leader @ 2..) = i32::try_from(leader) else { return };
    // SAFETY: only numbers are passed. A group that has gone is no error here.
    unsafe { libc::kill(-leader, signal) };
}
