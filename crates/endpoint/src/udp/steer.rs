//! Several sockets on one port, and a program in the kernel that chooses among them.

use std::{io, net::SocketAddr, os::fd::AsFd};

use super::{error::BindError, options::SocketOptions, socket::Socket, sockopt};

/// The byte of a packet that chooses: the first of the destination connection id.
const CHOOSING_BYTE: u32 = 1;

/// Opens `count` sockets on one address and steers packets among them.
///
/// A packet goes to the socket whose index is its byte 1 modulo `count`, so the owner of socket `i`
/// gives out connection ids whose first byte is `i` modulo `count`. A packet without a byte 1 goes
/// to socket 0. Steering is best effort: where the kernel refuses the program it spreads by peer,
/// and when it coalesces packets of several connections from the same peer, the first one chooses
/// for all. So a receiver must be able to hand over what is not its own. The returned flag says
/// whether the program was accepted.
///
/// The index is the order of opening; when a socket closes, the last takes its place. Close all or
/// none.
pub fn bind_group(
    address: SocketAddr,
    options: &SocketOptions,
    count: usize,
) -> Result<(Vec<Socket>, bool), BindError> {
    if !(1..=256).contains(&count) {
        return Err(BindError::Group { address, count });
    }
    let options = SocketOptions { reuse_port: true, ..options.clone() };
    let first = Socket::bind(address, &options)?;
    // With port 0 the kernel chose one; the others follow.
    let address = first.local_addr();
    let mut sockets = vec![first];
    for _ in 1..count {
        sockets.push(Socket::bind(address, &options)?);
    }
    let steered = sockets[0].attach_steering(count as u32).is_ok();
    Ok((sockets, steered))
}

impl Socket {
    /// Steers packets for this socket's port among the `count` sockets that share it by
    /// [`reuse_port`](SocketOptions::reuse_port); see [`bind_group`].
    pub fn attach_steering(&self, count: u32) -> io::Result<()> {
        if count == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let step = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
        // The kernel hands the program the payload: offset 0 is the byte after the UDP header.
        let program = [
            step(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, CHOOSING_BYTE),
            step(libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K, count),
            step(libc::BPF_RET | libc::BPF_A, 0),
        ];
        let program = libc::sock_fprog {
            len: program.len() as u16,
            // The kernel copies the program and does not write to it.
            filter: program.as_ptr().cast_mut(),
        };
        sockopt::set_value(self.as_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_REUSEPORT_CBPF, &program)
    }
}
