//! A virtual world for the protocol: endpoints, emulated links, a clock, real payload.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test file uses its own part")]

pub mod action;
pub mod check;
pub mod hear;
pub mod job;
pub mod netstat;
pub mod path;
pub mod payload;
pub mod raw;
pub mod rival;
pub mod scenario;
pub mod world;

pub use action::Action;
pub use job::{Claim, Job};
pub use path::PathSpec;
pub use rival::Rival;
pub use world::World;

use laxity_interface::{Fraction, Span, Time};

pub fn fraction(value: f64) -> Fraction {
    Fraction::new(value).expect("tests use fractions from 0 to 1")
}

pub fn at_us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}
