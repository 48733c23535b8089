//! What carries a training: a transport, and over TCP a congestion control.

use laxity_fabric::rendezvous::{Settings, Transport};

use super::args::TrainArgs;
use crate::congestion;

/// What carries the parcels of one training.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Carried {
    pub(super) transport: Transport,
    /// TCP's congestion control, where it is not left to the system.
    pub(super) chosen: Option<String>,
    /// One of several over the same transport: its name says which.
    several: bool,
}

impl Carried {
    /// One for each training, in the order in which they take place.
    pub(super) fn all(args: &TrainArgs) -> Vec<Self> {
        let controls = &args.tcp_control;
        let several = controls.len() > 1;
        let each = |transport: Transport| match transport {
            Transport::Tcp if !controls.is_empty() => {
                let of =
                    |control: &String| Self { transport, chosen: Some(control.clone()), several };
                controls.iter().map(of).collect()
            }
            _ => vec![Self { transport, chosen: None, several: false }],
        };
        args.transport.iter().flat_map(|way| each(way.transport())).collect()
    }

    /// What carries this rank's training.
    pub(super) fn of(args: &TrainArgs, settings: &Settings) -> Self {
        let (transport, chosen) = (settings.transport, settings.tcp.congestion.clone());
        let several = transport == Transport::Tcp && args.tcp_control.len() > 1;
        Self { transport, chosen, several }
    }

    /// For people, and for files: `tcp`, `laxity`, or `tcp-cubic` where TCP comes more than once.
    pub(super) fn name(&self) -> String {
        match (&self.chosen, self.several) {
            (Some(control), true) => format!("{}-{control}", self.transport.name()),
            _ => self.transport.name().to_owned(),
        }
    }

    /// The congestion control that is at work, where the kernel has one.
    pub(super) fn control(&self) -> Option<String> {
        let tcp = self.transport == Transport::Tcp;
        tcp.then(|| self.chosen.clone().or_else(congestion::default)).flatten()
    }
}
