//! Transports for simulated hosts.

mod common;

pub mod aeolus;
pub mod approx;
pub mod bounded;
pub mod dctcp;
pub mod laxity;
pub mod ndp;
pub mod pfabric;
pub mod reserved;
pub mod udp;
