//! Route netlink: as much of it as a lab needs.
#![allow(unsafe_code)] // A socket of a family that std does not know.

use std::{
    io::{self, Read, Write},
    os::fd::{FromRawFd, OwnedFd},
};

/// One request, built field by field.
#[derive(Debug)]
pub(super) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// A request that the kernel answers.
    pub(super) fn new(kind: u16, flags: libc::c_int) -> Self {
        let flags = (flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let mut bytes = vec![0; 4];
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        // Number and sender: the socket fills in the first, the kernel knows the second.
        bytes.extend([0; 8]);
        Self { bytes }
    }

    /// Fixed fields, as the kind of request defines them.
    pub(super) fn fixed(mut self, fields: &[u8]) -> Self {
        self.bytes.extend(fields);
        self.pad();
        self
    }

    /// An attribute.
    pub(super) fn with(mut self, kind: u16, value: &[u8]) -> Self {
        let length = 4 + value.len() as u16;
        self.bytes.extend(length.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(value);
        self.pad();
        self
    }

    /// An attribute that is a text.
    pub(super) fn with_text(self, kind: u16, text: &str) -> Self {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        self.with(kind, &bytes)
    }

    /// An attribute that contains others.
    pub(super) fn with_nested(mut self, kind: u16, fill: impl FnOnce(Self) -> Self) -> Self {
        let start = self.bytes.len();
        self.bytes.extend([0; 2]);
        self.bytes.extend(kind.to_ne_bytes());
        let mut inner = fill(self);
        let length = (inner.bytes.len() - start) as u16;
        inner.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        inner
    }

    /// Everything in netlink begins at a multiple of four.
    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn finish(mut self, number: u32) -> Vec<u8> {
        let length = self.bytes.len() as u32;
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&number.to_ne_bytes());
        self.bytes
    }
}

/// A conversation with the kernel about the network namespace in which it was begun.
#[derive(Debug)]
pub(super) struct Netlink {
    socket: std::fs::File,
    number: u32,
}

impl Netlink {
    /// Begins one in the calling thread's namespace.
    pub(super) fn open() -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: only numbers are passed.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) };
        if fd == -1 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made it, for us.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { socket: socket.into(), number: 0 })
    }

    /// Makes requests one after the other; stops at the first that is refused.
    ///
    /// Several travel in one call, as long as the kernel's answers surely fit its buffer.
    pub(super) fn request(&mut self, messages: Vec<Message>) -> io::Result<()> {
        let mut messages = messages.into_iter().peekable();
        while messages.peek().is_some() {
            let (mut batch, mut count) = (Vec::new(), 0);
            for message in messages.by_ref().take(64) {
                self.number += 1;
                batch.extend(message.finish(self.number));
                count += 1;
            }
            self.socket.write_all(&batch)?;
            self.answers(count)?;
        }
        Ok(())
    }

    fn answers(&mut self, mut expected: usize) -> io::Result<()> {
        let mut buffer = vec![0; 32 * 1024];
        let mut outcome = Ok(());
        while expected > 0 {
            let length = self.socket.read(&mut buffer)?;
            let mut rest = &buffer[..length];
            while let Some(answer) = Answer::first(rest) {
                rest = &rest[answer.length.min(rest.len())..];
                if answer.kind != libc::NLMSG_ERROR as u16 {
                    continue;
                }
                expected = expected.saturating_sub(1);
                if answer.error != 0 && outcome.is_ok() {
                    outcome = Err(io::Error::from_raw_os_error(-answer.error));
                }
            }
        }
        outcome
    }
}

/// The beginning of what the kernel sends.
struct Answer {
    length: usize,
    kind: u16,
    error: i32,
}

impl Answer {
    fn first(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let length = (word(0)? as usize).max(16).next_multiple_of(4);
        let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
        Some(Self { length, kind, error: word(16).unwrap_or(0) as i32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_counted() {
        let message = Message::new(16, 0)
            .fixed(&[1, 2, 3, 4])
            .with_text(3, "lo")
            .with_nested(18, |inner| inner.with(1, &[9]));
        let bytes = message.finish(7);
        assert_eq!(bytes.len(), 16 + 4 + 8 + 12);
        assert_eq!(bytes[..4], 40u32.to_ne_bytes());
        assert_eq!(bytes[8..12], 7u32.to_ne_bytes());
        assert_eq!(bytes[20..22], 7u16.to_ne_bytes(), "the text ends in zero");
        assert_eq!(bytes[28..30], 12u16.to_ne_bytes(), "with what is inside");
    }

    #[test]
    fn a_refusal_is_an_error_of_the_system() {
        // Nobody may make an interface without a name of its kind.
        let mut netlink = Netlink::open().unwrap();
        let nonsense = Message::new(libc::RTM_NEWLINK, libc::NLM_F_CREATE)
            .fixed(&[0; 16])
            .with_nested(libc::IFLA_LINKINFO, |m| m.with_text(libc::IFLA_INFO_KIND, "none such"));
        assert!(netlink.request(vec![nonsense]).is_err());
    }
}
