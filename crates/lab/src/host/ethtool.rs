//! Offloads of a network card: off, so that what crosses the lab are the packets of a real wire.
#![allow(unsafe_code)] // One ioctl, whose arguments are built here.

use std::{io, net::UdpSocket, os::fd::AsRawFd};

/// What a card may do for the kernel, by its `ETHTOOL_S…` number in linux/ethtool.h: fill in
/// checksums, cut TCP and other segments, join received ones.
///
/// With checksums left to the "card" a packet that a program between two veths carries on arrives
/// without one, and TCP is dead; with segments left to it packets of 64 KB meet the switch.
const OFFLOADS: [u32; 4] = [0x17, 0x1f, 0x24, 0x2c];

#[repr(C)]
struct Value {
    command: u32,
    value: u32,
}

/// Switches them off on an interface of the calling thread's namespace.
pub(super) fn offloads_off(name: &str) -> io::Result<()> {
    // Any socket will do, and an unbound one sends nothing.
    let socket = UdpSocket::bind((std::net::Ipv4Addr::LOCALHOST, 0))
        .or_else(|_| UdpSocket::bind("0.0.0.0:0"))?;
    for command in OFFLOADS {
        let mut value = Value { command, value: 0 };
        // SAFETY: all zero is a valid request.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().take(15).zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        // SAFETY: SIOCETHTOOL reads an ifreq that points to an ethtool_value, as these commands want.
        let answer =
            unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
        if answer == -1 {
            let error = io::Error::last_os_error();
            // A kernel that does not have the offload needs not be told to leave it.
            if error.raw_os_error() != Some(libc::EOPNOTSUPP) {
                return Err(error);
            }
        }
    }
    Ok(())
}
