//! What can be changed while a fabric runs.

use laxity_interface::{Rate, Span};
use serde::{Deserialize, Serialize};

use crate::{
    config::Loss,
    ids::{HostId, PortId},
};

/// A change of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Change {
    /// A port sends at another rate from now on, also the rest of the frame that it is sending.
    Rate {
        /// Which port.
        port: PortId,
        /// Its new rate; none means any.
        rate: Option<Rate>,
    },
    /// A wire gets longer or shorter for frames that leave from now on. Frames stay in order.
    Delay {
        /// Which port.
        port: PortId,
        /// Its new delay.
        delay: Span,
    },
    /// A wire loses more or less from now on.
    Loss {
        /// Which port.
        port: PortId,
        /// Its new loss.
        loss: Loss,
    },
    /// A cable is cut or mended, in both directions. What waits for it or travels on it is lost.
    Link {
        /// A port at either end.
        port: PortId,
        /// Whether it works from now on.
        up: bool,
    },
    /// A host goes away or comes back: its cables are cut or mended.
    Host {
        /// Which host.
        host: HostId,
        /// Whether it is there from now on.
        up: bool,
    },
}
