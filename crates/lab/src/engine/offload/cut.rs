//! Cuts a frame that holds several packets into those of the wire, as the kernel would.

use super::{
    ETHERNET, TYPE_IPV4, TYPE_IPV6, ipv4, ipv6, long, set_word, sums, tcp, udp,
    virtio::{Meta, OpenChecksum, Protocol, Several},
    word,
};

/// Why a frame cannot be cut: what is told about it does not fit its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::engine) enum Misfit {
    /// It has no checksum that is left open, so the packets' checksums cannot be told from it.
    Sealed,
    /// Its packets would have no payload.
    Size,
    /// It is longer than an IP packet can be.
    Long,
    /// It is not the IP packet that it is said to be.
    Network,
    /// It has not the TCP or UDP header that it is said to have.
    Transport,
}

/// Gives out the packets of one frame, one by one.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Cutter<'a> {
    headers: &'a [u8],
    /// What no packet has yet; none after the last.
    payload: Option<&'a [u8]>,
    /// How many packets were given out.
    given: usize,
    version: Version,
    transport: usize,
    checksum: OpenChecksum,
    several: Several,
    /// The length that the open checksum counts.
    length: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    V4,
    V6,
}

impl<'a> Cutter<'a> {
    /// Prepares to cut a frame. `several` is that of `meta`.
    pub(in crate::engine) fn new(
        meta: Meta,
        several: Several,
        frame: &'a [u8],
    ) -> Result<Self, Misfit> {
        let checksum = meta.checksum.ok_or(Misfit::Sealed)?;
        if several.size == 0 {
            return Err(Misfit::Size);
        }
        let transport = usize::from(checksum.start);
        let version = version(frame, transport, several.protocol).ok_or(Misfit::Network)?;
        // CORRECTNESS: `version` has seen that the frame reaches beyond `transport`.
        let segment = &frame[transport..];
        let length = u16::try_from(segment.len()).map_err(|_| Misfit::Long)?;
        let (header, length) = match several.protocol {
            Protocol::Udp if segment.len() >= udp::HEADER && checksum.offset == udp::CHECKSUM => {
                (udp::HEADER, word(segment, udp::LENGTH))
            }
            Protocol::Tcp4 | Protocol::Tcp6
                if segment.len() >= tcp::HEADER && checksum.offset == tcp::CHECKSUM =>
            {
                (usize::from(segment[tcp::OFFSET] >> 4) * 4, length)
            }
            _ => return Err(Misfit::Transport),
        };
        let shortest = if several.protocol == Protocol::Udp { udp::HEADER } else { tcp::HEADER };
        if header < shortest || header > segment.len() {
            return Err(Misfit::Transport);
        }
        let (headers, payload) = frame.split_at(transport + header);
        let payload = Some(payload);
        Ok(Self { headers, payload, given: 0, version, transport, checksum, several, length })
    }

    /// Writes the next packet behind what `buffer` holds; false if there is none.
    pub(in crate::engine) fn write_next(&mut self, buffer: &mut Vec<u8>) -> bool {
        let Some(rest) = self.payload else { return false };
        let part = rest.len().min(usize::from(self.several.size));
        let (payload, rest) = rest.split_at(part);
        let last = rest.is_empty();
        self.payload = (!last).then_some(rest);
        let begin = buffer.len();
        buffer.extend_from_slice(self.headers);
        buffer.extend_from_slice(payload);
        self.patch(&mut buffer[begin..], last);
        self.given += 1;
        true
    }

    /// Turns the copy of the headers into those of the packet behind them.
    fn patch(&self, frame: &mut [u8], last: bool) {
        let (network, segment) = frame.split_at_mut(self.transport);
        let ip = &mut network[ETHERNET..];
        // It is no longer than the frame it is cut from, whose length fits.
        let length = segment.len() as u16;
        match self.version {
            Version::V4 => {
                let id = word(ip, ipv4::ID).wrapping_add(self.given as u16);
                set_word(ip, ipv4::ID, id);
                set_word(ip, ipv4::LENGTH, length.saturating_add(ip.len() as u16));
                sums::seal_ipv4(ip);
            }
            Version::V6 => {
                let behind = (ip.len() - ipv6::HEADER) as u16;
                set_word(ip, ipv6::LENGTH, length.saturating_add(behind));
            }
        }
        sums::set_length(segment, self.checksum.offset, self.length, length);
        if self.several.protocol == Protocol::Udp {
            set_word(segment, udp::LENGTH, length);
            return;
        }
        let before = self.given * usize::from(self.several.size);
        let sequence = long(segment, tcp::SEQUENCE).wrapping_add(before as u32);
        segment[tcp::SEQUENCE..tcp::SEQUENCE + 4].copy_from_slice(&sequence.to_be_bytes());
        if !last {
            segment[tcp::FLAGS] &= !(tcp::FIN | tcp::PSH);
        }
        if self.given > 0 {
            segment[tcp::FLAGS] &= !tcp::CWR;
        }
    }
}

/// Which IP lies between the Ethernet header and `transport`, if it is one that carries `protocol`.
fn version(frame: &[u8], transport: usize, protocol: Protocol) -> Option<Version> {
    let kind = frame.get(ETHERNET - 2..ETHERNET)?;
    let ip = frame.get(ETHERNET..transport)?;
    frame.get(transport)?;
    if kind == TYPE_IPV4 && ip.len() >= ipv4::HEADER {
        let carries = match protocol {
            Protocol::Tcp4 => libc::IPPROTO_TCP,
            Protocol::Udp => libc::IPPROTO_UDP,
            Protocol::Tcp6 => return None,
        };
        let fits =
            usize::from(ip[0] & 0x0f) * 4 == ip.len() && i32::from(ip[ipv4::PROTOCOL]) == carries;
        return fits.then_some(Version::V4);
    }
    let fits = kind == TYPE_IPV6 && ip.len() >= ipv6::HEADER && protocol != Protocol::Tcp4;
    fits.then_some(Version::V6)
}
