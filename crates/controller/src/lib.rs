//! The controller of a cluster: hosts tell it what they can send and what they want to, it plans who
//! sends what, when, how fast and through whom, and everybody can ask why.
//!
//! **What it is.** [`Controller`] is the decision maker without input and output: words of hosts and the
//! time go in, plans, records and events come out. It plans flows with [`laxity_planner`]'s schemes and
//! updates of models with fabric's [`Scheduler`](laxity_fabric::roles::Scheduler). [`ControllerServer`]
//! is the same as a process: gRPC over TLS, the job's key at the door, the state on disk. [`Agent`] is
//! the host's side, in a thread of its own: it gives every flow its plan, or the local rule while the
//! controller is away, with the [`Reason`]. [`WithController`] lets fabric's roles have the controller as
//! their scheduler. docs/controller.md has the protocol.
//!
//! **What it is not.** It carries no data, and nothing waits for it: without a controller, flows go by
//! local rules.
//!
//! ```
//! use laxity_controller::{Access, Agent, AgentOptions, ControllerServer, FlowName, Options};
//! use laxity_controller::{ServerOptions, TlsIdentity};
//! use laxity_fabric::rendezvous::Secret;
//! use laxity_interface::{Bytes, Flow, FlowId, Job, Rate, Span};
//! use laxity_protocol::Key;
//!
//! let secret = Secret::Key(Key::new([7; 32]));
//! let tls = TlsIdentity::new()?;
//! let server = ControllerServer::start(ServerOptions {
//!     listen: "127.0.0.1:0".parse()?,
//!     secret: secret.clone(),
//!     tls: Some(tls.clone()),
//!     state: None,
//!     options: Options::new("example"),
//! })?;
//!
//! let access = Access {
//!     controller: server.address().to_string(),
//!     secret,
//!     certificate: Some(tls.certificate),
//! };
//! let mut options = AgentOptions::new(access, "worker-0".parse()?);
//! options.up = Some(Rate::from_mbps(100));
//! options.patience = Span::from_secs(10);
//! let agent = Agent::start(options)?;
//!
//! let job = Job::builder("backup").flow(Flow::builder("worker-0", "disk", Bytes::from_mib(1)));
//! agent.submit(job.build()?)?;
//! let advice = agent.advice(&FlowName::new("backup", FlowId(0)));
//! println!("{:?}: {}", advice.action, advice.reason);
//! assert!(advice.reason.is_planned());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod agent;
mod auth;
mod core;
mod server;
mod tls;
pub mod wire;

pub use crate::{
    agent::{
        Access, Action, Advice, Agent, AgentError, AgentOptions, AskError, Attached, AttendError,
        Line, Link, WithController, ask_overview, ask_why,
    },
    auth::{HostKeys, NONCE_BYTES, Opening, TOKEN_BYTES},
    core::{
        CONTROLLER, Class, Controller, Event, FlowName, FlowPlan, Options, Outgoing, Reason,
        Record, Saved, SavedHost, SavedJob, SessionId, SubmitError,
    },
    server::{ControllerServer, Happened, ServerOptions, StartError, StoreError},
    tls::{CERTIFICATE_FILE, CertificateError, KEY_FILE, TlsIdentity, make_certificate},
};
