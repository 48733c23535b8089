//! Sends batches of frames with one system call each.
#![allow(unsafe_code, reason = "sendmmsg")]

use std::{io, mem, os::fd::RawFd, ptr};

use laxity_interface::Time;
use laxity_switch::Frame;

use super::offload::{
    join::Joiner,
    virtio::{self, OpenChecksum},
};

/// How many frames go out with one call.
const BATCH: usize = 64;

/// Frames for one interface, with their due times.
#[derive(Debug)]
pub(super) struct Outbox {
    frames: Vec<(Frame, Time)>,
    joiner: Joiner,
    join: bool,
}

/// What became of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sent {
    /// In how many pieces it went.
    pub(super) pieces: u64,
    /// How many frames the kernel refused.
    pub(super) refused: u64,
}

impl Outbox {
    /// An empty one that joins packets of a flow, or does not.
    pub(super) fn new(join: bool) -> Self {
        Self { frames: Vec::new(), joiner: Joiner::default(), join }
    }

    /// Adds a frame; whether the batch is full now.
    pub(super) fn push(&mut self, frame: Frame, due: Time) -> bool {
        self.frames.push((frame, due));
        self.frames.len() >= BATCH
    }

    /// Sends everything.
    pub(super) fn send(&mut self, socket: RawFd) -> Sent {
        let frames = &self.frames[..self.frames.len().min(BATCH)];
        self.joiner.clear();
        for (number, (frame, _)) in frames.iter().enumerate() {
            let checksum = OpenChecksum::from_note(frame.note());
            if self.join {
                self.joiner.add(number, frame.bytes(), checksum);
            } else {
                self.joiner.add_alone(number, frame.bytes(), checksum);
            }
        }
        let runs = self.joiner.runs();
        // What is told about each piece, its headers, and a part for each frame.
        let mut told = [[0; virtio::LENGTH]; BATCH];
        // SAFETY: all-zero bytes are a valid, empty piece.
        let mut parts: [libc::iovec; 3 * BATCH] = unsafe { mem::zeroed() };
        // SAFETY: all-zero bytes are a valid, empty message.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { mem::zeroed() };
        let mut sizes = [0; BATCH];
        let mut used = 0;
        for (at, run) in runs.iter_mut().enumerate() {
            let first = used;
            let mut add = |bytes: &[u8]| {
                parts[used].iov_base = bytes.as_ptr().cast_mut().cast();
                parts[used].iov_len = bytes.len();
                used += 1;
            };
            let (meta, headers, from) = run.finish();
            told[at] = meta.encode();
            add(&told[at]);
            if !headers.is_empty() {
                add(headers);
            }
            run.members().iter().for_each(|&member| add(&frames[member].0.bytes()[from..]));
            sizes[at] = run.members().len();
            messages[at].msg_hdr.msg_iov = ptr::from_mut(&mut parts[first]);
            messages[at].msg_hdr.msg_iovlen = used - first;
        }
        let messages = &mut messages[..runs.len()];
        let refused = send_all(socket, messages, |at| sizes[at] as u64);
        Sent { pieces: messages.len() as u64, refused }
    }

    /// Empties it: the frames that were sent.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (Frame, Time)> + '_ {
        self.frames.drain(..)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}

/// Sends all messages; how many frames the kernel refused, of which each message has so many.
///
/// PRECONDITION: what the messages point to is there.
fn send_all(socket: RawFd, messages: &mut [libc::mmsghdr], frames: impl Fn(usize) -> u64) -> u64 {
    let (mut sent, mut refused) = (0, 0);
    while sent < messages.len() {
        let rest = &mut messages[sent..];
        // SAFETY: `rest` holds that many messages, whose parts point to bytes that live until the call
        // is over; the kernel only reads them.
        let result = unsafe {
            libc::sendmmsg(socket, rest.as_mut_ptr(), rest.len() as u32, libc::MSG_DONTWAIT)
        };
        match usize::try_from(result) {
            Ok(count) => sent += count.max(1),
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            // The first of the rest is at fault: an interface that is down, a full receiver.
            Err(_) => {
                refused += frames(sent);
                sent += 1;
            }
        }
    }
    refused
}
