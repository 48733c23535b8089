//! How ranks find each other: a store at a host and port that all know, as torchrun users are used to.
//!
//! Rank 0 opens the store (or finds it open), every rank proves that it has the job's key, registers its
//! address and its token, and waits until all have; see [`Fabric::join`]. The conversation stays open: it
//! is how ranks that never talked hear that another is gone. [`Store`] is for programs that want to keep
//! values of their own there.

mod board;
pub(crate) mod client;
mod fabric;
pub(crate) mod identity;
pub(crate) mod refusals;
pub(crate) mod secret;
mod server;
mod settings;
mod watch;
mod words;

pub use self::{
    client::{Store, StoreError},
    fabric::{Fabric, JoinError},
    identity::{ClaimError, Identity, Member, Roster, Token},
    secret::{MAC_BYTES, Secret},
    server::{Expects, ServeError, StoreServer},
    settings::{Settings, SettingsError, Transport},
};
