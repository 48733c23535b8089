//! The transports.

mod common;


pub mod approx;


pub mod ndp;
pub mod pfabric;
pub mod udp;
