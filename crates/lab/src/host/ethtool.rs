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

/// Joins received segments, as every card of a real host has it done.
const JOIN: u32 = 0x2c;

/// Switches them off on an interface of the calling thread's namespace.
pub(super) fn offloads_off(name: &str) -> io::Result<()> {
    set(name, &OFFLOADS, 0)
}

/// Lets the kernel join packets that an interface of the calling thread's namespace receives.
pub(super) fn join_received(name: &str) -> io::Result<()> {
    set(name, &[JOIN], 1)
}

fn set(name: &str, commands: &[u32], value: u32) -> io::Result<()> {
    // Any socket will do, and an unbound one sends nothing.
    let socket = UdpSocket::bind((std::net::Ipv4Addr::LOCALHOST, 0))
        .or_else(|_| UdpSocket::bind("0.0.0.0:0"))?;
    for &command in commands {
        let mut value = Value { command, value };
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
