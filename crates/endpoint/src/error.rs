//! What can go wrong between an application and its endpoint.

use std::{io, net::SocketAddr};

use laxity_protocol::{ConnectError, JobError, SendRequestError};

use crate::udp::BindError;

/// Why an endpoint could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Neither a key nor the word to do without was given.
    #[error("no key: give one with `key`, or say `insecure` to run without protection")]
    NoKey,
    /// The socket could not be opened.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Something else of the operating system.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What it said.
        source: io::Error,
    },
    /// A setting out of its range.
    #[error("`{name}` is {value}, it must be {range}")]
    Setting {
        /// Which.
        name: &'static str,
        /// What was given.
        value: u64,
        /// What it may be.
        range: &'static str,
    },
}

/// Why a job was not sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// It cannot be sent as asked.
    #[error(transparent)]
    Request(#[from] SendRequestError),
    /// It was started and failed.
    #[error(transparent)]
    Job(#[from] JobError),
    /// There is no connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The name has no address.
    #[error("cannot find the address: {0}")]
    Resolve(#[from] io::Error),
    /// The name has addresses, none of which this socket can reach.
    #[error(
        "no address of the socket's kind: it is bound to {local}; bind to `[::]:0` for IPv4 and IPv6"
    )]
    NoAddress {
        /// What the socket is bound to.
        local: SocketAddr,
    },
    /// The endpoint is being shut down.
    #[error("the endpoint was shut down")]
    ShutDown,
}

/// Why a job was not received.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecvError {
    /// It failed.
    #[error(transparent)]
    Job(#[from] JobError),
    /// Nothing came in time.
    #[error("no job came within {0:?}")]
    Timeout(std::time::Duration),
    /// The buffer and the job do not fit.
    #[error("the job has {needed} bytes of {element}, the buffer {given} bytes of {wanted}")]
    Buffer {
        /// Bytes of the job.
        needed: u64,
        /// Its element type, or "messages".
        element: &'static str,
        /// Bytes of the buffer.
        given: u64,
        /// Its element type.
        wanted: &'static str,
    },
    /// The endpoint is being shut down.
    #[error("the endpoint was shut down")]
    ShutDown,
}
