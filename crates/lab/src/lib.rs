//! A private network on one machine.
//!
//! **What it is.** For now one thing: [`EmbeddedLink`], a link with rate, delay, queue, loss and ECN
//! between two processes or threads that talk UDP over loopback, in real time, without privileges.
//!
//! **What it is not.** No virtual time (that is `laxity-link` under a test's clock), no namespaces and
//! no switch yet.
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

pub mod dctcp;
mod embedded;
pub mod engine;
mod path;

pub use embedded::{EmbeddedLink, LinkError, Totals};
pub use path::Path;
