//! Transports for simulated hosts.

pub mod dctcp;
