//! The kernel calls that std lacks, each in a safe form.
#![allow(unsafe_code)] // Every block is one call with arguments that are checked here.

use std::{
    ffi::CStr,
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    ptr,
    time::Duration,
};

/// The answer of a call that gives -1 where it failed.
fn ok(answer: libc::c_int) -> io::Result<()> {
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Leaves the namespaces of these kinds for fresh ones.
pub(crate) fn unshare(kinds: libc::c_int) -> io::Result<()> {
    // SAFETY: only numbers are passed.
    ok(unsafe { libc::unshare(kinds) })
}

/// Joins a namespace: the calling thread for networks, the whole process for users.
pub(crate) fn join(namespace: BorrowedFd<'_>, kind: libc::c_int) -> io::Result<()> {
    // SAFETY: only numbers are passed; the descriptor is open as long as it is borrowed.
    ok(unsafe { libc::setns(namespace.as_raw_fd(), kind) })
}

/// Mounts something.
pub(crate) fn mount(
    source: &CStr,
    target: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
) -> io::Result<()> {
    let kind = kind.map_or(ptr::null(), CStr::as_ptr);
    // SAFETY: all pointers are to text that ends in zero, or null where the call allows that.
    ok(unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind, flags, ptr::null()) })
}

/// Takes away what was mounted last at a place.
pub(crate) fn unmount(target: &CStr) -> io::Result<()> {
    // SAFETY: the pointer is to text that ends in zero.
    ok(unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) })
}

/// The cores that this process may use, in order.
pub(crate) fn cores() -> io::Result<Vec<usize>> {
    // SAFETY: all zero is a valid, empty set, and its size goes with it; 0 is the calling thread.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        ok(libc::sched_getaffinity(0, size_of_val(&set), &raw mut set))?;
        set
    };
    // SAFETY: the set is valid, and no larger number is asked for than it has.
    let has = |core: &usize| unsafe { libc::CPU_ISSET(*core, &set) };
    Ok((0..libc::CPU_SETSIZE as usize).filter(has).collect())
}

/// The same without the last, which is the switch's; `None` if there is no other.
pub(crate) fn cores_but_the_switchs() -> Option<Vec<usize>> {
    let mut cores = cores().ok()?;
    cores.pop();
    (!cores.is_empty()).then_some(cores)
}

/// Names the machine, in this UTS namespace.
pub(crate) fn set_host_name(name: &str) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of one text.
    ok(unsafe { libc::sethostname(name.as_ptr().cast(), name.len()) })
}

/// Asks for this signal when the parent ends.
pub(crate) fn die_with_parent(signal: libc::c_int) -> io::Result<()> {
    // SAFETY: only numbers are passed.
    ok(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) })
}

/// The calling thread, for whatever takes a thread's number.
pub(crate) const MYSELF: libc::pid_t = 0;

/// Gives a thread a real-time priority, at which it takes turns with others that have the same.
pub(crate) fn take_turns(thread: libc::pid_t, priority: libc::c_int) -> io::Result<()> {
    // SAFETY: all zero is a valid parameter, and outlives the call.
    unsafe {
        let mut parameters: libc::sched_param = std::mem::zeroed();
        parameters.sched_priority = priority;
        ok(libc::sched_setscheduler(thread, libc::SCHED_RR, &raw const parameters))
    }
}

/// The processor time that the calling thread has used.
pub(crate) fn thread_time() -> Duration {
    // SAFETY: all zero is a valid time, and the kernel writes one.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time);
        time
    };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A set of cores as [`keep_to`] takes it. It needs no memory of its own.
pub(crate) fn core_set(cores: &[usize]) -> libc::cpu_set_t {
    // SAFETY: all zero is a valid, empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for core in cores.iter().filter(|core| **core < libc::CPU_SETSIZE as usize) {
        // SAFETY: the set has that many places.
        unsafe { libc::CPU_SET(*core, &mut set) };
    }
    set
}

/// Has a thread run on these cores only.
pub(crate) fn keep_to(thread: libc::pid_t, cores: &libc::cpu_set_t) -> io::Result<()> {
    // SAFETY: the set is valid, and its size goes with it.
    ok(unsafe { libc::sched_setaffinity(thread, size_of_val(cores), cores) })
}

/// Becomes the leader of a session of its own: the terminal's signals no longer come.
pub(crate) fn own_session() -> io::Result<()> {
    // SAFETY: no arguments.
    ok(unsafe { libc::setsid() })
}

/// Lets the program that this process becomes have an open file, too.
pub(crate) fn pass_on(number: libc::c_int) -> io::Result<()> {
    // SAFETY: only numbers are passed.
    ok(unsafe { libc::fcntl(number, libc::F_SETFD, 0) })
}

/// Takes over a file that was handed down by number; `None` if nothing is open there.
pub(crate) fn inherited(number: libc::c_int) -> Option<OwnedFd> {
    // SAFETY: only numbers are passed.
    ok(unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) }).ok()?;
    // SAFETY: it is open, as was just seen, and by agreement nobody else in this process uses it.
    Some(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Sends a signal to a process.
pub(crate) fn kill(process: u32, signal: libc::c_int) -> io::Result<()> {
    let Ok(process @ 2..) = i32::try_from(process) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // SAFETY: only numbers are passed.
    ok(unsafe { libc::kill(process, signal) })
}

/// Locks a file for oneself; false if somebody else has locked it.
///
/// The lock belongs to the open file: children that inherit it keep it, and the kernel lets go of it
/// when the last of them is gone, however that happened.
pub(crate) fn try_lock(file: &impl AsFd) -> io::Result<bool> {
    // SAFETY: only numbers are passed.
    match ok(unsafe { libc::flock(file.as_fd().as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) }) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

/// User and group of this process, as the kernel counts them.
pub(crate) fn ids() -> (u32, u32) {
    // SAFETY: these calls take nothing and cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// A descriptor that becomes readable when one of these signals comes, which then do nothing else.
pub(crate) fn signals(list: &[libc::c_int]) -> io::Result<OwnedFd> {
    // SAFETY: all zero is a valid set, and each call only reads and writes that set.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in list {
            libc::sigaddset(&raw mut set, *signal);
        }
        let refused = libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut());
        if refused != 0 {
            return Err(io::Error::from_raw_os_error(refused));
        }
        let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        ok(fd)?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Waits until one of these can be read or has been closed; says which. `None` after the time.
pub(crate) fn wait_readable(
    files: &[BorrowedFd<'_>],
    time: Option<Duration>,
) -> io::Result<Option<usize>> {
    let entry = |file: &BorrowedFd<'_>| libc::pollfd {
        fd: file.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut entries: Vec<_> = files.iter().map(entry).collect();
    let time = time.map(|time| libc::timespec {
        tv_sec: time.as_secs() as libc::time_t,
        tv_nsec: time.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    let count = entries.len() as libc::nfds_t;
    // SAFETY: the pointer and the count are those of one vector; the time outlives the call.
    match ok(unsafe { libc::ppoll(entries.as_mut_ptr(), count, time, ptr::null()) }) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        Err(error) => Err(error),
        Ok(()) => Ok(entries.iter().position(|entry| entry.revents != 0)),
    }
}

/// The kernel's number of an interface in the calling thread's namespace.
pub(crate) fn interface_index(name: &str) -> io::Result<u32> {
    let text = std::ffi::CString::new(name)?;
    // SAFETY: the pointer is to text that ends in zero.
    match unsafe { libc::if_nametoindex(text.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// Lets this process have as many open files as it may.
pub(crate) fn raise_file_limit() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointers are to a valid limit, which the first call fills.
    unsafe {
        ok(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit))?;
        limit.rlim_cur = limit.rlim_max;
        ok(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit))
    }
}
