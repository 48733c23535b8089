//! A rate that somebody else decides.

use laxity_interface::{Rate, Time};

use super::{AckSample, Controller, Epoch, Reason};

/// Sends at a given rate whatever happens; the cluster controller knows better.
#[derive(Clone, Copy, Debug)]
pub struct Assigned {
    rate: Rate,
}

impl Assigned {
    /// At this rate.
    pub fn new(rate: Rate) -> Self {
        Self { rate }
    }
}

impl Controller for Assigned {
    fn on_ack(&mut self, _: Time, _: &AckSample) {}

    fn on_loss(&mut self, _: Time, _: u64, _: u64) {}

    fn on_epoch(&mut self, _: Time, _: &Epoch) {}

    fn rate(&self) -> Rate {
        self.rate
    }

    fn window(&self) -> u64 {
        u64::MAX
    }

    fn reason(&self) -> Reason {
        Reason::Assigned
    }
}
