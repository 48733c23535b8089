//! Sending a batch of equal-size datagrams to one peer.

use std::{
    io::IoSlice,
    mem::MaybeUninit,
    net::{IpAddr, SocketAddr},
    os::fd::AsRawFd,
};

use laxity_interface::{Dscp, Ecn};
use socket2::SockAddr;

use super::{address, cmsg::SendControl, error::SendError, segment::Cursor, socket::Socket};

/// Slices per system call (`UIO_MAXIOV`).
const MAX_SLICES: usize = libc::UIO_MAXIOV as usize;
/// Datagrams per `sendmmsg` when they have to go one by one.
const MAX_MESSAGES: usize = 64;

/// The most payload that one system call carries: what the length fields of IP and UDP can say.
/// IPv6 does not count its own header.
pub(super) fn max_payload(to: SocketAddr) -> usize {
    if address::is_v4(to.ip()) { 65_535 - 20 - 8 } else { 65_535 - 8 }
}

/// A batch of datagrams to one peer: all of `segment_size` bytes but the last, which may be
/// shorter.
///
/// The bytes are gathered from `parts`, whose borders need not be those of the segments.
#[derive(Debug, Clone, Copy)]
pub struct Transmission<'a> {
    /// The peer.
    pub to: SocketAddr,
    /// The source address, if the kernel shall not choose: for answers from a host with several.
    pub from: Option<IpAddr>,
    /// The congestion mark of every packet.
    pub ecn: Ecn,
    /// The code point of every packet, by which switches choose a queue.
    pub dscp: Dscp,
    /// Payload bytes of each datagram.
    pub segment_size: usize,
    /// The payload, in order.
    pub parts: &'a [IoSlice<'a>],
    /// The sum of the lengths of `parts`.
    pub total: usize,
}

impl Transmission<'_> {
    /// How many datagrams this is.
    pub fn segments(&self) -> usize {
        self.total.div_ceil(self.segment_size.max(1))
    }

    fn check(&self) -> Result<(), SendError> {
        let malformed = |reason| Err(SendError::Malformed { to: self.to, reason });
        if self.segment_size == 0 {
            return malformed("segment size 0");
        }
        if self.parts.iter().map(|part| part.len()).sum::<usize>() != self.total {
            return malformed("total is not the sum of the parts");
        }
        match self.from {
            Some(from) if address::is_v4(from) != address::is_v4(self.to.ip()) => {
                Err(SendError::WrongSource { to: self.to, from })
            }
            _ => Ok(()),
        }
    }
}

/// A batch that went whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Datagrams.
    pub segments: usize,
    /// Whether the kernel did the cutting; otherwise each datagram cost on its own.
    pub offloaded: bool,
}

/// The features a pass over the batch tries to use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mode {
    pub(super) gso: bool,
    pub(super) marking: bool,
}

#[derive(Debug, Clone, Copy)]
enum Feature {
    Gso,
    Marking,
}

/// Why a pass ended early.
#[derive(Debug, Clone, Copy)]
enum Stop {
    Errno(i32),
    TooManySlices,
}

impl Socket {
    /// Sends a batch, by one system call if kernel and size permit.
    ///
    /// What the kernel refuses is retried without the feature that may be to blame (segmentation,
    /// then marks). Only when that helps is the feature given up, and recorded in
    /// [`capabilities`](Socket::capabilities): a segment too large for the path, say, is refused
    /// with the same error, and is no reason to do without.
    pub fn send(&self, batch: &Transmission<'_>) -> Result<Sent, SendError> {
        let Transmission { to, segment_size, .. } = *batch;
        batch.check()?;
        let Some(name) = self.name_for(to) else {
            return Err(SendError::WrongFamily { to, local: self.local_addr() });
        };
        let segments = batch.segments();
        if segments == 0 {
            return Ok(Sent { segments, offloaded: false });
        }
        let mut mode = Mode {
            gso: segments > 1 && self.batch_limit(to, segment_size) > 1,
            marking: self.state.marking(),
        };
        let mut sent = 0;
        // What was left out last, and how far we had got by then.
        let mut suspect = None;
        loop {
            let result = self.pass(batch, &name, mode, &mut sent);
            match suspect {
                Some((Feature::Gso, before)) if sent > before => self.state.lose_gso(),
                Some((Feature::Marking, before)) if sent > before => self.state.lose_marking(),
                _ => {}
            }
            match result {
                Ok(()) => return Ok(Sent { segments, offloaded: mode.gso }),
                Err(Stop::TooManySlices) => {
                    let reason = "a segment in more slices than a system call takes";
                    return Err(SendError::Malformed { to, reason });
                }
                Err(Stop::Errno(errno)) if mode.gso && may_blame_gso(errno) => {
                    mode.gso = false;
                    suspect = Some((Feature::Gso, sent));
                }
                Err(Stop::Errno(errno)) if mode.marking && may_blame_marking(errno) => {
                    mode.marking = false;
                    suspect = Some((Feature::Marking, sent));
                }
                Err(Stop::Errno(errno)) => {
                    return Err(SendError::classify(errno, to, sent, segment_size));
                }
            }
        }
    }

    /// Sends what is left of the batch, advancing `sent` by the segments that went.
    fn pass(
        &self,
        batch: &Transmission<'_>,
        name: &SockAddr,
        mode: Mode,
        sent: &mut usize,
    ) -> Result<(), Stop> {
        let mut control = SendControl::new();
        if mode.marking {
            control.push_tos(batch.dscp.with_ecn(batch.ecn), address::is_v4(batch.to.ip()));
        }
        if let Some(from) = batch.from {
            control.push_source(from);
        }
        let mut group = 1;
        if mode.gso {
            // At least two segments fit a call, so the size fits 16 bits.
            control.push_segment_size(batch.segment_size as u16);
            group = self.batch_limit(batch.to, batch.segment_size);
        }
        self.check_pretended(mode)?;
        let segments = batch.segments();
        if *sent == 0 && segments <= group && batch.parts.len() <= MAX_SLICES {
            self.send_whole(batch, name, &mut control)?;
            *sent = segments;
            return Ok(());
        }
        while *sent < segments {
            match self.send_groups(batch, name, &mut control, group, *sent) {
                Ok(went) => *sent = (*sent + went).min(segments),
                // Many small slices: fewer segments at once.
                Err(Stop::TooManySlices) if group > 1 => group /= 2,
                Err(stop) => return Err(stop),
            }
        }
        Ok(())
    }

    /// The fast way: the caller's scatter list as it is, in one call.
    fn send_whole(
        &self,
        batch: &Transmission<'_>,
        name: &SockAddr,
        control: &mut SendControl,
    ) -> Result<(), Stop> {
        let message = header(name, batch.parts, control);
        loop {
            // SAFETY: `header` points at `name`, `parts` and `control`, all borrowed until after
            // the call; the kernel only reads them.
            let result = unsafe { libc::sendmsg(self.as_raw_fd(), &raw const message, 0) };
            if result >= 0 {
                return Ok(());
            }
            match last_errno() {
                libc::EINTR => {}
                errno => return Err(Stop::Errno(errno)),
            }
        }
    }

    /// The general way: messages of `group` segments each, from segment `start` on, as many as one
    /// `sendmmsg` takes. Returns the number of segments that went, at least one.
    fn send_groups(
        &self,
        batch: &Transmission<'_>,
        name: &SockAddr,
        control: &mut SendControl,
        group: usize,
        start: usize,
    ) -> Result<usize, Stop> {
        let mut slices = [IoSlice::new(&[]); MAX_SLICES];
        let mut messages = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; MAX_MESSAGES];
        let mut room = &mut slices[..];
        let mut cursor = Cursor::at(batch.parts, start * batch.segment_size);
        let mut filled = 0;
        while filled < MAX_MESSAGES {
            let Some(used) = cursor.take(group * batch.segment_size, room) else { break };
            if used == 0 {
                break;
            }
            let (taken, rest) = room.split_at_mut(used);
            room = rest;
            messages[filled]
                .write(libc::mmsghdr { msg_hdr: header(name, taken, control), msg_len: 0 });
            filled += 1;
        }
        if filled == 0 {
            return Err(Stop::TooManySlices);
        }
        loop {
            // SAFETY: the first `filled` messages are initialised and point at `name`, `slices` and
            // `control`, which live until after the call; the kernel writes only `msg_len`.
            let result = unsafe {
                libc::sendmmsg(self.as_raw_fd(), messages.as_mut_ptr().cast(), filled as u32, 0)
            };
            if result > 0 {
                return Ok(result as usize * group);
            }
            match last_errno() {
                libc::EINTR => {}
                errno => return Err(Stop::Errno(errno)),
            }
        }
    }

    #[cfg(test)]
    fn check_pretended(&self, mode: Mode) -> Result<(), Stop> {
        self.pretend.refusal(mode).map_or(Ok(()), |errno| Err(Stop::Errno(errno)))
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "the tests' variant has a use for it")]
    fn check_pretended(&self, _: Mode) -> Result<(), Stop> {
        Ok(())
    }
}

fn header(name: &SockAddr, slices: &[IoSlice<'_>], control: &mut SendControl) -> libc::msghdr {
    // SAFETY: all zero is a valid msghdr; some C libraries have padding in it that cannot be named.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    // Sending never writes through these; the fields are `*mut` because receiving shares the type.
    message.msg_name = name.as_ptr().cast_mut().cast();
    message.msg_namelen = name.len();
    // `IoSlice` is documented to have the layout of `iovec`.
    message.msg_iov = slices.as_ptr().cast_mut().cast();
    message.msg_iovlen = slices.len() as _;
    if control.used() > 0 {
        message.msg_controllen = control.used() as _;
        message.msg_control = control.as_mut_ptr();
    }
    message
}

fn last_errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// EIO: no checksum offload, or IPsec on the way. EINVAL, EMSGSIZE: a limit we did not know of. The
/// others: a kernel or a sandbox that does not know the control message.
fn may_blame_gso(errno: i32) -> bool {
    matches!(
        errno,
        libc::EIO | libc::EINVAL | libc::EMSGSIZE | libc::ENOPROTOOPT | libc::EOPNOTSUPP
    )
}

fn may_blame_marking(errno: i32) -> bool {
    matches!(errno, libc::EINVAL | libc::ENOPROTOOPT | libc::EOPNOTSUPP)
}
