//! Controllers and hosts as real processes, over real sockets with TLS: deaths, strangers, and hosts that
//! never read. A process is this test program itself, told by the environment what to be.

mod child;
mod deaths;
mod slow;
mod strangers;
mod training;
