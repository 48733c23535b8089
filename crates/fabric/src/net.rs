//! TCP sockets as all of this crate wants them.

use std::{
    io,
    net::SocketAddr,
    os::fd::AsFd,
    time::{Duration, Instant},
};

use mio::net::TcpListener;
use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};

/// Connections that wait to be accepted: a whole world may call at once.
const BACKLOG: i32 = 4096;

/// That long from now. Who waits for as long as a number can say waits for a long time, and does not
/// meet the end of the clock.
pub(crate) fn deadline(time: Duration) -> Instant {
    const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
    Instant::now() + time.min(LONGEST)
}

/// A listening socket that does not block.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(TcpListener::from_std(socket.into()))
}

/// Lets the kernel find out within about `dead_after` that the other host is gone: by asking when
/// nothing is under way, by unanswered data when something is. A process that dies is noticed at once.
pub(crate) fn watch_over(socket: &impl AsFd, dead_after: Duration) -> io::Result<()> {
    const RETRIES: u32 = 3;
    // The kernel counts in whole seconds here.
    let step = (dead_after / (RETRIES + 1)).max(Duration::from_secs(1));
    let keepalive = TcpKeepalive::new().with_time(step).with_interval(step).with_retries(RETRIES);
    let socket = SockRef::from(socket);
    socket.set_tcp_keepalive(&keepalive)?;
    socket.set_tcp_user_timeout(Some(dead_after))
}
