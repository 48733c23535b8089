//! The controller as a process: gRPC over TLS, the state on disk, and a thread for the core.

mod engine;
mod store;

use std::{
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    pin::Pin,
    sync::mpsc::{Receiver, sync_channel},
    thread::JoinHandle,
    time::Duration,
};

use laxity_fabric::rendezvous::Secret;
use serde::Serialize;
use tokio::{
    runtime::Runtime,
    sync::{mpsc, oneshot},
};
use tokio_stream::{Stream, wrappers::ReceiverStream};
use tonic::{
    Request, Response, Status, Streaming,
    transport::{Server, server::TcpIncoming},
};

pub use self::store::StoreError;
use self::{
    engine::{Clock, Engine, Input, Out, unix_ms},
    store::{Found, Store},
};
use crate::{
    core::{Controller, Event, Options},
    tls::TlsIdentity,
    wire::{
        FromHost, LONGEST, ToHost,
        controller_server::{Controller as Service, ControllerServer as ServiceServer},
    },
};

/// Words that wait for the core, of all sessions together.
const INPUTS: usize = 1024;
/// Words that wait in a session's connection. The core keeps the others, and only the latest plans.
const WORDS: usize = 8;
/// Events that wait for whoever shows them.
const EVENTS: usize = 4096;
/// How often a silent connection is asked whether it lives, and how long the answer may take.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// How a controller is run.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Where it listens.
    pub listen: SocketAddr,
    /// What hosts have to prove that they have.
    pub secret: Secret,
    /// Its certificate; without one, everybody on the way can read and change what is said.
    pub tls: Option<TlsIdentity>,
    /// The folder of its state; without one, nothing survives the process.
    pub state: Option<PathBuf>,
    /// How it plans.
    pub options: Options,
}

/// Why a controller does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The port.
    #[error("cannot listen on {at}: {source}; choose another address or port, or end who has it")]
    Listen {
        /// The address.
        at: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// The certificate.
    #[error("cannot use the certificate: {0}; make one with `laxity controller certificate`")]
    Tls(#[source] tonic::transport::Error),
    /// The state.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The operating system has no threads left.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] std::io::Error),
}

/// Something that happened, and how things stood.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Happened {
    /// When, in milliseconds since 1970.
    pub unix_ms: u64,
    /// What.
    #[serde(flatten)]
    pub event: Event,
    /// How long planning took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_us: Option<u64>,
    /// Hosts that are attached.
    pub hosts: usize,
    /// Jobs that there are.
    pub jobs: usize,
    /// Flows that there are.
    pub flows: usize,
}

/// A running controller. It ends when this is dropped.
#[derive(Debug)]
pub struct ControllerServer {
    address: SocketAddr,
    incarnation: u64,
    events: Receiver<Happened>,
    inputs: mpsc::Sender<Input>,
    engine: Option<JoinHandle<()>>,
    runtime: Option<Runtime>,
}

impl ControllerServer {
    /// Starts one.
    pub fn start(options: ServerOptions) -> Result<Self, StartError> {
        let ServerOptions { listen, secret, tls, state, options } = options;
        // The port first: of two controllers with one state, the second changes nothing.
        let listen_error = |source| StartError::Listen { at: listen, source };
        let listener = TcpListener::bind(listen).map_err(listen_error)?;
        listener.set_nonblocking(true).map_err(listen_error)?;
        let address = listener.local_addr().map_err(listen_error)?;

        let (mut store, found) = match state.as_deref().map(Store::open).transpose()? {
            Some((store, found)) => (Some(store), found),
            None => (None, Found::default()),
        };
        let wall = unix_ms();
        let saved = found.saved.rebased(wall);
        let now = saved.time_of(wall);
        let mut core = Controller::new(now, options, secret, saved);
        for (name, bytes) in found.crews {
            core.restore_crew(now, &name, &bytes);
        }
        let incarnation = core.incarnation();
        if let Some(store) = &mut store {
            store.replace(&core.saved())?;
        }

        let mut server = Server::builder()
            .http2_keepalive_interval(Some(KEEPALIVE))
            .http2_keepalive_timeout(Some(KEEPALIVE))
            .max_concurrent_streams(Some(16))
            .tcp_nodelay(true);
        if let Some(tls) = &tls {
            server = server.tls_config(tls.server()).map_err(StartError::Tls)?;
        }
        let (inputs, heard) = mpsc::channel(INPUTS);
        let (told, events) = sync_channel(EVENTS);
        let engine = Engine::new(core, store, Clock::new(now), told);
        let engine = std::thread::Builder::new()
            .name("laxity controller".into())
            .spawn(move || {
                // A runtime of its own: a round of planning holds up nobody's connection.
                let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
                if let Ok(runtime) = runtime {
                    runtime.block_on(engine.run(heard));
                }
            })
            .map_err(StartError::Thread)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("laxity controller io")
            .enable_io()
            .enable_time()
            .build()
            .map_err(StartError::Thread)?;
        let service = ServiceServer::new(Attendance { inputs: inputs.clone() })
            .max_decoding_message_size(LONGEST)
            .max_encoding_message_size(LONGEST);
        let guard = runtime.enter();
        let listener = tokio::net::TcpListener::from_std(listener).map_err(listen_error)?;
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        drop(guard);
        runtime.spawn(server.add_service(service).serve_with_incoming(incoming));
        let (engine, runtime) = (Some(engine), Some(runtime));
        Ok(Self { address, incarnation, events, inputs, engine, runtime })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How often it has been started with its state.
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// What happens. If nobody reads, what is new is dropped.
    pub fn events(&self) -> &Receiver<Happened> {
        &self.events
    }

    /// Ends it: the state is written, conversations are closed.
    pub fn stop(self) {
        // By dropping.
    }
}

impl Drop for ControllerServer {
    fn drop(&mut self) {
        let inputs = self.inputs.clone();
        if let Some(runtime) = &self.runtime {
            runtime.spawn(async move {
                let _ = inputs.send(Input::Stop).await;
            });
        }
        if let Some(engine) = self.engine.take() {
            let _ = engine.join();
        }
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_millis(500));
        }
    }
}

/// What gRPC calls.
#[derive(Debug)]
struct Attendance {
    inputs: mpsc::Sender<Input>,
}

#[tonic::async_trait]
impl Service for Attendance {
    type AttendStream = Pin<Box<dyn Stream<Item = Result<ToHost, Status>> + Send>>;

    async fn attend(
        &self,
        request: Request<Streaming<FromHost>>,
    ) -> Result<Response<Self::AttendStream>, Status> {
        let at = request.remote_addr().ok_or_else(|| Status::internal("no address"))?;
        let mut heard = request.into_inner();
        let (words, told) = mpsc::channel(WORDS);
        let (alive, mut over) = oneshot::channel();
        let (answer, id) = oneshot::channel();
        let ends = || Status::unavailable("the controller is ending");
        let inputs = self.inputs.clone();
        let opened = Input::Opened { at, out: Out { words, _alive: alive }, answer };
        inputs.send(opened).await.map_err(|_| ends())?;
        let id = id.await.map_err(|_| ends())?;
        tokio::spawn(async move {
            let why = loop {
                let word = tokio::select! {
                    word = heard.message() => word,
                    _ = &mut over => return, // The core has ended it.
                };
                match word {
                    Ok(Some(word)) => {
                        if inputs.send(Input::Word(id, Box::new(word))).await.is_err() {
                            return;
                        }
                    }
                    Ok(None) => break "it has closed the connection".to_owned(),
                    Err(status) => break format!("its connection broke: {}", status.message()),
                }
            };
            let _ = inputs.send(Input::Closed(id, why)).await;
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(told))))
    }
}
