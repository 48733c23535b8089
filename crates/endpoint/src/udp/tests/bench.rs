//! How fast it is: `cargo test --release udp_throughput -- --ignored --nocapture`.

use std::{
    os::fd::AsRawFd,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Instant,
};

use super::*;

const RUN: Duration = Duration::from_millis(400);

/// How the receiver receives.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// `Socket::recv` with this many buffers.
    Many(usize),
    /// `recvmsg`, one message per call, for comparison.
    Plain,
}

#[derive(Debug, Clone, Copy)]
struct Case {
    gso: bool,
    gro: bool,
    datagram: usize,
    /// Segments per send; the most that fit if 0.
    batch: usize,
    way: Way,
    /// Whether the receiver sleeps in `wait` when there is nothing, or asks again at once.
    sleep: bool,
}

#[test]
#[ignore = "a measurement, not a check: takes a minute and wants an idle machine"]
fn udp_throughput() {
    let base =
        Case { gso: true, gro: true, datagram: 1400, batch: 0, way: Way::Many(4), sleep: true };
    println!("received Gbit/s, best of 3 (lost %), one thread sends, one receives, loopback IPv4");
    for datagram in [1400, 8900, 32_000] {
        let base = Case { datagram, ..base };
        println!("\n{datagram} B");
        for (gso, gro) in [(false, false), (true, false), (true, true)] {
            for sleep in [true, false] {
                report(Case { gso, gro, sleep, ..base });
            }
        }
        println!(" how it receives:");
        for way in
            [Way::Plain, Way::Many(1), Way::Many(4), Way::Many(8), Way::Many(16), Way::Many(64)]
        {
            report(Case { way, ..base });
        }
        println!(" how many it sends at once:");
        for batch in [1, 2, 4, 8, 16] {
            if batch * datagram < 65_000 {
                report(Case { batch, ..base });
            }
        }
    }
    println!("\none thread does both, in turn: ns per datagram, best of 8");
    let ways = [Way::Plain, Way::Many(1), Way::Many(2), Way::Many(4), Way::Many(8), Way::Many(16)];
    // The last is what acknowledgements look like: small, one by one.
    for (datagram, batch) in [(1400, 0), (8900, 0), (32_000, 0), (100, 1)] {
        for gro in [true, false] {
            let mut best = [f64::MAX; 6];
            // Rounds outside, so that a disturbance hits every way alike.
            for _ in 0..8 {
                for (best, way) in best.iter_mut().zip(ways) {
                    *best = best.min(in_turn(Case { datagram, batch, way, gro, ..base }));
                }
            }
            println!("{datagram:6} B gro {gro:5} {ways:?}: {best:5.0?}");
        }
    }
}

fn report(case: Case) {
    let (mut best, mut lost) = (0.0, 0.0);
    for _ in 0..3 {
        let (rate, loss) = measure(case);
        if rate > best {
            (best, lost) = (rate, loss);
        }
    }
    let Case { gso, gro, batch, way, sleep, .. } = case;
    println!(
        "  gso {gso:5} gro {gro:5} batch {batch:3} {way:?} sleep {sleep:5}: {best:6.1} ({:.1} %)",
        lost * 100.0
    );
}

fn pair(case: Case) -> (Socket, Socket) {
    let options = SocketOptions { gso: case.gso, gro: case.gro, ..SocketOptions::default() };
    let open = || Socket::bind("127.0.0.1:0".parse().unwrap(), &options).unwrap();
    (open(), open())
}

fn measure(case: Case) -> (f64, f64) {
    let (sender, receiver) = pair(case);
    let to = receiver.local_addr();
    let count = if case.batch == 0 { 65_507 / case.datagram } else { case.batch };
    let payload = pattern(count * case.datagram);
    let parts = [IoSlice::new(&payload)];
    let done = AtomicBool::new(false);
    let started = Instant::now();
    let (sent, received) = thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            let mut taker = Taker::new(case.way);
            let mut bytes = 0;
            while !done.load(Ordering::Relaxed) {
                match taker.take(&receiver) {
                    0 if case.sleep => {
                        let nap = Some(Duration::from_millis(5));
                        wait(&receiver, Interest::Read, None, nap).unwrap();
                    }
                    0 => std::hint::spin_loop(),
                    taken => bytes += taken,
                }
            }
            bytes
        });
        let mut sent = 0;
        while started.elapsed() < RUN {
            if sender.send(&batch(to, case.datagram, &parts)).is_ok() {
                sent += payload.len();
            }
        }
        done.store(true, Ordering::Relaxed);
        (sent, receiving.join().unwrap())
    });
    let seconds = started.elapsed().as_secs_f64();
    (received as f64 * 8e-9 / seconds, 1.0 - received as f64 / sent as f64)
}

/// Sends a megabyte, takes it, and so on.
fn in_turn(case: Case) -> f64 {
    let (sender, receiver) = pair(case);
    let count = if case.batch == 0 { 65_507 / case.datagram } else { case.batch };
    let payload = pattern(count * case.datagram);
    let parts = [IoSlice::new(&payload)];
    let mut taker = Taker::new(case.way);
    let (mut bytes, started) = (0, Instant::now());
    while started.elapsed() < RUN / 8 {
        for _ in 0..16 {
            sender.send(&batch(receiver.local_addr(), case.datagram, &parts)).unwrap();
        }
        loop {
            match taker.take(&receiver) {
                0 => break,
                taken => bytes += taken,
            }
        }
    }
    started.elapsed().as_nanos() as f64 / (bytes / case.datagram) as f64
}

struct Taker {
    way: Way,
    buffers: RecvBuffers,
    plain: Vec<u8>,
}

impl Taker {
    fn new(way: Way) -> Self {
        let count = if let Way::Many(count) = way { count } else { 1 };
        let buffers = RecvBuffers::new(count, RecvBuffers::WHOLE);
        Self { way, buffers, plain: vec![0; RecvBuffers::WHOLE] }
    }

    /// The bytes taken by one system call; 0 if there were none.
    fn take(&mut self, socket: &Socket) -> usize {
        match self.way {
            Way::Many(_) => match socket.recv(&mut self.buffers) {
                Ok(_) => self.buffers.iter_mut().map(|received| received.bytes.len()).sum(),
                Err(_) => 0,
            },
            Way::Plain => {
                let mut control = crate::udp::cmsg::RecvControl::new();
                let mut name = crate::udp::address::EMPTY;
                let mut slice = libc::iovec {
                    iov_base: self.plain.as_mut_ptr().cast(),
                    iov_len: self.plain.len(),
                };
                // SAFETY: all zero is a valid msghdr.
                let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
                message.msg_name = (&raw mut name).cast();
                message.msg_namelen = size_of_val(&name) as u32;
                message.msg_iov = &raw mut slice;
                message.msg_iovlen = 1;
                message.msg_control = control.as_mut_ptr();
                message.msg_controllen = crate::udp::cmsg::RecvControl::CAPACITY;
                // SAFETY: the header points at live buffers of the lengths given.
                let result = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
                if result < 0 {
                    return 0;
                }
                // SAFETY: the receive succeeded.
                let notes = unsafe { crate::udp::cmsg::read(&message) };
                std::hint::black_box((notes, crate::udp::address::decode(&name)));
                result as usize
            }
        }
    }
}
