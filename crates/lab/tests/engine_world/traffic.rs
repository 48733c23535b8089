//! UDP traffic with code points, marks and time stamps.

use std::{
    io, mem,
    net::UdpSocket,
    os::fd::AsRawFd,
    ptr,
    time::{Duration, Instant, SystemTime},
};

use laxity_interface::{Dscp, Ecn};

use super::{Namespace, address};

/// UDP payload of a packet of 1500 bytes, a frame of 1514, 1538 on the wire.
pub const PAYLOAD: usize = 1472;
/// What that is on the wire.
pub const WIRE_BITS: f64 = 1538.0 * 8.0;

/// A socket in a host that sends to another one.
pub struct Source(UdpSocket);

impl Source {
    pub fn new(from: &Namespace, to: u16, port: u16, dscp: u8, ecn: Ecn) -> Self {
        let socket = from.inside(|| UdpSocket::bind("0.0.0.0:0").expect("a socket"));
        socket.connect((address(to), port)).expect("an address");
        let tos = libc::c_int::from(Dscp::new(dscp).expect("6 bits").with_ecn(ecn));
        set(&socket, libc::IPPROTO_IP, libc::IP_TOS, tos);
        set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, 32 << 20);
        Self(socket)
    }

    /// Sends packets that carry the numbers from 0 on, all with one call: the kernel leaves it to the
    /// card to cut them.
    pub fn send_together(&self, packets: u32) {
        cut_into(&self.0, PAYLOAD);
        let mut payload = vec![0; PAYLOAD * packets as usize];
        for (number, packet) in payload.chunks_mut(PAYLOAD).enumerate() {
            packet[..4].copy_from_slice(&(number as u32).to_be_bytes());
        }
        self.0.send(&payload).expect("a local interface takes packets");
    }

    /// Lets packets have no checksum.
    pub fn without_checksums(self) -> Self {
        set(&self.0, libc::SOL_SOCKET, libc::SO_NO_CHECK, 1);
        self
    }

    /// Sends a packet that carries a number; when it had left.
    pub fn send(&self, number: u32) -> f64 {
        let mut payload = [0; PAYLOAD];
        payload[..4].copy_from_slice(&number.to_be_bytes());
        self.0.send(&payload).expect("a local interface takes packets");
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
        now.as_secs() as f64 % 1e5 + f64::from(now.subsec_nanos()) * 1e-9
    }
}

/// A packet that arrived.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    pub number: u32,
    /// When the kernel took it from the interface, in seconds.
    pub at: f64,
    pub ecn: Ecn,
}

/// A socket in a host that receives.
pub struct Sink(UdpSocket);

impl Sink {
    pub fn new(at: &Namespace, port: u16) -> Self {
        let socket = at.inside(|| UdpSocket::bind(("0.0.0.0", port)).expect("a socket"));
        set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 128 << 20);
        set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1);
        set(&socket, libc::IPPROTO_IP, libc::IP_RECVTOS, 1);
        Self(socket)
    }

    /// From here on the kernel hands packets of a flow over in one piece.
    pub fn takes_pieces(&self) {
        set(&self.0, libc::SOL_UDP, libc::UDP_GRO, 1);
    }

    /// The lengths of what arrives until nothing does for so long.
    pub fn take_lengths(&self, quiet: Duration) -> Vec<usize> {
        self.0.set_read_timeout(Some(quiet)).expect("a time above zero");
        let mut buffer = vec![0; 1 << 16];
        std::iter::from_fn(|| self.0.recv(&mut buffer).ok()).collect()
    }

    /// Everything that arrives until nothing does for so long.
    pub fn take(&self, quiet: Duration) -> Vec<Packet> {
        self.0.set_read_timeout(Some(quiet)).expect("a time above zero");
        std::iter::from_fn(|| self.receive()).collect()
    }

    fn receive(&self) -> Option<Packet> {
        let mut payload = [0u8; PAYLOAD];
        let mut control = [0u64; 16];
        let mut piece = libc::iovec { iov_base: payload.as_mut_ptr().cast(), iov_len: PAYLOAD };
        // SAFETY: all-zero bytes are a valid, empty message.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_iov = &raw mut piece;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        // SAFETY: the message points to places that live until the call is over.
        let length = unsafe { libc::recvmsg(self.0.as_raw_fd(), &mut message, 0) };
        if length < 4 {
            return None;
        }
        let number = u32::from_be_bytes([payload[0], payload[1], payload[2], payload[3]]);
        let mut packet = Packet { number, at: 0.0, ecn: Ecn::NotEct };
        // SAFETY: the kernel filled the message's control part; the macros walk inside it, and each
        // kind has the data that is read here.
        unsafe {
            let mut header = libc::CMSG_FIRSTHDR(&message);
            while let Some(part) = header.as_ref() {
                let data = libc::CMSG_DATA(header);
                match (part.cmsg_level, part.cmsg_type) {
                    (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                        let time: libc::timespec = ptr::read_unaligned(data.cast());
                        packet.at = time.tv_sec as f64 % 1e5 + time.tv_nsec as f64 * 1e-9;
                    }
                    (libc::IPPROTO_IP, libc::IP_TOS) => packet.ecn = Ecn::from_bits(*data),
                    _ => {}
                }
                header = libc::CMSG_NXTHDR(&message, header);
            }
        }
        Some(packet)
    }
}

/// Calls `send` at even distances, `packets` times; how long it took. Late calls follow at once, but
/// a stall of more than a millisecond is not caught up with. Never gives up the core: on a busy
/// machine it would not come back in time.
pub fn paced<R>(packets: u32, every: Duration, mut send: impl FnMut(u32) -> R) -> Duration {
    let start = Instant::now();
    let mut next = start;
    for number in 0..packets {
        while Instant::now() < next {
            std::hint::spin_loop();
        }
        send(number);
        next = (next + every).max(Instant::now() - Duration::from_millis(1));
    }
    start.elapsed()
}

/// A packet of the size of [`PAYLOAD`] every so often, to fill this part of a rate.
pub fn interval(mbps: f64, part: f64) -> Duration {
    Duration::from_secs_f64(WIRE_BITS / (mbps * 1e6 * part))
}

/// Leaves it to the card to cut what is sent into packets with this payload.
pub fn cut_into(socket: &UdpSocket, payload: usize) {
    set(socket, libc::SOL_UDP, libc::UDP_SEGMENT, payload as libc::c_int);
}

fn set(socket: &UdpSocket, level: libc::c_int, name: libc::c_int, value: libc::c_int) {
    let (place, length) = (&raw const value, size_of_val(&value) as libc::socklen_t);
    // SAFETY: `value` lives until the call is over.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, place.cast(), length) };
    assert_eq!(result, 0, "option {name}: {}", io::Error::last_os_error());
}

/// Bursts of eight packets that fill 60 % of a port, and between them single ones that fill 7/24 of
/// it, for so many bursts; how many single ones were sent. None if the machine was too busy to send
/// them in time.
pub fn bursts(high: &Source, low: &Source, slot: Duration, count: u32) -> Option<u32> {
    let start = Instant::now() + slot;
    let (burst_every, low_every) = (slot.mul_f64(8.0 / 0.6), slot.mul_f64(24.0 / 7.0));
    // Far from where a few microseconds decide who comes first; see docs/switch.md.
    let (mut burst, mut single) = (start, start + slot.mul_f64(0.19));
    let end = start + burst_every * count;
    let (mut sent, mut late) = (0, 0);
    while burst.min(single) < end {
        let next = burst.min(single);
        while Instant::now() < next {
            std::hint::spin_loop();
        }
        late += u32::from(next.elapsed() > slot * 2);
        if next == burst {
            for number in 0..8 {
                high.send(number);
            }
            burst += burst_every;
        } else {
            low.send(sent);
            sent += 1;
            single += low_every;
        }
    }
    (late * 50 <= sent).then_some(sent)
}
