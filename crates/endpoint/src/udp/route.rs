//! What the machine knows about the way to a peer.

use std::{
    ffi::CStr,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    os::fd::{AsFd, AsRawFd},
};

use super::sockopt;

/// A network interface of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name, as in `eth0`.
    pub name: String,
    /// The largest IP packet it sends, in bytes.
    pub mtu: usize,
    /// Its number.
    pub index: u32,
}

/// The largest IP packet the kernel believes to fit the way to `to`.
///
/// It starts as the first interface's MTU and shrinks by what routers report. Sends trust the
/// interface only, so this is a hint for choosing a segment size, not a promise.
pub fn path_mtu(to: SocketAddr) -> io::Result<usize> {
    let socket = connected(to)?;
    let mtu = if to.ip().to_canonical().is_ipv4() {
        sockopt::get(socket.as_fd(), libc::IPPROTO_IP, libc::IP_MTU)?
    } else {
        sockopt::get(socket.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_MTU)?
    };
    usize::try_from(mtu).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// The address that packets to `to` leave from.
pub fn local_address_for(to: SocketAddr) -> io::Result<IpAddr> {
    connected(to)?.local_addr().map(|local| local.ip())
}

/// The largest UDP payload of an IP packet of `mtu` bytes without extension headers.
pub fn max_udp_payload(mtu: usize, is_v6: bool) -> usize {
    // The length field has 16 bits; IPv4 counts its own 20 bytes in it, IPv6 not its 40.
    let ip_payload =
        if is_v6 { mtu.saturating_sub(40).min(65_535) } else { mtu.min(65_535).saturating_sub(20) };
    ip_payload.saturating_sub(8)
}

/// The interface that has this address.
pub fn interface_of(ip: IpAddr) -> Option<Interface> {
    let name = interface_name(ip.to_canonical())?;
    // SAFETY: `name` ends with NUL; the kernel only reads it.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    let mtu = interface_mtu(&name)?;
    Some(Interface { name: name.to_string_lossy().into_owned(), mtu, index })
}

/// A UDP socket that has chosen its route; nothing is sent.
fn connected(to: SocketAddr) -> io::Result<UdpSocket> {
    let to = SocketAddr::new(to.ip().to_canonical(), to.port());
    let any: SocketAddr = match to {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(to)?;
    Ok(socket)
}

fn interface_name(ip: IpAddr) -> Option<std::ffi::CString> {
    let mut list = std::ptr::null_mut();
    // SAFETY: the call writes the head of a list to `list`; the result is checked.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return None;
    }
    let mut next = list;
    let mut found = None;
    while !next.is_null() && found.is_none() {
        // SAFETY: `next` is an entry of the list, which is freed only below.
        let entry = unsafe { &*next };
        // SAFETY: an entry's address is null or valid for its family.
        if unsafe { address_of(entry.ifa_addr) } == Some(ip) {
            // SAFETY: every entry has a name that ends with NUL.
            found = Some(unsafe { CStr::from_ptr(entry.ifa_name) }.to_owned());
        }
        next = entry.ifa_next;
    }
    // SAFETY: `list` came from getifaddrs, and nothing borrowed from it is left.
    unsafe { libc::freeifaddrs(list) };
    found
}

/// # Safety
/// `address` is null or points at a socket address as long as its family's structure.
unsafe fn address_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: not null, so by the caller's promise it begins with a family.
    match i32::from(unsafe { (*address).sa_family }) {
        libc::AF_INET => {
            // SAFETY: the family says so.
            let v4 = unsafe { address.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes()).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the family says so.
            let v6 = unsafe { address.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(Ipv6Addr::from(v6.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

fn interface_mtu(name: &CStr) -> Option<usize> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
        .or_else(|_| UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)))
        .ok()?;
    // SAFETY: all zero is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let bytes = name.to_bytes_with_nul();
    if bytes.len() > request.ifr_name.len() {
        return None;
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(bytes) {
        *place = *byte as libc::c_char;
    }
    // SAFETY: SIOCGIFMTU reads the name from `request` and writes the MTU to it.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU as _, &raw mut request) } != 0 {
        return None;
    }
    // SAFETY: the call succeeded and wrote this member.
    usize::try_from(unsafe { request.ifr_ifru.ifru_mtu }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_by_mtu() {
        assert_eq!(max_udp_payload(1500, false), 1472);
        assert_eq!(max_udp_payload(1500, true), 1452);
        assert_eq!(max_udp_payload(9000, true), 8952);
        assert_eq!(max_udp_payload(65_536, false), 65_507);
        assert_eq!(max_udp_payload(65_536, true), 65_488);
        assert_eq!(max_udp_payload(usize::MAX, true), 65_527);
        assert_eq!(max_udp_payload(20, false), 0);
    }

    #[test]
    fn loopback_is_known() {
        let ip = IpAddr::from(Ipv4Addr::LOCALHOST);
        let interface = interface_of(ip).expect("loopback has an interface");
        assert!(interface.index > 0 && interface.mtu >= 1500, "{interface:?}");
        // Loopback claims one byte more than an IPv4 packet can have.
        assert_eq!(path_mtu((ip, 9).into()).unwrap(), interface.mtu.min(65_535));
        assert_eq!(local_address_for((ip, 9).into()).unwrap(), ip);
        let mapped: SocketAddr = "[::ffff:127.0.0.1]:9".parse().unwrap();
        assert_eq!(path_mtu(mapped).unwrap(), interface.mtu.min(65_535));
        assert_eq!(interface_of(mapped.ip()), Some(interface));
        assert_eq!(interface_of("192.0.2.55".parse().unwrap()), None);
    }
}
