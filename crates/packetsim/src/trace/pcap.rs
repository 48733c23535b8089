//! Packets as a capture file that Wireshark and tcpdump read.

use std::io::{self, Write};

use laxity_interface::Time;
use laxity_topology::LinkId;

use super::{Observer, TraceEvent};
use crate::packet::Packet;

/// Ethernet with checksum, IP and UDP.
const HEADERS: u32 = 18 + 20 + 8;
/// Bytes of a packet that are written: a simulated payload has no content, so the headers and the
/// stack's numbers are enough.
const CAPTURED: usize = 14 + 20 + 8 + 40;

/// Writes packets that leave queues into a capture file (pcap with nanoseconds).
///
/// Addresses are made up: host n is 10.0.0.0 + n, its port 10000 + the stack's number. The DSCP is
/// the class, ECN is real. Behind the UDP header come the stack's numbers: flow, kind, flags,
/// sequence, acknowledged, rank, stamp; or the real bytes where a stack writes some.
#[derive(Debug)]
pub struct Pcap<W> {
    out: W,
    link: Option<LinkId>,
    failed: Option<io::Error>,
}

impl<W: Write> Pcap<W> {
    /// Writes packets of one link, or of all links.
    pub fn new(mut out: W, link: Option<LinkId>) -> io::Result<Self> {
        let mut header = Vec::with_capacity(24);
        header.extend(0xa1b2_3c4d_u32.to_le_bytes());
        header.extend(2u16.to_le_bytes());
        header.extend(4u16.to_le_bytes());
        header.extend([0; 8]);
        header.extend(65_535u32.to_le_bytes());
        header.extend(1u32.to_le_bytes());
        out.write_all(&header)?;
        Ok(Self { out, link, failed: None })
    }

    /// The writer, or what went wrong first.
    pub fn finish(mut self) -> io::Result<W> {
        self.failed.take().map_or(Ok(()), Err)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn write(&mut self, time: Time, packet: &Packet) -> io::Result<()> {
        let frame = frame(packet);
        let ns = time.as_ps() / 1_000;
        // The checksum of Ethernet is not captured.
        let original = (packet.size.max(18) - 4).max(frame.len() as u32);
        for word in
            [ns / 1_000_000_000, ns % 1_000_000_000, frame.len() as u64, u64::from(original)]
        {
            self.out.write_all(&(word as u32).to_le_bytes())?;
        }
        self.out.write_all(&frame)
    }
}

impl<W: Write> Observer for Pcap<W> {
    fn on_event(&mut self, time: Time, event: &TraceEvent<'_>) {
        let TraceEvent::Sent { link, packet } = event else { return };
        if self.failed.is_some() || self.link.is_some_and(|own| own != *link) {
            return;
        }
        self.failed = self.write(time, packet).err();
    }
}

/// The first bytes of a packet as they would be on the wire.
fn frame(packet: &Packet) -> Vec<u8> {
    let mut frame = Vec::with_capacity(CAPTURED);
    for host in [packet.to, packet.from] {
        // Locally administered addresses.
        frame.extend([2, 0, 0, 0]);
        frame.extend(host.0.to_be_bytes());
    }
    frame.extend([0x08, 0x00]);
    let udp = packet.size.saturating_sub(HEADERS - 8).max(8) as u16;
    let mut ip = [0u8; 20];
    ip[0] = 0x45;
    ip[1] = packet.class << 2 | packet.ecn.to_bits();
    ip[2..4].copy_from_slice(&(udp + 20).to_be_bytes());
    ip[8] = 64;
    ip[9] = 17;
    for (at, host) in [(12, packet.from), (16, packet.to)] {
        ip[at] = 10;
        ip[at + 2..at + 4].copy_from_slice(&host.0.to_be_bytes());
    }
    let checksum = checksum(&ip);
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());
    frame.extend(ip);
    let port = (10_000 + u16::from(packet.stack)).to_be_bytes();
    frame.extend(port);
    frame.extend(port);
    frame.extend(udp.to_be_bytes());
    frame.extend([0, 0]);
    match &packet.body {
        Some(body) => frame.extend(body.iter()),
        None => {
            frame.extend(packet.flow.0.to_be_bytes());
            frame.extend([packet.kind, packet.flags.bits(), 0, 0]);
            for word in [packet.sequence, packet.acknowledged, packet.rank, packet.stamp.as_ps()] {
                frame.extend(word.to_be_bytes());
            }
        }
    }
    frame
}

/// RFC 1071.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
