//! A Unix socket that carries lines, and open files beside them.
#![allow(unsafe_code)] // std's stable interface cannot send open files.

use std::{
    io::{self, Write},
    mem,
    os::{
        fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
        unix::net::UnixStream,
    },
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};

/// Files that one line may carry.
const MOST_FILES: usize = 4;
/// No line is longer: a status of a thousand hosts has about this length.
const LONGEST: usize = 64 << 20;

/// One side of a conversation.
#[derive(Debug)]
pub(crate) struct Channel {
    stream: UnixStream,
    read: Vec<u8>,
    files: Vec<OwnedFd>,
}

impl Channel {
    /// A conversation over this socket.
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self { stream, read: Vec::new(), files: Vec::new() }
    }

    /// Gives up waiting for the other side after this time.
    pub(crate) fn set_patience(&self, time: Duration) -> io::Result<()> {
        self.stream.set_read_timeout(Some(time))?;
        self.stream.set_write_timeout(Some(time))
    }

    /// Says something.
    pub(crate) fn send(&mut self, what: &impl Serialize) -> io::Result<()> {
        self.send_with(what, &[])
    }

    /// Says something and hands over open files.
    pub(crate) fn send_with(
        &mut self,
        what: &impl Serialize,
        files: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let mut line = serde_json::to_vec(what)?;
        line.push(b'\n');
        let sent = if files.is_empty() { 0 } else { send_files(&self.stream, &line, files)? };
        self.stream.write_all(&line[sent..])
    }

    /// What the other side says next, and the files that came with it; `None` when it has gone.
    pub(crate) fn receive<T: DeserializeOwned>(&mut self) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<_> = self.read.drain(..=end).collect();
                return Ok(Some((serde_json::from_slice(&line)?, mem::take(&mut self.files))));
            }
            if self.read.len() > LONGEST {
                return Err(io::Error::other("the other side talks without end"));
            }
            let mut part = vec![0; 64 * 1024];
            match receive_files(&self.stream, &mut part, &mut self.files) {
                Ok(0) => return Ok(None),
                Ok(length) => self.read.extend(&part[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}

/// Room for the files of one message, aligned as the kernel wants it.
#[repr(align(8))]
struct Control([u8; 64]);

const FD: usize = size_of::<RawFd>();

fn message(part: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: all zero is a valid message without anything in it.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    message
}

fn send_files(stream: &UnixStream, line: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<usize> {
    assert!(files.len() <= MOST_FILES, "our own lines carry few files");
    let mut part = libc::iovec { iov_base: line.as_ptr().cast_mut().cast(), iov_len: line.len() };
    let mut control = Control([0; 64]);
    let mut message = message(&mut part, &mut control);
    let length = (files.len() * FD) as u32;
    // SAFETY: `control` has room for a header and MOST_FILES descriptors and is aligned for it; the
    // kernel only reads from `line`.
    let sent = unsafe {
        message.msg_controllen = libc::CMSG_SPACE(length) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(length) as _;
        let data = libc::CMSG_DATA(header).cast::<RawFd>();
        for (at, file) in files.iter().enumerate() {
            data.add(at).write_unaligned(file.as_raw_fd());
        }
        libc::sendmsg(stream.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL)
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

fn receive_files(
    stream: &UnixStream,
    into: &mut [u8],
    files: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let mut control = Control([0; 64]);
    let mut message = message(&mut part, &mut control);
    // SAFETY: the kernel writes at most as much as the message says there is room for; what it
    // writes to `control` is walked with its own macros; each descriptor it reports is new and ours.
    unsafe {
        let length = libc::recvmsg(stream.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC);
        let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS {
                let count = ((*header).cmsg_len as usize - libc::CMSG_LEN(0) as usize) / FD;
                let data = libc::CMSG_DATA(header).cast::<RawFd>();
                for at in 0..count {
                    files.push(OwnedFd::from_raw_fd(data.add(at).read_unaligned()));
                }
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Read, os::fd::AsFd};

    use super::*;

    #[test]
    fn lines_and_files_arrive_together() {
        let (one, other) = UnixStream::pair().unwrap();
        let (mut one, mut other) = (Channel::new(one), Channel::new(other));
        let (from, to) = io::pipe().unwrap();
        one.send(&"first").unwrap();
        one.send_with(&"second", &[from.as_fd(), to.as_fd()]).unwrap();
        let (word, files): (String, _) = other.receive().unwrap().unwrap();
        assert_eq!(word, "first");
        assert!(files.len() <= 2, "files may come early, but not twice");
        let (word, mut more): (String, _) = other.receive().unwrap().unwrap();
        assert_eq!(word, "second");
        let mut files = files;
        files.append(&mut more);
        assert_eq!(files.len(), 2);
        drop((from, to));
        let mut to = File::from(files.pop().unwrap());
        let mut from = File::from(files.pop().unwrap());
        to.write_all(b"x").unwrap();
        drop(to);
        let mut text = String::new();
        from.read_to_string(&mut text).unwrap();
        assert_eq!(text, "x");
        drop(one);
        assert!(other.receive::<String>().unwrap().is_none());
    }
}
