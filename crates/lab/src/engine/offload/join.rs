//! Joins packets of one flow that reach a host together, by the rules of the kernel's own GRO.
//!
//! Joined are TCP and UDP packets over IPv4 whose headers say the same, marks included, and whose
//! checksums are left open: others would have to be verified first. Nothing overtakes within a flow.
//! The identification of a packet that may not be fragmented has no meaning (RFC 6864, section 4.1)
//! and need not fit.

use super::{
    ETHERNET, TYPE_IPV4, ipv4, long, set_word, sums, tcp, udp,
    virtio::{Meta, OpenChecksum, Protocol, Several},
    word,
};

/// The most packets that the kernel joins for a UDP socket.
const MOST: usize = 64;
/// The longest frame that a card takes in one piece, its Ethernet header included.
const LONGEST: usize = 65_535;
/// Headers of Ethernet, IPv4 without options, and TCP with all of them.
const HEADERS: usize = ETHERNET + ipv4::HEADER + 60;
const TRANSPORT: usize = ETHERNET + ipv4::HEADER;
/// "May not be fragmented".
const DF: u8 = 0x40;

/// Frames that go to a host in one piece.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Run {
    /// Which frames, by the numbers with which they were added.
    members: Vec<usize>,
    /// What is told about the first.
    checksum: Option<OpenChecksum>,
    /// Its headers, which become those of all.
    headers: [u8; HEADERS],
    /// How long they are; 0 for a frame that can only go alone.
    length: usize,
    /// The payload of each but the last.
    size: usize,
    /// All bytes of the piece.
    total: usize,
    /// Whether more can be added.
    open: bool,
}

impl Run {
    /// The frames, in order.
    pub(in crate::engine) fn members(&self) -> &[usize] {
        &self.members
    }

    /// What is told about the piece, its headers, and from where on its frames' bytes follow them.
    pub(in crate::engine) fn finish(&mut self) -> (Meta, &[u8], usize) {
        if self.members.len() < 2 {
            return (Meta::single(self.checksum), &[], 0);
        }
        let (network, segment) = self.headers[..self.length].split_at_mut(TRANSPORT);
        let ip = &mut network[ETHERNET..];
        // `fits` has kept the piece below the longest packet.
        let length = (self.total - TRANSPORT) as u16;
        set_word(ip, ipv4::LENGTH, length + ipv4::HEADER as u16);
        sums::seal_ipv4(ip);
        let pseudo = sums::pseudo_ipv4(ip, length);
        let (protocol, offset) = match i32::from(ip[ipv4::PROTOCOL]) {
            libc::IPPROTO_UDP => {
                set_word(segment, udp::LENGTH, length);
                (Protocol::Udp, udp::CHECKSUM)
            }
            _ => (Protocol::Tcp4, tcp::CHECKSUM),
        };
        set_word(segment, usize::from(offset), pseudo);
        let slowed = protocol == Protocol::Tcp4 && segment[tcp::FLAGS] & tcp::CWR != 0;
        let several = Several { protocol, size: self.size as u16, slowed };
        let checksum = OpenChecksum { start: TRANSPORT as u16, offset };
        let headers = self.length as u16;
        let meta = Meta { checksum: Some(checksum), several: Some(several), headers };
        (meta, &self.headers[..self.length], self.length)
    }

    fn same_flow(&self, frame: &[u8]) -> bool {
        let same = |from: usize, to: usize| self.headers[from..to] == frame[from..to];
        const IP: usize = ETHERNET;
        same(IP + ipv4::PROTOCOL, IP + ipv4::PROTOCOL + 1)
            && same(IP + ipv4::ADDRESSES, TRANSPORT + 4)
    }

    /// Whether a packet of this flow whose headers have this length can follow.
    fn fits(&self, frame: &[u8], length: usize) -> bool {
        const IP: usize = ETHERNET;
        let same = |from: usize, to: usize| self.headers[from..to] == frame[from..to];
        let payload = frame.len() - length;
        let id = word(&self.headers, IP + ipv4::ID).wrapping_add(self.members.len() as u16);
        let common = self.open
            && length == self.length
            && (1..=self.size).contains(&payload)
            && self.members.len() < MOST
            && self.total + payload <= LONGEST
            && same(0, IP + ipv4::LENGTH)
            && same(IP + ipv4::FRAGMENT, IP + ipv4::CHECKSUM)
            && (frame[IP + ipv4::FRAGMENT] & DF != 0 || word(frame, IP + ipv4::ID) == id);
        if !common || i32::from(frame[IP + ipv4::PROTOCOL]) == libc::IPPROTO_UDP {
            return common;
        }
        const TCP: usize = TRANSPORT;
        let expected = long(&self.headers, TCP + tcp::SEQUENCE)
            .wrapping_add((self.total - self.length) as u32);
        // The first may have been the first of several that were cut: only it says that its sender has
        // slowed down, and only the last ends something.
        let flags = self.headers[TCP + tcp::FLAGS] & !(tcp::CWR | tcp::FIN | tcp::PSH);
        long(frame, TCP + tcp::SEQUENCE) == expected
            && frame[TCP + tcp::FLAGS] & !(tcp::FIN | tcp::PSH) == flags
            && same(TCP + tcp::ACKNOWLEDGED, TCP + tcp::FLAGS)
            && same(TCP + tcp::WINDOW, TCP + usize::from(tcp::CHECKSUM))
            && same(TCP + tcp::URGENT, length)
    }

    fn append(&mut self, number: usize, frame: &[u8]) {
        let payload = frame.len() - self.length;
        self.members.push(number);
        self.total += payload;
        self.open = payload == self.size;
        if is_tcp(frame) {
            let ends = frame[TRANSPORT + tcp::FLAGS] & (tcp::FIN | tcp::PSH);
            self.headers[TRANSPORT + tcp::FLAGS] |= ends;
            self.open &= ends == 0;
        }
    }
}

/// Puts together frames for one host. Its memory is used again after [`clear`](Self::clear).
#[derive(Debug, Default)]
pub(in crate::engine) struct Joiner {
    runs: Vec<Run>,
    used: usize,
}

impl Joiner {
    /// Forgets everything.
    pub(in crate::engine) fn clear(&mut self) {
        self.used = 0;
    }

    /// Adds a frame with a number of the caller's, behind all others.
    pub(in crate::engine) fn add(
        &mut self,
        number: usize,
        frame: &[u8],
        checksum: Option<OpenChecksum>,
    ) {
        let length = headers(frame, checksum);
        if let Some(length) = length {
            let runs = self.runs[..self.used].iter_mut().rev();
            // The latest of the flow: an earlier one is closed.
            let mut runs = runs.filter(|run| run.length > 0 && run.same_flow(frame));
            match runs.next() {
                Some(run) if run.fits(frame, length) => return run.append(number, frame),
                Some(run) => run.open = false,
                None => {}
            }
        }
        self.begin(number, frame, checksum, length);
    }

    /// Adds a frame that goes alone.
    pub(in crate::engine) fn add_alone(
        &mut self,
        number: usize,
        frame: &[u8],
        checksum: Option<OpenChecksum>,
    ) {
        self.begin(number, frame, checksum, None);
    }

    /// What to send, in order.
    pub(in crate::engine) fn runs(&mut self) -> &mut [Run] {
        &mut self.runs[..self.used]
    }

    fn begin(
        &mut self,
        number: usize,
        frame: &[u8],
        checksum: Option<OpenChecksum>,
        length: Option<usize>,
    ) {
        if self.used == self.runs.len() {
            self.runs.push(Run {
                members: Vec::new(),
                checksum: None,
                headers: [0; HEADERS],
                length: 0,
                size: 0,
                total: 0,
                open: false,
            });
        }
        let run = &mut self.runs[self.used];
        self.used += 1;
        run.members.clear();
        run.members.push(number);
        run.checksum = checksum;
        run.total = frame.len();
        run.length = length.unwrap_or(0);
        run.headers[..run.length].copy_from_slice(&frame[..run.length]);
        run.size = frame.len() - run.length;
        const ALONE: u8 = tcp::FIN | tcp::SYN | tcp::RST | tcp::PSH | tcp::URG;
        run.open = length.is_some()
            && run.size > 0
            && !(is_tcp(frame) && frame[TRANSPORT + tcp::FLAGS] & ALONE != 0);
    }
}

/// How long all headers are, if the frame belongs to a flow whose packets can be joined at all.
fn headers(frame: &[u8], checksum: Option<OpenChecksum>) -> Option<usize> {
    let OpenChecksum { start, offset } = checksum?;
    let ip = frame.get(ETHERNET..TRANSPORT)?;
    let segment = &frame[TRANSPORT..];
    let plain = frame[ETHERNET - 2..ETHERNET] == TYPE_IPV4
        && ip[0] == 0x45
        && usize::from(word(ip, ipv4::LENGTH)) == frame.len() - ETHERNET
        && word(ip, ipv4::FRAGMENT) & 0x3fff == 0
        && usize::from(start) == TRANSPORT;
    let length = match i32::from(ip[ipv4::PROTOCOL]) {
        libc::IPPROTO_UDP if offset == udp::CHECKSUM && segment.len() > udp::HEADER => {
            (usize::from(word(segment, udp::LENGTH)) == segment.len()).then_some(udp::HEADER)?
        }
        libc::IPPROTO_TCP if offset == tcp::CHECKSUM && segment.len() >= tcp::HEADER => {
            usize::from(segment[tcp::OFFSET] >> 4) * 4
        }
        _ => return None,
    };
    let fits = length >= udp::HEADER && length <= segment.len();
    let fits = fits && (!is_tcp(frame) || length >= tcp::HEADER);
    (plain && fits).then_some(TRANSPORT + length)
}

/// Whether an IPv4 packet carries TCP.
fn is_tcp(frame: &[u8]) -> bool {
    let protocol = frame.get(ETHERNET + ipv4::PROTOCOL);
    protocol.is_some_and(|protocol| i32::from(*protocol) == libc::IPPROTO_TCP)
}
