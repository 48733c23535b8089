//! Frames that hold several packets, made up.

use proptest::prelude::*;

use crate::engine::offload::{
    ETHERNET, TYPE_IPV4, TYPE_IPV6,
    cut::Cutter,
    ipv4, ipv6, set_word, sums, tcp, udp,
    virtio::{Meta, OpenChecksum, Protocol, Several},
    word,
};

/// What a frame is made from.
#[derive(Clone, Debug)]
pub(super) struct Recipe {
    pub(super) protocol: Protocol,
    pub(super) v6: bool,
    pub(super) size: u16,
    pub(super) payload: Vec<u8>,
    pub(super) flags: u8,
    pub(super) options: Vec<[u8; 4]>,
    pub(super) sequence: u32,
    pub(super) id: u16,
    pub(super) fragment: u16,
    pub(super) tos: u8,
    pub(super) port: u8,
}

/// A frame and what is told about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Made {
    pub(super) meta: Meta,
    pub(super) bytes: Vec<u8>,
}

/// Frames of more than one packet, none of which is longer than 1,500 bytes.
pub(super) fn recipes() -> impl Strategy<Value = Recipe> {
    let kinds = prop_oneof![
        Just((Protocol::Tcp4, false)),
        Just((Protocol::Tcp6, true)),
        Just((Protocol::Udp, false)),
        Just((Protocol::Udp, true)),
    ];
    let options = prop::collection::vec(any::<[u8; 4]>(), 0..=10);
    // ACK, and any of FIN, PSH, ECE, CWR.
    let flags = any::<u8>().prop_map(|flags| 0x10 | flags & 0xc9);
    let numbers = (any::<u32>(), any::<u16>(), any::<bool>(), any::<u8>(), any::<u8>());
    (kinds, 1..=1400u16, 2..=40usize, any::<u16>(), flags, options, numbers).prop_map(
        |((protocol, v6), size, packets, short, flags, options, numbers)| {
            let (sequence, id, df, tos, port) = numbers;
            let tcp = protocol != Protocol::Udp;
            let options = if tcp { options } else { Vec::new() };
            let room = 1460 - options.len() as u16 * 4 - if v6 { 20 } else { 0 };
            let size = size.min(room);
            let length = packets * usize::from(size) - usize::from(short % size);
            let payload = (0..length).map(|at| (at * 31 + at / 251) as u8).collect();
            let fragment = if df { 0x4000 } else { 0 };
            Recipe {
                protocol,
                v6,
                size,
                payload,
                flags,
                options,
                sequence,
                id,
                fragment,
                tos,
                port,
            }
        },
    )
}

impl Recipe {
    fn is_tcp(&self) -> bool {
        self.protocol != Protocol::Udp
    }

    /// The frame.
    pub(super) fn make(&self) -> Made {
        let mut segment = self.transport_header();
        let header = segment.len();
        segment.extend_from_slice(&self.payload);
        let network = self.network_header(segment.len() as u16);
        let addresses = &network[if self.v6 { 8 } else { ipv4::ADDRESSES }..];
        let number = if self.is_tcp() { libc::IPPROTO_TCP } else { libc::IPPROTO_UDP } as u16;
        let pseudo = sums::add(sums::add(sums::sum(addresses), number), segment.len() as u16);
        let offset = if self.is_tcp() { tcp::CHECKSUM } else { udp::CHECKSUM };
        set_word(&mut segment, usize::from(offset), pseudo);
        let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        bytes.extend(if self.v6 { TYPE_IPV6 } else { TYPE_IPV4 });
        bytes.extend(&network);
        let start = bytes.len() as u16;
        bytes.extend(&segment);
        let slowed = self.is_tcp() && self.flags & tcp::CWR != 0;
        let several = Several { protocol: self.protocol, size: self.size, slowed };
        let checksum = Some(OpenChecksum { start, offset });
        let headers = start + header as u16;
        Made { meta: Meta { checksum, several: Some(several), headers }, bytes }
    }

    fn network_header(&self, length: u16) -> Vec<u8> {
        let protocol = if self.is_tcp() { 6 } else { 17 };
        if self.v6 {
            let mut header = vec![0; ipv6::HEADER];
            header[0] = 0x60 | self.tos >> 4;
            header[1] = self.tos << 4;
            set_word(&mut header, ipv6::LENGTH, length);
            header[6..8].copy_from_slice(&[protocol, 64]);
            header[8..10].copy_from_slice(&[0xfd, 1]);
            header[24..26].copy_from_slice(&[0xfd, 2]);
            return header;
        }
        let mut header = vec![0x45, self.tos, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0];
        header.extend([198, 18, 0, 1, 198, 18, 0, 2]);
        set_word(&mut header, ipv4::LENGTH, length + ipv4::HEADER as u16);
        set_word(&mut header, ipv4::ID, self.id);
        set_word(&mut header, ipv4::FRAGMENT, self.fragment);
        sums::seal_ipv4(&mut header);
        header
    }

    fn transport_header(&self) -> Vec<u8> {
        let ports = [0x20, self.port, 0x10, 0x11];
        let mut header = ports.to_vec();
        if !self.is_tcp() {
            header.extend((self.payload.len() as u16 + udp::HEADER as u16).to_be_bytes());
            header.extend([0, 0]);
            return header;
        }
        header.extend(self.sequence.to_be_bytes());
        header.extend([1, 2, 3, 4, (5 + self.options.len() as u8) << 4, self.flags]);
        header.extend([0x0f, 0xf0, 0, 0, 0, 0]);
        header.extend(self.options.concat());
        header
    }
}

/// All packets of a frame, each with what is told about it.
pub(super) fn cut(made: &Made) -> Vec<Made> {
    let several = made.meta.several.expect("made of several");
    let mut cutter = Cutter::new(made.meta, several, &made.bytes).expect("it is well made");
    let mut all = Vec::new();
    loop {
        let mut bytes = Vec::new();
        if !cutter.write_next(&mut bytes) {
            return all;
        }
        all.push(Made { meta: Meta::single(made.meta.checksum), bytes });
    }
}

/// The frame with its checksum finished.
pub(super) fn sealed(made: &Made) -> Vec<u8> {
    let mut bytes = made.bytes.clone();
    if let Some(open) = made.meta.checksum {
        let segment = &mut bytes[usize::from(open.start)..];
        let checksum = !sums::sum(segment);
        // 0 would mean that there is none.
        let checksum =
            if checksum == 0 && open.offset == udp::CHECKSUM { 0xffff } else { checksum };
        set_word(segment, usize::from(open.offset), checksum);
    }
    bytes
}

/// The IP header's identification, which means nothing where fragments are forbidden, as 0.
pub(super) fn without_id(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes[ETHERNET - 2..ETHERNET] == TYPE_IPV4 && word(&bytes, ETHERNET + ipv4::FRAGMENT) != 0 {
        set_word(&mut bytes, ETHERNET + ipv4::ID, 0);
        sums::seal_ipv4(&mut bytes[ETHERNET..ETHERNET + ipv4::HEADER]);
    }
    bytes
}
