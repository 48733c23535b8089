//! Kernel TCP, as a careful user sets it up: no Nagle, buffers left to the kernel's autotuning, large reads
//! and writes, one thread per flow.
#![allow(unsafe_code)] // Socket options without a safe wrapper.

use std::{
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    os::fd::AsRawFd,
    sync::{Arc, atomic::Ordering, mpsc},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use super::{
    Cue, Ended, Shared,
    clock::{now_ns, sleep_until},
    message::{Arrival, Event, Load, Receive, Send, Totals, Transport, Window},
};

/// One system call moves up to this much.
const PORTION: usize = 256 << 10;
/// How often a listener looks whether it was told to stop.
const LOOK: Duration = Duration::from_millis(2);

fn control(transport: &Transport) -> Result<&str> {
    match transport {
        Transport::Tcp { control } => Ok(control),
        Transport::Laxity(_) => bail!("not a TCP transport"),
    }
}

/// Accepts its senders, receives, and tells when each had everything.
pub(super) fn receive(
    shared: &Arc<Shared>,
    receive: &Receive,
    cues: &mpsc::Receiver<Cue>,
) -> Ended {
    let control = control(&receive.transport)?;
    let listener = TcpListener::bind((receive.bind, 0))
        .with_context(|| format!("cannot listen on {}", receive.bind))?;
    // Accepted sockets inherit it. DCTCP needs it: its receiver answers marks in its own way.
    set_control(&listener, control)?;
    listener.set_nonblocking(true)?;
    shared.tell(&Event::Listening { address: listener.local_addr()? });
    let Some(streams) = accept(&listener, receive, cues)? else { return Ok(Totals::default()) };
    shared.tell(&Event::Ready);
    let Ok(Cue::Start(window)) = cues.recv() else { return Ok(Totals::default()) };
    let flows: Vec<_> = streams
        .into_iter()
        .map(|stream| {
            let (shared, receive) = (shared.clone(), receive.clone());
            std::thread::spawn(move || read(&shared, stream, &receive, window))
        })
        .collect();
    let mut arrivals = Vec::new();
    let mut open = Vec::new();
    for flow in flows {
        let (stream, arrival) = flow.join().map_err(|_| anyhow::anyhow!("a reader panicked"))??;
        arrivals.push(arrival);
        open.push(stream);
    }
    shared.tell(&Event::Received { tag: receive.tag, arrivals });
    // Sockets stay open to the end: closing is no part of what is measured.
    let _ = cues.recv();
    Ok(Totals::default())
}

/// Waits for all senders; `None` when told to stop meanwhile.
fn accept(
    listener: &TcpListener,
    receive: &Receive,
    cues: &mpsc::Receiver<Cue>,
) -> Result<Option<Vec<TcpStream>>> {
    let until = Instant::now() + Duration::from_millis(receive.limit_ms);
    let mut streams = Vec::new();
    while streams.len() < receive.senders {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(Duration::from_millis(receive.limit_ms)))?;
                streams.push(stream);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if !matches!(cues.recv_timeout(LOOK), Err(mpsc::RecvTimeoutError::Timeout)) {
                    return Ok(None);
                }
                let (came, all) = (streams.len(), receive.senders);
                ensure!(Instant::now() < until, "only {came} of {all} senders have connected");
            }
            Err(error) => return Err(error).context("cannot accept a connection"),
        }
    }
    Ok(Some(streams))
}

fn read(
    shared: &Shared,
    mut stream: TcpStream,
    receive: &Receive,
    window: Window,
) -> Result<(TcpStream, Arrival)> {
    let mut buffer = shared.buffer(PORTION);
    let mut total = 0_u64;
    // Streams: what had come when the window began and when it ended.
    let (mut before, mut inside) = (None, 0);
    let at_ns = loop {
        let count = match stream.read(&mut buffer[..PORTION]) {
            Ok(0) if receive.load == Load::Stream => break now_ns(),
            Ok(0) => bail!("the sender closed after {total} of {} bytes", receive.bytes),
            Ok(count) => count as u64,
            Err(error) => {
                let so_far = format!("nothing came any more after {total} bytes");
                return Err(error).context(so_far);
            }
        };
        let now = now_ns();
        if receive.load == Load::Stream {
            // The reader keeps reading to the end, so that the window sees a steady state.
            if before.is_none() && now >= window.from_ns {
                before = Some(total);
            }
            if now <= window.until_ns {
                inside = total + count;
            }
        }
        total += count;
        shared.tcp_bytes.fetch_add(count, Ordering::Relaxed);
        if receive.load == Load::Once && total >= receive.bytes {
            break now;
        }
    };
    shared.complete.fetch_add(1, Ordering::Relaxed);
    shared.give_back(buffer);
    let arrival = match receive.load {
        Load::Once => Arrival { at_ns, bytes: total, delivered: 1.0 },
        Load::Stream => {
            let bytes = inside.saturating_sub(before.unwrap_or(inside));
            Arrival { at_ns: window.until_ns, bytes, delivered: 1.0 }
        }
    };
    Ok((stream, arrival))
}

/// Connects, waits for the start, sends.
pub(super) fn send(shared: &Shared, send: &Send, cues: &mpsc::Receiver<Cue>) -> Ended {
    let limit = Duration::from_millis(send.limit_ms);
    let control = control(&send.transport)?;
    let mut stream = connect(send, control)?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(limit))?;
    let data = shared.buffer(PORTION);
    shared.tell(&Event::Ready);
    let Ok(Cue::Start(window)) = cues.recv() else { return Ok(Totals::default()) };
    sleep_until(window.start_ns);
    let mut left = send.bytes;
    while match send.load {
        Load::Once => left > 0,
        Load::Stream => now_ns() < window.until_ns,
    } {
        let portion =
            if send.load == Load::Once { left.min(PORTION as u64) } else { PORTION as u64 };
        let done = stream.write(&data[..portion as usize]).with_context(|| {
            format!("TCP {control} to {} took nothing any more, {left} bytes to go", send.to)
        })?;
        left = left.saturating_sub(done as u64);
    }
    if send.load == Load::Stream {
        // The receiver's reading ends with this.
        let _ = stream.shutdown(std::net::Shutdown::Write);
    }
    shared.give_back(data);
    let _ = cues.recv();
    let info = info(&stream)?;
    Ok(Totals { repeated: u64::from(info.tcpi_total_retrans), ..Totals::default() })
}

/// Connects with the congestion control already chosen: it decides whether the handshake asks for ECN.
fn connect(send: &Send, control: &str) -> Result<TcpStream> {
    use socket2::{Domain, Protocol, Socket, Type};
    let socket = Socket::new(Domain::for_address(send.to), Type::STREAM, Some(Protocol::TCP))?;
    set_control(&socket, control)?;
    let limit = Duration::from_millis(send.limit_ms);
    socket
        .connect_timeout(&send.to.into(), limit)
        .with_context(|| format!("cannot connect to {} by TCP {control}", send.to))?;
    Ok(socket.into())
}

fn set_control(socket: &impl AsRawFd, control: &str) -> Result<()> {
    // SAFETY: a valid descriptor, and a pointer to as many readable bytes as are announced.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            control.as_ptr().cast(),
            control.len() as libc::socklen_t,
        )
    };
    if result == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
        .with_context(|| format!("the kernel does not offer TCP {control} here"))
}

fn info(stream: &TcpStream) -> Result<libc::tcp_info> {
    // SAFETY: all zero is a valid tcp_info.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut size = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes to `info`.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut size,
        )
    };
    if result == 0 { Ok(info) } else { Err(io::Error::last_os_error()).context("TCP_INFO") }
}
