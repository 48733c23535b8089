//! A private network on one machine, on which real programs meet loss, queues and delay.
//!
//! **What it is.** A [`Lab`] is a set of hosts, each a network namespace of its own, around a software
//! switch ([`engine`]) that runs in real time. A [`LabFile`] says what it is like, in TOML or built in
//! Rust. Any program runs inside, unchanged. A daemon process holds the lab; when it ends, in any
//! way, the kernel takes everything away. Works as root, and without where user namespaces are
//! allowed.
//!
//! Where neither is possible there is [`EmbeddedLink`]: a link with rate, delay, queue, loss and ECN
//! between two processes or threads that talk UDP over loopback.
//!
//! **What it is not.** No virtual time: that is `laxity-switch` and `laxity-link` under a test's
//! clock. No containers: hosts share files, users and processes.
//!
//! ```no_run
//! use std::process::Command;
//!
//! use laxity_interface::{Fraction, Rate, Span};
//! use laxity_lab::{Lab, LabFile};
//!
//! let file = LabFile::star(2)
//!     .rate(Rate::from_mbps(100))
//!     .delay(Span::from_us(250))
//!     .loss(Fraction::new(0.01)?)
//!     .build()?;
//! // A program that ends in `laxity_lab::daemon::main`.
//! let mut daemon = Command::new("laxity");
//! daemon.args(["lab", "daemon"]);
//! let lab = Lab::up(&file, "example", daemon)?;
//! let mut ping = Command::new("ping");
//! ping.args(["-c", "3", "h2"]);
//! lab.enter("h1", ping)?.status()?;
//! lab.down()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The embedded link:
//!
//! ```no_run
//! use laxity_interface::{Fraction, Rate, Span};
//! use laxity_lab::{EmbeddedLink, Path};
//!
//! let server = "127.0.0.1:7000".parse()?;
//! let path = Path::new(Rate::from_mbps(100), Span::from_ms(1)).with_loss(Fraction::new(0.01)?);
//! let link = EmbeddedLink::start(server, &path, 1)?;
//! // Clients connect to `link.address()` instead of the server's.
//! println!("{}", link.address());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod client;
pub mod daemon;
pub mod dctcp;
mod embedded;
pub mod engine;
mod file;
mod host;
mod lateness;
mod path;
mod wire;

pub use client::{Lab, LabError, Listed, RUNTIME_VARIABLE, UpOptions};
pub use embedded::{EmbeddedLink, LinkError, Totals};
pub use file::{Direction, FileError, HostInfo, LabChange, LabFile, Program, Star, Transport};
pub use host::{Receive, SiteError, end_with_parent, run_ahead};
pub use lateness::{ALLOWED as ALLOWED_LATENESS, Lateness};
pub use path::Path;
pub use wire::{BackgroundStatus, ChangeStatus, PortStatus, Status};
