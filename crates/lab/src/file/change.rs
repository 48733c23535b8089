//! Changes by name, for a lab that runs.

use laxity_interface::{Fraction, Rate, Span};
use laxity_switch::Change;
use serde::{Deserialize, Serialize};

use super::{
    events,
    network::Network,
    raw::{Direction, RawBurst, RawChange, State},
};
use crate::file::FileError;

/// A change of a network, in the names of its file.
///
/// ```
/// use laxity_interface::Rate;
/// use laxity_lab::LabChange;
/// let slower = LabChange::link("h1").rate(Rate::from_mbps(100));
/// let gone = LabChange::gone("h3");
/// assert_ne!(slower, gone);
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LabChange(RawChange);

impl LabChange {
    /// A change of a host's link; from the switch to the host unless it is told otherwise.
    pub fn link(host: &str) -> Self {
        Self(RawChange { host: Some(host.to_owned()), ..RawChange::default() })
    }

    /// A change of a link between two switches, from the first to the second unless told otherwise.
    pub fn trunk(one: &str, other: &str) -> Self {
        let between = Some([one.to_owned(), other.to_owned()]);
        Self(RawChange { between, ..RawChange::default() })
    }

    /// A host disappears.
    pub fn gone(host: &str) -> Self {
        Self(RawChange { state: Some(State::Gone), ..Self::link(host).0 })
    }

    /// A host comes back.
    pub fn back(host: &str) -> Self {
        Self(RawChange { state: Some(State::Back), ..Self::link(host).0 })
    }

    /// Which direction of the link changes.
    #[must_use]
    pub fn direction(mut self, direction: Direction) -> Self {
        self.0.direction = Some(direction);
        self
    }

    /// The new rate.
    #[must_use]
    pub fn rate(mut self, rate: Rate) -> Self {
        self.0.rate = Some(rate);
        self
    }

    /// The new delay.
    #[must_use]
    pub fn delay(mut self, delay: Span) -> Self {
        self.0.delay = Some(delay);
        self
    }

    /// The new loss, of each packet on its own.
    #[must_use]
    pub fn loss(mut self, loss: Fraction) -> Self {
        (self.0.loss, self.0.burst_loss) = (Some(loss), None);
        self
    }

    /// The new loss, in bursts that begin and end with these probabilities per packet.
    #[must_use]
    pub fn burst_loss(mut self, begin: Fraction, end: Fraction) -> Self {
        (self.0.loss, self.0.burst_loss) = (None, Some(RawBurst { begin, end }));
        self
    }

    /// What it means to this network's fabric.
    pub(crate) fn resolve(&self, network: &Network) -> Result<Vec<Change>, FileError> {
        events::change(&self.0, network, "change").map(|(changes, _)| changes)
    }
}
