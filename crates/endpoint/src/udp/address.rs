//! Addresses to and from the kernel's form.
//!
//! A dual-stack socket sees IPv4 peers as `::ffff:a.b.c.d`. Above this module they are plain IPv4
//! everywhere, so that a peer has one address whichever socket it was met through.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// Room for an IPv4 or an IPv6 address; the larger of the two kernel structures.
pub(super) type Name = libc::sockaddr_in6;

/// An empty place for the kernel to write an address to.
pub(super) const EMPTY: Name = Name {
    sin6_family: 0,
    sin6_port: 0,
    sin6_flowinfo: 0,
    sin6_addr: libc::in6_addr { s6_addr: [0; 16] },
    sin6_scope_id: 0,
};

/// The address a socket of this family has to be given to reach `to`, if there is one.
pub(super) fn reachable(to: SocketAddr, socket_is_v6: bool) -> Option<SocketAddr> {
    match to {
        SocketAddr::V4(v4) if socket_is_v6 => {
            Some(SocketAddrV6::new(v4.ip().to_ipv6_mapped(), v4.port(), 0, 0).into())
        }
        SocketAddr::V6(v6) if !socket_is_v6 => {
            v6.ip().to_ipv4_mapped().map(|ip| SocketAddr::from((ip, v6.port())))
        }
        same => Some(same),
    }
}

/// What the kernel wrote, `None` if it is no IP address.
pub(super) fn decode(name: &Name) -> Option<SocketAddr> {
    match i32::from(name.sin6_family) {
        libc::AF_INET => {
            // SAFETY: the family says that these bytes are a `sockaddr_in`, which is smaller than a
            // `Name`, needs no more alignment, and for which any bytes are valid.
            let v4 = unsafe { &*(&raw const *name).cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddr::from((ip, u16::from_be(v4.sin_port))))
        }
        libc::AF_INET6 => {
            let port = u16::from_be(name.sin6_port);
            let ip = Ipv6Addr::from(name.sin6_addr.s6_addr);
            Some(match ip.to_ipv4_mapped() {
                Some(v4) => SocketAddr::from((v4, port)),
                None => SocketAddrV6::new(ip, port, 0, name.sin6_scope_id).into(),
            })
        }
        _ => None,
    }
}

/// Whether packets to this address travel as IPv4, mapped or not.
pub(super) fn is_v4(ip: IpAddr) -> bool {
    ip.to_canonical().is_ipv4()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_has_one_address_on_every_socket() {
        let v4: SocketAddr = "192.0.2.7:40".parse().unwrap();
        let mapped: SocketAddr = "[::ffff:192.0.2.7]:40".parse().unwrap();
        let v6: SocketAddr = "[2001:db8::1]:40".parse().unwrap();
        assert_eq!(reachable(v4, true), Some(mapped));
        assert_eq!(reachable(v4, false), Some(v4));
        assert_eq!(reachable(mapped, false), Some(v4));
        assert_eq!(reachable(v6, true), Some(v6));
        assert_eq!(reachable(v6, false), None);
        assert!(is_v4(mapped.ip()) && is_v4(v4.ip()) && !is_v4(v6.ip()));
    }

    #[test]
    fn an_empty_name_is_no_address() {
        assert_eq!(decode(&EMPTY), None);
    }
}
