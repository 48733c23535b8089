//! Taking part in a job: from settings to a carrier, and out again.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs},
    sync::Arc,
    time::{Duration, Instant},
};

use laxity_endpoint::BuildError;
use laxity_interface::Time;

use super::{
    client::{Store, StoreError},
    identity::{Identity, Member, Roster},
    server::{Expects, ServeError, StoreServer},
    settings::{Settings, Transport},
    watch::Watcher,
};
use crate::{
    carrier::{
        AnyCarrier, Bell, Carrier, Event, Parcel,
        laxity::{LaxityCarrier, LaxityPort},
        tcp::{TcpCarrier, TcpPort, hello::Credentials},
    },
    collective::Network,
    rank::Rank,
};

/// Says which rank's process the store lives in.
const HOST_KEY: &str = "laxity/store-host";

/// Why a process could not take part.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The store said no, or nothing.
    #[error("{rank} cannot join: {source}")]
    Store {
        /// Who.
        rank: Rank,
        /// What happened.
        source: StoreError,
    },
    /// Rank 0 could not open the store.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The store's name has no address.
    #[error("cannot find the store's address `{store}`: {source}; look at MASTER_ADDR")]
    Name {
        /// The name.
        store: String,
        /// Why.
        source: io::Error,
    },
    /// The carrier's port could not be opened.
    #[error("{rank} cannot listen at {address}: {source}; LAXITY_BIND says where")]
    Bind {
        /// Who.
        rank: Rank,
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The endpoint could not be set up.
    #[error("{rank} cannot listen at {address}: {source}; LAXITY_BIND says where")]
    Endpoint {
        /// Who.
        rank: Rank,
        /// Where.
        address: SocketAddr,
        /// Why.
        source: BuildError,
    },
    /// Something else of the operating system.
    #[error("{rank} cannot {what}: {source}")]
    System {
        /// Who.
        rank: Rank,
        /// What was tried.
        what: &'static str,
        /// What it said.
        source: io::Error,
    },
}

/// One process's part in a job: a carrier that knows all ranks.
///
/// ```no_run
/// use std::time::Duration;
/// use laxity_fabric::{carrier::Carrier, rendezvous::{Fabric, Settings}};
///
/// let mut fabric = Fabric::join(Settings::from_env()?)?;
/// println!("{} of {}", fabric.rank(), fabric.roster().world());
/// fabric.shutdown(Duration::from_secs(5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Fabric {
    carrier: AnyCarrier,
    roster: Roster,
    settings: Settings,
    // In the order in which they go.
    watcher: Watcher,
    server: Option<StoreServer>,
}

/// A port of either kind.
enum Port {
    Tcp(TcpPort),
    Laxity(LaxityPort),
}

impl Fabric {
    /// Takes part: finds the store (rank 0 opens it), registers, waits for all others.
    pub fn join(settings: Settings) -> Result<Self, JoinError> {
        let rank = settings.rank;
        let system = |what| move |source| JoinError::System { rank, what, source };
        let failed = |source| JoinError::Store { rank, source };
        let dead_after = settings.tcp.dead_after;
        let server = if rank == Rank::new(0) { open_store(&settings)? } else { None };
        let mut store =
            Store::connect(&settings.store, &settings.secret, settings.patience, dead_after)
                .map_err(failed)?;
        if server.is_some() {
            store.set(HOST_KEY, rank.get().to_string().as_bytes()).map_err(failed)?;
        }
        let local = store.local_addr().map_err(system("find its own address"))?;
        let bind = settings.bind.unwrap_or_else(|| SocketAddr::new(local.ip(), 0));
        let (port, mut address) = open_port(&settings, bind)?;
        if address.ip().is_unspecified() {
            address.set_ip(local.ip());
        }
        let identity = Identity::new(rank);
        let address = settings.advertise.unwrap_or(address);
        let member = Member { address, token: identity.token() };
        store.register(rank, settings.world, member, settings.transport).map_err(failed)?;
        let roster = store.roster(settings.patience).map_err(failed)?;
        let host = store.get(HOST_KEY).map_err(failed)?;
        let host = host.and_then(|host| String::from_utf8(host).ok()?.parse().ok()).map(Rank::new);
        let secret = settings.secret.clone();
        let me = Arc::new(Credentials { identity, roster: roster.clone(), secret });
        let (carrier, watcher) = match port {
            Port::Tcp(port) => {
                let carrier = TcpCarrier::new(port, me, settings.tcp.clone())
                    .map_err(system("watch its sockets"))?;
                let watcher = Watcher::start(store, host, carrier.departures());
                (AnyCarrier::Tcp(carrier), watcher)
            }
            Port::Laxity(port) => {
                let carrier = LaxityCarrier::new(port, me, &settings.laxity);
                let watcher = Watcher::start(store, host, carrier.departures());
                (AnyCarrier::Laxity(Box::new(carrier)), watcher)
            }
        };
        Ok(Self { carrier, roster, settings, watcher: watcher.map_err(failed)?, server })
    }

    /// Who takes part.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// How this process takes part.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What carries the parcels.
    pub fn carrier(&mut self) -> &mut AnyCarrier {
        &mut self.carrier
    }

    /// Where the store listens, if this process hosts it.
    pub fn store_address(&self) -> Option<SocketAddr> {
        self.server.as_ref().map(StoreServer::address)
    }

    /// A conversation with the store of the program's own.
    pub fn open_store(&self) -> Result<Store, StoreError> {
        let Settings { store, secret, patience, tcp, .. } = &self.settings;
        Store::connect(store, secret, *patience, tcp.dead_after)
    }

    /// Carries everything that was submitted, says goodbye to all, and goes. Others that wait for this
    /// rank all the same are told that it has left. True if everybody heard it within `patience`. The
    /// rank that hosts the store also waits for ranks that are still joining.
    ///
    /// A fabric that is dropped without this is lost to the others: it may have crashed.
    pub fn shutdown(self, patience: Duration) -> bool {
        let start = Instant::now();
        let Self { carrier, watcher, server, .. } = self;
        let heard = carrier.shutdown(patience);
        let left = patience.saturating_sub(start.elapsed());
        watcher.leave();
        if let Some(server) = server {
            server.linger(left);
        }
        heard
    }
}

impl Carrier for Fabric {
    fn rank(&self) -> Rank {
        self.carrier.rank()
    }

    fn now(&self) -> Time {
        self.carrier.now()
    }

    fn submit(&mut self, parcel: Parcel) {
        self.carrier.submit(parcel);
    }

    fn wait_event(&mut self, until: Option<Time>) -> Option<Event> {
        self.carrier.wait_event(until)
    }

    fn bell(&self) -> Option<Bell> {
        self.carrier.bell()
    }

    fn expects(&self) -> Network {
        self.carrier.expects()
    }
}

/// Rank 0 opens the store at its port, unless somebody has: then that is the store.
fn open_store(settings: &Settings) -> Result<Option<StoreServer>, JoinError> {
    let named = |source| JoinError::Name { store: settings.store.clone(), source };
    let mut found = settings.store.to_socket_addrs().map_err(named)?;
    let none = || named(io::Error::new(io::ErrorKind::NotFound, "it has no address"));
    let mut address = found.next().ok_or_else(none)?;
    let is_name = settings.store.parse::<SocketAddr>().is_err();
    if is_name && TcpListener::bind((address.ip(), 0)).is_ok() {
        // A host's own name often leads to its loopback address, which others cannot reach.
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        });
    }
    let Settings { store, secret, world, transport, tcp, .. } = settings;
    let expects = Expects { world: *world, transport: *transport, store: store.clone() };
    match StoreServer::bind(address, secret.clone(), Some(expects), tcp.dead_after) {
        Ok(server) => Ok(Some(server)),
        Err(ServeError::Bind { source, .. })
            if matches!(
                source.kind(),
                io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn open_port(settings: &Settings, at: SocketAddr) -> Result<(Port, SocketAddr), JoinError> {
    let rank = settings.rank;
    match settings.transport {
        Transport::Tcp => {
            let bind = |source| JoinError::Bind { rank, address: at, source };
            let port = TcpPort::bind(at).map_err(bind)?;
            let what = "set up its connections";
            let refused = |source| JoinError::System { rank, what, source };
            port.check(&settings.tcp).map_err(refused)?;
            let address = port.address().map_err(bind)?;
            Ok((Port::Tcp(port), address))
        }
        Transport::Laxity => {
            let port = LaxityPort::bind(at, &settings.secret, &settings.laxity)
                .map_err(|source| JoinError::Endpoint { rank, address: at, source })?;
            let address = port.address();
            Ok((Port::Laxity(port), address))
        }
    }
}
