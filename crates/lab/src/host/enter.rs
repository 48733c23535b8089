//! Going into a host: what happens between fork and exec.
#![allow(unsafe_code)] // A hook that runs in the new process.

use std::{
    ffi::{CStr, CString},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::CommandExt,
    },
    path::Path,
    process::Command,
};

use super::sys;

/// The way into one host.
#[derive(Debug)]
pub(crate) struct Entrance {
    /// The user namespace to join first, where the lab has one.
    pub(crate) user: Option<OwnedFd>,
    /// The host's network.
    pub(crate) network: OwnedFd,
    /// The host's name.
    pub(crate) name: String,
    /// What stands in for `/etc/hosts`.
    names: CString,
}

impl Entrance {
    /// A way into the host of this name, where `names` is read as `/etc/hosts`.
    pub(crate) fn new(
        user: Option<OwnedFd>,
        network: OwnedFd,
        name: String,
        names: &Path,
    ) -> io::Result<Self> {
        let names = CString::new(names.as_os_str().as_encoded_bytes())?;
        Ok(Self { user, network, name, names })
    }

    /// Makes a command run inside.
    pub(crate) fn lead(self, command: &mut Command) {
        // SAFETY: between fork and exec only system calls with prepared arguments are made: no
        // memory is allocated and no lock is taken.
        unsafe { command.pre_exec(move || self.go()) };
    }

    fn go(&self) -> io::Result<()> {
        if let Some(user) = &self.user {
            sys::join(user.as_fd(), libc::CLONE_NEWUSER)?;
        }
        sys::join(self.network.as_fd(), libc::CLONE_NEWNET)?;
        sys::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWUTS)?;
        // What is mounted here stays here; what is mounted outside is still seen.
        sys::mount(c"none", c"/", None, libc::MS_REC | libc::MS_SLAVE)?;
        // The hosts' names, and /sys/class/net with the host's own card. Where the machine has no
        // such file or a container forbids it, addresses still work.
        let _ = sys::mount(&self.names, c"/etc/hosts", None, libc::MS_BIND);
        let _ = sys::mount(c"lab", c"/sys", Some(SYSFS), 0);
        sys::set_host_name(&self.name)
    }
}

const SYSFS: &CStr = c"sysfs";

/// Makes a command end when the process that starts it ends.
pub fn end_with_parent(command: &mut Command) {
    // SAFETY: only a system call with a number is made between fork and exec.
    unsafe { command.pre_exec(|| sys::die_with_parent(libc::SIGKILL)) };
}

/// Puts a command before whatever else the machine does, though behind a lab's switch, where that is
/// allowed: a program that waits for its turn while others compile is measured with them.
///
/// And keeps it off the core that the switch runs on, where there is another one. Behind the switch it could wait for
/// ever: nobody fetches a thread with a real-time priority from there while the other cores have some of the same
/// priority to run, and a switch with enough to do never pauses. And the switch would wait for it: a program in
/// the kernel is not interrupted.
pub fn run_ahead(command: &mut Command) {
    let cores = sys::cores_but_the_switchs().map(|cores| sys::core_set(&cores));
    let ahead = move || {
        // Without the privilege it runs as everybody does.
        if let Some(cores) = &cores {
            let _ = sys::keep_to(sys::MYSELF, cores);
        }
        let _ = sys::take_turns(sys::MYSELF, AHEAD);
        Ok(())
    };
    // SAFETY: only system calls with prepared arguments are made between fork and exec.
    unsafe { command.pre_exec(ahead) };
}

/// A real-time priority below that of the switch, among equals by turns.
pub(super) const AHEAD: libc::c_int = 10;

/// Gives the calling thread the place of hosts' programs: not on the switch's core, and in turn with those that
/// [`run_ahead`] and with threads that take packets in.
///
/// An ordinary thread beside the switch is not harmless. A kernel that sees it wait behind a
/// real-time thread for long lends it the core, for up to 50 ms in each second, and packets are that late.
pub(crate) fn stand_with_programs() {
    let _ = stand(AHEAD);
}

/// Gives the calling thread, which makes traffic of hosts, a place before their programs; it has to leave them
/// something by itself. Behind them it gets what they leave of their cores, which is little where they compute, and
/// traffic that cannot be sent is not beside anything.
pub(crate) fn stand_before_programs() {
    if stand(AHEAD + 1).is_err() {
        stand_with_programs();
    }
}

fn stand(priority: libc::c_int) -> io::Result<()> {
    if let Some(cores) = sys::cores_but_the_switchs() {
        // Where it is not allowed, the switch is late more often, and says so.
        let _ = sys::keep_to(sys::MYSELF, &sys::core_set(&cores));
    }
    sys::take_turns(sys::MYSELF, priority)
}
