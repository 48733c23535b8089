//! Control messages: the notes that travel beside a datagram between us and the kernel.

use std::{
    ffi::c_int,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

/// Room for every note a send can carry: marks, segment size, source address.
pub(super) type SendControl = Control<96>;

/// Room for every note a receive can bring; a dual-stack socket brings both families' notes.
pub(super) type RecvControl = Control<256>;

/// Bytes with the alignment that a control message header asks for.
#[derive(Debug, Clone)]
#[repr(C, align(8))]
pub(super) struct Control<const N: usize> {
    bytes: [u8; N],
    used: usize,
}

impl<const N: usize> Control<N> {
    /// How many bytes the notes may take.
    pub(super) const CAPACITY: usize = N;

    pub(super) const fn new() -> Self {
        Self { bytes: [0; N], used: 0 }
    }

    /// The room, for the kernel to read the first [`used`](Self::used) bytes or to write all.
    pub(super) fn as_mut_ptr(&mut self) -> *mut libc::c_void {
        self.bytes.as_mut_ptr().cast()
    }

    /// How many bytes the notes take.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    fn push<T: Copy>(&mut self, level: c_int, kind: c_int, value: T) {
        // SAFETY: pure arithmetic on sizes.
        let (length, space) = unsafe {
            let size = size_of::<T>() as u32;
            (libc::CMSG_LEN(size) as usize, libc::CMSG_SPACE(size) as usize)
        };
        assert!(self.used + space <= N, "a control message more than there is room for");
        // SAFETY: `used` is a sum of CMSG_SPACEs, hence a multiple of the header's alignment, as is
        // the start; header and value lie within `space` bytes, which the assertion found free.
        unsafe {
            let header = self.bytes.as_mut_ptr().add(self.used).cast::<libc::cmsghdr>();
            (*header).cmsg_len = length as _;
            (*header).cmsg_level = level;
            (*header).cmsg_type = kind;
            libc::CMSG_DATA(header).cast::<T>().write_unaligned(value);
        }
        self.used += space;
    }

    /// Asks for a TOS or traffic class byte on a packet that travels as IPv4 or IPv6.
    pub(super) fn push_tos(&mut self, tos: u8, v4: bool) {
        if v4 {
            self.push(libc::IPPROTO_IP, libc::IP_TOS, c_int::from(tos));
        } else {
            self.push(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, c_int::from(tos));
        }
    }

    /// Asks the kernel to cut the payload into datagrams of this size.
    pub(super) fn push_segment_size(&mut self, size: u16) {
        self.push(libc::SOL_UDP, libc::UDP_SEGMENT, size);
    }

    /// Asks for this source address.
    pub(super) fn push_source(&mut self, from: IpAddr) {
        match from.to_canonical() {
            IpAddr::V4(ip) => {
                let address = libc::in_addr { s_addr: u32::from_ne_bytes(ip.octets()) };
                let any = libc::in_addr { s_addr: 0 };
                let info =
                    libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: address, ipi_addr: any };
                self.push(libc::IPPROTO_IP, libc::IP_PKTINFO, info);
            }
            IpAddr::V6(ip) => {
                let ipi6_addr = libc::in6_addr { s6_addr: ip.octets() };
                let info = libc::in6_pktinfo { ipi6_addr, ipi6_ifindex: 0 };
                self.push(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info);
            }
        }
    }
}

/// What the kernel noted beside a received message.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Notes {
    /// TOS or traffic class byte.
    pub(super) tos: u8,
    /// Size of each datagram in a coalesced run.
    pub(super) stride: Option<usize>,
    /// Drops on this socket since it was opened, modulo 2³².
    pub(super) drops: Option<u32>,
    /// The address the sender used for us.
    pub(super) local: Option<IpAddr>,
    /// When it arrived, by the wall clock, since the epoch.
    pub(super) arrived: Option<Duration>,
}

/// Reads the notes of a received message.
///
/// # Safety
/// `message` has been filled by a successful receive, and its control buffer is readable for
/// `msg_controllen` bytes, aligned for a control header.
pub(super) unsafe fn read(message: &libc::msghdr) -> Notes {
    let mut notes = Notes::default();
    // SAFETY: by the caller's promise the buffer holds whole control messages.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !next.is_null() {
        // SAFETY: FIRSTHDR and NXTHDR return only headers that lie whole inside the buffer.
        let header = unsafe { &*next };
        // SAFETY: as above; the data follow the header.
        let data = unsafe { libc::CMSG_DATA(next) };
        // SAFETY: arithmetic only.
        let length =
            (header.cmsg_len as usize).saturating_sub(unsafe { libc::CMSG_LEN(0) } as usize);
        // SAFETY: `length` is what the kernel says it wrote after the header.
        let bytes = unsafe { std::slice::from_raw_parts(data, length) };
        note(&mut notes, header.cmsg_level, header.cmsg_type, bytes);
        // SAFETY: `next` came from this buffer.
        next = unsafe { libc::CMSG_NXTHDR(message, next) };
    }
    notes
}

/// Reads a timespec; one from before the epoch, or no whole one, is none.
fn seconds(bytes: &[u8]) -> Option<Duration> {
    const WORD: usize = size_of::<libc::c_long>();
    let word = |at| {
        let word = bytes.get(at..)?.first_chunk::<WORD>()?;
        u64::try_from(libc::c_long::from_ne_bytes(*word)).ok()
    };
    Some(Duration::new(word(0)?, u32::try_from(word(WORD)?).ok()?))
}

fn note(notes: &mut Notes, level: c_int, kind: c_int, bytes: &[u8]) {
    match (level, kind) {
        // One byte from IPv4, an int from IPv6; IP_RECVTOS is the type some kernels write.
        (libc::IPPROTO_IP, libc::IP_TOS | libc::IP_RECVTOS)
        | (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
            notes.tos = match bytes.first_chunk() {
                Some(word) => c_int::from_ne_bytes(*word) as u8,
                None => bytes.first().copied().unwrap_or(0),
            };
        }
        (libc::SOL_UDP, libc::UDP_GRO) => {
            notes.stride = bytes.first_chunk().map(|word| c_int::from_ne_bytes(*word) as usize);
        }
        (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
            notes.drops = bytes.first_chunk().map(|word| u32::from_ne_bytes(*word));
        }
        (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
            notes.arrived = seconds(bytes);
        }
        (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
            // in_pktinfo: interface index, local address, header's destination; four bytes each.
            let destination = bytes.get(8..).and_then(|rest| rest.first_chunk::<4>());
            notes.local = destination.map(|ip| Ipv4Addr::from(*ip).into()).or(notes.local);
        }
        (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
            // in6_pktinfo begins with the header's destination.
            let destination = bytes.first_chunk::<16>();
            notes.local = destination
                .map(|ip| IpAddr::from(Ipv6Addr::from(*ip)).to_canonical())
                .or(notes.local);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(control: &mut SendControl) -> Notes {
        // SAFETY: all zero is a valid msghdr.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_controllen = control.used() as _;
        message.msg_control = control.as_mut_ptr();
        // SAFETY: the buffer holds the messages that `push` wrote.
        unsafe { read(&message) }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut v4 = SendControl::new();
        v4.push_tos(0xb9, true);
        v4.push(libc::SOL_UDP, libc::UDP_GRO, 1400 as c_int);
        v4.push(libc::SOL_SOCKET, libc::SO_RXQ_OVFL, u32::MAX);
        let expected =
            Notes { tos: 0xb9, stride: Some(1400), drops: Some(u32::MAX), ..Notes::default() };
        assert_eq!(read_back(&mut v4), expected);

        let mut v6 = SendControl::new();
        v6.push_tos(0x03, false);
        v6.push_source("2001:db8::5".parse().unwrap());
        let notes = read_back(&mut v6);
        assert_eq!((notes.tos, notes.local), (3, Some("2001:db8::5".parse().unwrap())));

        let mut stamped = SendControl::new();
        let time = libc::timespec { tv_sec: 5, tv_nsec: 70 };
        stamped.push(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, time);
        assert_eq!(read_back(&mut stamped).arrived, Some(Duration::new(5, 70)));
    }

    #[test]
    fn everything_a_send_can_ask_for_has_room() {
        for from in ["192.0.2.1", "2001:db8::1"] {
            let from: IpAddr = from.parse().unwrap();
            let mut control = SendControl::new();
            control.push_tos(1, from.is_ipv4());
            control.push_segment_size(1400);
            control.push_source(from);
            assert!(control.used() <= 96);
        }
    }

    #[test]
    fn short_notes_are_no_reason_to_read_further() {
        let mut notes = Notes::default();
        note(&mut notes, libc::IPPROTO_IP, libc::IP_TOS, &[0x2e]);
        note(&mut notes, libc::SOL_UDP, libc::UDP_GRO, &[1, 2]);
        note(&mut notes, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &[0; 15]);
        note(&mut notes, libc::IPPROTO_IP, libc::IP_PKTINFO, &[0; 11]);
        note(&mut notes, libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &[0; 9]);
        note(&mut notes, libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &[0xff; 16]);
        assert_eq!(notes, Notes { tos: 0x2e, ..Notes::default() });
    }
}
