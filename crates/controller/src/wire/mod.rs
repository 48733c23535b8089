//! The words between hosts and the controller, as `proto/controller.proto` describes them.

#[allow(missing_docs, missing_debug_implementations, unreachable_pub, unused_qualifications)]
#[allow(clippy::all, clippy::use_self, clippy::or_fun_call, clippy::disallowed_types)]
#[rustfmt::skip]
mod generated;

pub use self::generated::*;

/// The version of this protocol. Fields that are added do not change it.
pub const LAYOUT: u32 = 1;

/// The longest word, in bytes.
pub(crate) const LONGEST: usize = 16 << 20;
