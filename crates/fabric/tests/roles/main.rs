//! Parameter-server roles in virtual time.

mod age;
mod cluster;
mod deaths;
mod driven;
mod modes;
mod paper;
mod refusals;
mod restart;
mod world;
