//! Waiting for many sockets at once.
#![allow(unsafe_code)] // epoll, and calls on sockets that std lacks.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
    ptr,
    time::Instant,
};

use crate::host::sys;

/// As many events as are looked at in one turn.
const BATCH: usize = 256;

/// Sockets, each with a number, that are told of once whenever they can go on.
#[derive(Debug)]
pub(super) struct Poller {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
}

impl Poller {
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: only numbers are passed.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd == -1 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made it, for us.
        let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { epoll, events: vec![libc::epoll_event { events: 0, u64: 0 }; BATCH] })
    }

    /// Watches a socket until it is closed.
    pub(super) fn add(&self, socket: &impl AsFd, number: u64) -> io::Result<()> {
        let kinds = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLET;
        let mut event = libc::epoll_event { events: kinds as u32, u64: number };
        let (epoll, fd) = (self.epoll.as_raw_fd(), socket.as_fd().as_raw_fd());
        // SAFETY: the kernel reads the event, which is valid during the call.
        let answer = unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event) };
        if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits until something can go on, or until this moment; gives the numbers.
    pub(super) fn wait(&mut self, until: Instant) -> io::Result<Vec<u64>> {
        let time = until.saturating_duration_since(Instant::now());
        if !time.is_zero() {
            sys::wait_readable(&[self.epoll.as_fd()], Some(time))?;
        }
        let (epoll, most) = (self.epoll.as_raw_fd(), self.events.len() as i32);
        // SAFETY: the kernel writes at most as many events as there is room for.
        let count = unsafe { libc::epoll_wait(epoll, self.events.as_mut_ptr(), most, 0) };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        Ok(self.events[..count].iter().map(|event| event.u64).collect())
    }
}

/// Bytes without content, to be sent without being copied.
#[derive(Debug)]
pub(super) struct Zeros {
    file: OwnedFd,
    length: usize,
}

impl Zeros {
    /// At most so many at a time.
    pub(super) fn new(length: usize) -> io::Result<Self> {
        // SAFETY: the name ends with NUL; the result is checked.
        let fd = unsafe { libc::memfd_create(c"zeros".as_ptr(), libc::MFD_CLOEXEC) };
        if fd == -1 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made it, for us.
        let file = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: only numbers are passed. What a file lacks below its length reads as zeros.
        if unsafe { libc::ftruncate(file.as_raw_fd(), length as libc::off_t) } == -1 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { file, length })
    }

    /// Hands up to so many to a socket; how many it took. Writing them from memory would copy them, and
    /// traffic of several Gbit/s would take a large part of the core that hosts share with it.
    pub(super) fn send(&self, socket: &impl AsFd, most: u64) -> io::Result<usize> {
        let part = usize::try_from(most).unwrap_or(usize::MAX).min(self.length);
        let (to, from) = (socket.as_fd().as_raw_fd(), self.file.as_raw_fd());
        let mut start: libc::off_t = 0;
        // SAFETY: the kernel reads and writes one number, which is valid during the call.
        let sent = unsafe { libc::sendfile(to, from, &raw mut start, part) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }
}

/// Takes what has arrived at a socket without looking at it; how much. 0 from TCP is its end.
pub(super) fn discard(socket: &impl AsFd) -> io::Result<usize> {
    const ROOM: usize = 1 << 20;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: with MSG_TRUNC the kernel writes nothing for TCP (tcp(7)); for UDP the room of zero
    // bytes that is given is not written to, and the length of the packet is told (recv(2)).
    let length = unsafe {
        if is_stream(fd) {
            libc::recv(fd, ptr::null_mut(), ROOM, libc::MSG_TRUNC | libc::MSG_DONTWAIT)
        } else {
            libc::recv(fd, ptr::null_mut(), 0, libc::MSG_TRUNC | libc::MSG_DONTWAIT)
        }
    };
    usize::try_from(length).map_err(|_| io::Error::last_os_error())
}

fn is_stream(fd: libc::c_int) -> bool {
    let mut kind: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    let place = (&raw mut kind).cast();
    // SAFETY: SO_TYPE is a number, and there is room for one.
    unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_TYPE, place, &raw mut length) };
    kind == libc::SOCK_STREAM
}

/// How many bytes of a TCP socket the other side has not acknowledged.
pub(super) fn unacknowledged(socket: &impl AsFd) -> io::Result<usize> {
    let mut count: libc::c_int = 0;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: this request writes a number, and there is room for one.
    let answer = unsafe { libc::ioctl(fd, libc::TIOCOUTQ, &raw mut count) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(count.max(0) as usize) }
}

/// Sets an option that is a number.
pub(super) fn set_option<T: Copy>(
    socket: &impl AsFd,
    level: libc::c_int,
    name: libc::c_int,
    value: T,
) -> io::Result<()> {
    let (fd, length) = (socket.as_fd().as_raw_fd(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the pointer and the length are those of one value.
    let answer = unsafe { libc::setsockopt(fd, level, name, (&raw const value).cast(), length) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
