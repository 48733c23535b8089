//! Kernel TCP as the baseline, tuned as a careful user would: no Nagle, one persistent connection,
//! buffers left to the kernel's autotuning, and congestion control cubic (bbr, a common default, paces
//! itself down on loopback and would flatter us).
#![allow(unsafe_code)] // Choosing the congestion control has no safe wrapper.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    os::fd::AsRawFd,
};

use anyhow::{Context, Result};

use crate::failure::Explain;

/// A TCP connection to a bench server.
pub(super) struct Sender {
    stream: TcpStream,
}

impl Sender {
    pub(super) fn connect(to: SocketAddr, control: &str) -> Result<Self> {
        let stream = TcpStream::connect(to).explain(
            format!("cannot connect to {to} by TCP"),
            "start `laxity bench serve` there; let TCP and UDP through at its port and the next",
        )?;
        stream.set_nodelay(true)?;
        set_control(&stream, control)
            .with_context(|| format!("the kernel does not offer TCP {control}"))?;
        Ok(Self { stream })
    }

    /// Sends `data` and waits until the receiver has said that it has all of it.
    pub(super) fn send(&mut self, data: &[u8]) -> io::Result<()> {
        self.stream.write_all(&(data.len() as u64).to_be_bytes())?;
        self.stream.write_all(data)?;
        self.stream.read_exact(&mut [0])
    }
}

fn set_control(stream: &TcpStream, control: &str) -> io::Result<()> {
    // SAFETY: a valid descriptor, and a pointer to `len` readable bytes.
    let result = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            control.as_ptr().cast(),
            control.len() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Accepts connections and confirms transfers until the listener fails.
pub(super) fn serve(listener: &TcpListener, max_bytes: usize) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else { return };
        std::thread::spawn(move || {
            // The client going away is how a run ends.
            let _ = receive(stream, max_bytes);
        });
    }
}

fn receive(mut stream: TcpStream, max_bytes: usize) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    loop {
        let mut length = [0; 8];
        stream.read_exact(&mut length)?;
        let length = u64::from_be_bytes(length) as usize;
        if length > max_bytes {
            return Err(io::Error::other("transfer larger than this server takes"));
        }
        if buffer.len() < length {
            buffer.resize(length, 0);
        }
        stream.read_exact(&mut buffer[..length])?;
        stream.write_all(&[1])?;
    }
}
