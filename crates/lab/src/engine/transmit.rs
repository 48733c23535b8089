//! Sends batches of frames with one system call each.
#![allow(unsafe_code, reason = "sendmmsg")]

use std::{io, mem, os::fd::RawFd, ptr};

use laxity_interface::Time;
use laxity_switch::Frame;

/// How many frames go out with one call.
const BATCH: usize = 64;

/// Frames for one interface, with their due times.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    frames: Vec<(Frame, Time)>,
}

impl Outbox {
    /// Adds a frame; whether the batch is full now.
    pub(super) fn push(&mut self, frame: Frame, due: Time) -> bool {
        self.frames.push((frame, due));
        self.frames.len() >= BATCH
    }

    /// Sends everything; how many frames the kernel refused.
    pub(super) fn send(&self, socket: RawFd) -> u64 {
        let frames = &self.frames[..self.frames.len().min(BATCH)];
        // SAFETY: all-zero bytes are a valid, empty message.
        let mut pieces: [libc::iovec; BATCH] = unsafe { mem::zeroed() };
        // SAFETY: as above.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { mem::zeroed() };
        for (at, (frame, _)) in frames.iter().enumerate() {
            let bytes = frame.bytes();
            pieces[at].iov_base = bytes.as_ptr().cast_mut().cast();
            pieces[at].iov_len = bytes.len();
            messages[at].msg_hdr.msg_iov = ptr::from_mut(&mut pieces[at]);
            messages[at].msg_hdr.msg_iovlen = 1;
        }
        let (mut sent, mut refused) = (0, 0);
        while sent < frames.len() {
            let rest = &mut messages[sent..frames.len()];
            // SAFETY: `rest` holds that many messages, whose pieces point to frames that live until
            // the call is over; the kernel only reads them.
            let result = unsafe {
                libc::sendmmsg(socket, rest.as_mut_ptr(), rest.len() as u32, libc::MSG_DONTWAIT)
            };
            match usize::try_from(result) {
                Ok(count) => sent += count.max(1),
                Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                // The first of the rest is at fault: an interface that is down, a full receiver.
                Err(_) => {
                    sent += 1;
                    refused += 1;
                }
            }
        }
        refused
    }

    /// Empties it: the frames that were sent.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (Frame, Time)> + '_ {
        self.frames.drain(..)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}
