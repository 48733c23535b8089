//! The receiving end of `bench transfer`, in this process or on another host.

use std::{
    net::{SocketAddr, TcpListener},
    sync::mpsc,
};

use anyhow::{Context, Result};
use clap::Args;
use laxity_endpoint::Endpoint;
use laxity_interface::Bytes;

use super::{laxity, tcp};

/// Be the other end of `bench transfer --to`
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address to listen on; TCP and Laxity with a key use this port, Laxity without one the next.
    #[arg(long, default_value = "0.0.0.0:7700")]
    bind: SocketAddr,
    /// The largest transfer to take.
    #[arg(long, default_value = "1GiB")]
    max_bytes: Bytes,
}

/// Where a server listens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses {
    pub(super) tcp: SocketAddr,
    pub(super) keyed: SocketAddr,
    pub(super) insecure: SocketAddr,
}

impl Addresses {
    /// The ports of a server that was started with `bench serve --bind`.
    pub(super) fn of_server(address: SocketAddr) -> Result<Self> {
        let next = address.port().checked_add(1).context("the port must be below 65535")?;
        let insecure = SocketAddr::new(address.ip(), next);
        Ok(Self { tcp: address, keyed: address, insecure })
    }
}

/// Starts serving in the background; the threads live as long as the process.
pub(super) fn start(
    bind: [SocketAddr; 3],
    max_bytes: usize,
    max_datagram: Option<u16>,
) -> Result<Addresses> {
    let listener =
        TcpListener::bind(bind[0]).with_context(|| format!("cannot listen on TCP {}", bind[0]))?;
    let tcp_address = listener.local_addr()?;
    std::thread::spawn(move || tcp::serve(&listener, max_bytes));
    let mut bound = Vec::new();
    for (keyed, address) in [(true, bind[1]), (false, bind[2])] {
        let mut builder = laxity::builder(keyed);
        if let Some(bytes) = max_datagram {
            builder = builder.max_datagram(bytes);
        }
        let endpoint: Endpoint = builder.bind(address)?;
        bound.push(endpoint.local_addr());
        std::thread::spawn(move || laxity::serve(&endpoint, max_bytes));
    }
    Ok(Addresses { tcp: tcp_address, keyed: bound[0], insecure: bound[1] })
}

pub(super) fn run(serve: &ServeArgs) -> Result<()> {
    let ports = Addresses::of_server(serve.bind)?;
    let bind = [ports.tcp, ports.keyed, ports.insecure];
    let max_bytes = usize::try_from(serve.max_bytes.get())?;
    let bound = start(bind, max_bytes, None)?;
    eprintln!(
        "serving TCP and Laxity on {}, Laxity without a key on {}; end with Ctrl-C",
        bound.tcp, bound.insecure
    );
    // Nothing to do here but to stay: the threads serve until the process is ended.
    let (_keep, never) = mpsc::channel::<()>();
    let _ = never.recv();
    Ok(())
}
