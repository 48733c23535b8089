//! What network cards do for hosts: on where the switch can do it for them, off otherwise.
#![allow(unsafe_code)] // One ioctl, whose arguments are built here.

use std::{io, net::UdpSocket, os::fd::AsRawFd};

/// What a card may do for the kernel, by its `ETHTOOL_S…` number in linux/ethtool.h: fill in
/// checksums, cut TCP and other segments, join received ones.
const CHECKSUMS: u32 = 0x17;
const CUT_TCP: u32 = 0x1f;
const CUT: u32 = 0x24;
const JOIN: u32 = 0x2c;

/// `ETHTOOL_GSTRINGS`, `ETHTOOL_GSSET_INFO`, `ETHTOOL_SFEATURES`, and `ETH_SS_FEATURES` of the same.
const GET_NAMES: u32 = 0x1b;
const COUNT_NAMES: u32 = 0x37;
const SET_FEATURES: u32 = 0x3b;
const FEATURES: u32 = 4;
/// Bytes of a feature's name.
const NAME: usize = 32;

/// What the switch can cut; accurate ECN and fixed identifications are not told to it.
const CUTS: [&str; 5] = [
    "tx-generic-segmentation",
    "tx-tcp-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-tcp6-segmentation",
    "tx-udp-segmentation",
];

/// Who does a card's work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Offload {
    /// The switch: hosts send up to 64 KB in one piece.
    Switch,
    /// The hosts' kernels, for every packet.
    Hosts,
}

impl Offload {
    /// Prepares an interface of the calling thread's namespace.
    pub(crate) fn apply(self, name: &str) -> io::Result<()> {
        let card = Card::new(name)?;
        match self {
            // What is joined here would be joined again. The rest is on unless it is switched off.
            Self::Switch => {
                card.switch_off(JOIN)?;
                card.set(false, |feature| {
                    let cuts = feature.ends_with("segmentation") || feature.starts_with("tx-gso");
                    (cuts && !CUTS.contains(&feature)) || feature == "tx-checksum-sctp"
                })
            }
            Self::Hosts => [CHECKSUMS, CUT_TCP, CUT, JOIN]
                .into_iter()
                .try_for_each(|what| card.switch_off(what)),
        }
    }
}

/// Has the card of the calling thread's namespace hand packets to a queue of its own from which they are
/// polled (NAPI), or to the kernel's common one. A veth has such a queue while it may join packets.
pub(super) fn poll(name: &str, on: bool) -> io::Result<()> {
    Card::new(name)?.set(on, |feature| POLLED.contains(&feature))
}

/// The second makes packets go there that come from a packet socket, as the switch's do.
const POLLED: [&str; 2] = ["rx-gro", "rx-udp-gro-forwarding"];

/// An interface, and a socket through which to ask for it.
struct Card<'a> {
    socket: UdpSocket,
    name: &'a str,
}

impl<'a> Card<'a> {
    fn new(name: &'a str) -> io::Result<Self> {
        // Any socket will do, and an unbound one sends nothing.
        let socket = UdpSocket::bind((std::net::Ipv4Addr::LOCALHOST, 0))
            .or_else(|_| UdpSocket::bind("0.0.0.0:0"))?;
        Ok(Self { socket, name })
    }

    fn switch_off(&self, what: u32) -> io::Result<()> {
        match self.ask(&mut [what, 0]) {
            // A kernel that does not have the offload needs not be told to leave it.
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(()),
            outcome => outcome,
        }
    }

    /// Switches all features of these names on or off.
    fn set(&self, on: bool, which: impl Fn(&str) -> bool) -> io::Result<()> {
        // A command, a reserved word, a mask of 64 bits, an answer.
        let mut count = [COUNT_NAMES, 0, 0, 0, 0];
        let mask = (1u64 << FEATURES).to_ne_bytes();
        let (low, high) = mask.split_at(4);
        for (word, bytes) in count[2..4].iter_mut().zip([low, high]) {
            *word = u32::from_ne_bytes(bytes.try_into().expect("4 bytes"));
        }
        self.ask(&mut count)?;
        let features = count[4] as usize;
        let mut names = vec![0; 3 + features * NAME / 4];
        names[..3].copy_from_slice(&[GET_NAMES, FEATURES, features as u32]);
        self.ask(&mut names)?;
        let blocks = features.div_ceil(32);
        let mut request = vec![0; 2 + 2 * blocks];
        request[..2].copy_from_slice(&[SET_FEATURES, blocks as u32]);
        for (at, name) in names[3..].chunks_exact(NAME / 4).enumerate() {
            let bytes: Vec<u8> = name.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            if std::str::from_utf8(name).is_ok_and(&which) {
                // Each block is a mask of what is meant and a mask of what is wanted.
                request[2 + 2 * (at / 32)] |= 1 << (at % 32);
                request[3 + 2 * (at / 32)] |= u32::from(on) << (at % 32);
            }
        }
        self.ask(&mut request)
    }

    /// Has the kernel read and write a request, which begins with its command.
    fn ask(&self, words: &mut [u32]) -> io::Result<()> {
        // SAFETY: all zero is a valid request.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().take(15).zip(self.name.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
        let socket = self.socket.as_raw_fd();
        // SAFETY: SIOCETHTOOL reads an ifreq that points to the words of a command, and writes no more
        // words than the command says there are.
        match unsafe { libc::ioctl(socket, libc::SIOCETHTOOL as _, &raw mut request) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}
