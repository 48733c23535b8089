//! Network interfaces of a lab: pairs, addresses, neighbours.

use std::{
    io,
    net::Ipv4Addr,
    os::fd::{AsRawFd, BorrowedFd},
};

use super::netlink::{Message, Netlink};

/// How every host calls its only network card.
pub(crate) const CARD: &str = "eth0";

/// `VETH_INFO_PEER` of linux/veth.h.
const PEER: u16 = 1;
/// `NDA_DST` and `NDA_LLADDR` of linux/neighbour.h, `NUD_PERMANENT` of the same.
const NEIGHBOUR_ADDRESS: u16 = 1;
const NEIGHBOUR_MAC: u16 = 2;
const PERMANENT: u16 = 0x80;
/// `IFA_ADDRESS`, `IFA_LOCAL` of linux/if_addr.h.
const WHOSE_ADDRESS: u16 = 1;
const OWN_ADDRESS: u16 = 2;

/// A pair of interfaces like the two ends of a cable: one in the host, one in the lab's middle.
#[derive(Clone, Debug)]
pub(super) struct Cable<'a> {
    /// The host's address.
    pub(super) address: Ipv4Addr,
    /// How many bits of it all hosts share.
    pub(super) prefix: u8,
    /// The host's hardware address.
    pub(super) mac: [u8; 6],
    /// Largest packet, without the Ethernet header.
    pub(super) mtu: u32,
    /// The other end's name.
    pub(super) far_name: &'a str,
    /// The other end's hardware address.
    pub(super) far_mac: [u8; 6],
    /// Where the other end lies.
    pub(super) far_side: BorrowedFd<'a>,
    /// The other hosts: nobody needs to ask for a hardware address over a link that loses questions.
    pub(super) neighbours: &'a [(Ipv4Addr, [u8; 6])],
}

/// Lays a cable from the calling thread's namespace, and brings this end and loopback up.
pub(super) fn lay(cable: &Cable<'_>) -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    netlink.request(vec![pair(cable)])?;
    let card = index(CARD)?;
    let mut messages = vec![up(index("lo")?), address(card, cable), up(card)];
    for (address, mac) in cable.neighbours {
        if *address != cable.address {
            messages.push(neighbour(card, *address, *mac));
        }
    }
    netlink.request(messages)
}

/// Brings interfaces of the calling thread's namespace up.
pub(super) fn bring_up<'a>(names: impl Iterator<Item = &'a str>) -> io::Result<()> {
    let messages = names.map(|name| index(name).map(up)).collect::<io::Result<_>>()?;
    Netlink::open()?.request(messages)
}

fn pair(cable: &Cable<'_>) -> Message {
    let mtu = cable.mtu.to_ne_bytes();
    let far = |message: Message| {
        message
            .fixed(&link_header(0, 0))
            .with_text(libc::IFLA_IFNAME, cable.far_name)
            .with(libc::IFLA_ADDRESS, &cable.far_mac)
            .with(libc::IFLA_MTU, &mtu)
            .with(libc::IFLA_NET_NS_FD, &cable.far_side.as_raw_fd().to_ne_bytes())
    };
    Message::new(libc::RTM_NEWLINK, libc::NLM_F_CREATE | libc::NLM_F_EXCL)
        .fixed(&link_header(0, 0))
        .with_text(libc::IFLA_IFNAME, CARD)
        .with(libc::IFLA_ADDRESS, &cable.mac)
        .with(libc::IFLA_MTU, &mtu)
        .with_nested(libc::IFLA_LINKINFO, |message| {
            message
                .with_text(libc::IFLA_INFO_KIND, "veth")
                .with_nested(libc::IFLA_INFO_DATA, |message| message.with_nested(PEER, far))
        })
}

fn up(index: u32) -> Message {
    Message::new(libc::RTM_NEWLINK, 0).fixed(&link_header(index, libc::IFF_UP as u32))
}

fn address(index: u32, cable: &Cable<'_>) -> Message {
    let mut header = [libc::AF_INET as u8, cable.prefix, 0, 0, 0, 0, 0, 0];
    header[4..].copy_from_slice(&index.to_ne_bytes());
    let octets = cable.address.octets();
    Message::new(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL)
        .fixed(&header)
        .with(OWN_ADDRESS, &octets)
        .with(WHOSE_ADDRESS, &octets)
}

fn neighbour(index: u32, address: Ipv4Addr, mac: [u8; 6]) -> Message {
    let mut header = [0; 12];
    header[0] = libc::AF_INET as u8;
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..10].copy_from_slice(&PERMANENT.to_ne_bytes());
    Message::new(libc::RTM_NEWNEIGH, libc::NLM_F_CREATE | libc::NLM_F_REPLACE)
        .fixed(&header)
        .with(NEIGHBOUR_ADDRESS, &address.octets())
        .with(NEIGHBOUR_MAC, &mac)
}

/// `struct ifinfomsg`: which interface, and what to switch on.
fn link_header(index: u32, flags: u32) -> [u8; 16] {
    let mut header = [0; 16];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..16].copy_from_slice(&flags.to_ne_bytes());
    header
}

/// The kernel's number of an interface.
fn index(name: &str) -> io::Result<u32> {
    super::sys::interface_index(name)
}
