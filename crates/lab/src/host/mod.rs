//! Hosts: namespaces, cables, programs inside. Everything here talks to the kernel.

mod enter;
mod ethtool;
mod interface;
mod napi;
mod netlink;
pub(crate) mod processes;
pub(crate) mod site;
mod steer;
pub(crate) mod sys;

pub(crate) use enter::{Entrance, stand_before_programs, stand_with_programs};
pub use enter::{end_with_parent, run_ahead};
pub(crate) use ethtool::Offload;
pub use site::SiteError;
pub(crate) use site::{Number, Site};
pub use steer::Receive;
