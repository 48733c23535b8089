//! Real sockets and real processes: membership, parcels, death, loss.

mod choice;
mod common;
mod death;
mod driven;
mod loss;
mod measure;
mod membership;
mod parcels;
