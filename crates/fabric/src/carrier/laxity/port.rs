//! How Laxity's carrier is set up, and its endpoint before anybody calls.

use std::{net::SocketAddr, time::Duration};

use laxity_endpoint::{BuildError, CipherChoice, ClassRule, Endpoint, JobOrder};
use laxity_interface::{Rate, Span};

use super::UNDER_WAY;
use crate::rendezvous::secret::Secret;

/// How Laxity's carrier is set up.
#[derive(Clone, PartialEq, Debug)]
pub struct LaxitySettings {
    /// A rank that does not answer for this long is lost. Default 5 s.
    pub dead_after: Duration,
    /// How long a connection may take to come about. Default 10 s.
    pub connect_timeout: Duration,
    /// Bytes of arrivals that may wait to be taken before senders are held. Default 1 GiB.
    pub untaken_bytes: u64,
    /// Speed of the interface; caps the rate and makes shares fair under incast. Default: unknown.
    pub line_rate: Option<Rate>,
    /// How packets ask switches for a queue. Default [`ClassRule::Dynamic`].
    pub classes: ClassRule,
    /// Which ciphers may protect packets. Default [`CipherChoice::Fastest`].
    pub cipher: CipherChoice,
}

impl Default for LaxitySettings {
    fn default() -> Self {
        Self {
            dead_after: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(10),
            untaken_bytes: 1 << 30,
            line_rate: None,
            classes: ClassRule::Dynamic,
            cipher: CipherChoice::Fastest,
        }
    }
}

/// A port on which ranks will call, before it is known who they are.
#[derive(Debug)]
pub(crate) struct LaxityPort {
    /// Where they will call.
    pub(super) endpoint: Endpoint,
}

impl LaxityPort {
    pub(crate) fn bind(
        address: SocketAddr,
        secret: &Secret,
        settings: &LaxitySettings,
    ) -> Result<Self, BuildError> {
        let mut builder = match secret {
            Secret::Key(key) => Endpoint::builder().key(key.clone()),
            Secret::Insecure => Endpoint::builder().insecure(),
        };
        if let Some(rate) = settings.line_rate {
            builder = builder.line_rate(rate);
        }
        let builder = builder
            .dead_after(settings.dead_after)
            .connect_timeout(settings.connect_timeout)
            .classes(settings.classes)
            .cipher(settings.cipher)
            .configure(|config| {
                config.watch_idle = true;
                config.max_jobs = 2 * UNDER_WAY;
                // Parcels are steps of a computation: if all of them shared the link, a ring's early
                // steps would wait for its late ones.
                config.job_order = JobOrder::Oldest;
                // A parcel without a limit has none.
                config.time_limit = Span::from_secs(7 * 24 * 3600);
            });
        Ok(Self { endpoint: builder.bind(address)? })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.endpoint.local_addr()
    }
}
