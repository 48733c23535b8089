//! Real packets over loopback, and a few in a network namespace of their own.

mod bench;
mod errors;
mod receiving;
mod sending;
mod steering;
mod waiting;

use std::{
    io::{self, IoSlice},
    net::SocketAddr,
    sync::atomic::{AtomicI32, Ordering},
    time::Duration,
};

use laxity_interface::{Dscp, Ecn};

use super::{Interest, RecvBuffers, Sent, Socket, SocketOptions, Transmission, send::Mode, wait};

/// Refusals that a kernel could give and this one does not: an error number, or 0 for none.
#[derive(Debug, Default)]
pub(super) struct Pretend {
    pub(super) gso: AtomicI32,
    pub(super) marking: AtomicI32,
}

impl Pretend {
    pub(super) fn refusal(&self, mode: Mode) -> Option<i32> {
        let gso = if mode.gso { self.gso.load(Ordering::Relaxed) } else { 0 };
        let marking = if mode.marking { self.marking.load(Ordering::Relaxed) } else { 0 };
        [gso, marking].into_iter().find(|errno| *errno != 0)
    }
}

/// The addresses that every test is run over, without those this machine lacks.
fn loopbacks() -> Vec<SocketAddr> {
    let wanted = ["127.0.0.1:0", "[::1]:0"].map(|text| text.parse::<SocketAddr>().unwrap());
    wanted
        .into_iter()
        .filter(|address| {
            let usable = std::net::UdpSocket::bind(address).is_ok();
            if !usable {
                skip(&format!("{address} cannot be bound"));
            }
            usable
        })
        .collect()
}

fn skip(reason: &str) {
    println!("skipped: {reason}");
}

fn open(address: SocketAddr) -> Socket {
    Socket::bind(address, &SocketOptions::default()).unwrap()
}

/// Bytes of which no two segments are alike.
fn pattern(length: usize) -> Vec<u8> {
    (0..length as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn batch<'a>(to: SocketAddr, segment_size: usize, parts: &'a [IoSlice<'a>]) -> Transmission<'a> {
    Transmission {
        to,
        from: None,
        ecn: Ecn::Ect0,
        dscp: Dscp::DEFAULT,
        segment_size,
        parts,
        total: parts.iter().map(|part| part.len()).sum(),
    }
}

/// One datagram as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Datagram {
    from: SocketAddr,
    to_local: Option<std::net::IpAddr>,
    ecn: Ecn,
    dscp: Dscp,
    bytes: Vec<u8>,
}

/// Everything that arrives until `count` datagrams are there, or nothing came for a while.
fn collect(socket: &Socket, count: usize) -> Vec<Datagram> {
    let mut buffers = RecvBuffers::default();
    let mut all = Vec::new();
    while all.len() < count {
        if wait(socket, Interest::Read, None, Some(Duration::from_millis(300)))
            .unwrap()
            .is_timeout()
        {
            break;
        }
        match socket.recv(&mut buffers) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => panic!("{error}"),
        }
        for received in buffers.iter_mut() {
            let (from, to_local) = (received.from, received.to_local);
            let (ecn, dscp) = (received.ecn, received.dscp);
            all.extend(received.datagrams().map(|bytes| Datagram {
                from,
                to_local,
                ecn,
                dscp,
                bytes: bytes.to_vec(),
            }));
        }
    }
    all
}

/// Sends `payload` in uneven slices and checks that the segments arrive as they should.
fn send_and_compare(
    sender: &Socket,
    receiver: &Socket,
    to: SocketAddr,
    segment_size: usize,
    payload: &[u8],
) -> Sent {
    let mut parts = Vec::new();
    let mut rest = payload;
    for length in [1, 700, 0, 33, 5000].into_iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (head, tail) = rest.split_at(length.min(rest.len()));
        parts.push(IoSlice::new(head));
        rest = tail;
    }
    let sent = sender.send(&batch(to, segment_size, &parts)).unwrap();
    let expected: Vec<_> = payload.chunks(segment_size).map(<[u8]>::to_vec).collect();
    assert_eq!(sent.segments, expected.len());
    let arrived = collect(receiver, expected.len());
    let bytes: Vec<_> = arrived.into_iter().map(|datagram| datagram.bytes).collect();
    assert_eq!(bytes.len(), expected.len());
    assert!(bytes == expected, "the bytes differ");
    sent
}
