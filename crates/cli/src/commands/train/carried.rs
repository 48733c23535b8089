//! What carries a training: a transport, and over TCP a congestion control.

use laxity_fabric::rendezvous::{Settings, Transport};

use super::args::TrainArgs;
use crate::congestion;

/// The variable that chooses TCP's congestion control for a rank.
pub(super) const CONGESTION: &str = "LAXITY_TCP_CONGESTION";

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
    /// One for each training, in the order in which they take place. What the environment chooses
    /// ([`CONGESTION`]) holds where the command line chooses nothing.
    pub(super) fn all(args: &TrainArgs, environment: Option<String>) -> Vec<Self> {
        let several = args.tcp_control.len() > 1;
        let mut controls: Vec<_> = args.tcp_control.iter().cloned().map(Some).collect();
        if controls.is_empty() {
            controls.push(environment);
        }
        let each = |transport: Transport| match transport {
            Transport::Tcp => {
                let of =
                    |chosen: &Option<String>| Self { transport, chosen: chosen.clone(), several };
                controls.iter().map(of).collect()
            }
            Transport::Laxity => vec![Self { transport, chosen: None, several: false }],
        };
        args.transports().into_iter().flat_map(each).collect()
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: TrainArgs,
    }

    fn args(words: &[&str]) -> TrainArgs {
        Line::try_parse_from([&["laxity"], words].concat()).expect("a good line").args
    }

    /// Checkpoints are named by ranks, and what they carry by whoever started them.
    #[test]
    fn ranks_and_who_starts_them_agree_on_names() {
        for (words, names) in [
            (&[][..], &["tcp", "laxity"][..]),
            (&["--tcp-control", "cubic"], &["tcp", "laxity"]),
            (&["--tcp-control", "cubic,bbr"], &["tcp-cubic", "tcp-bbr", "laxity"]),
            (&["--tcp-control", "cubic,bbr", "--transport", "laxity"], &["laxity"]),
        ] {
            let args = args(words);
            let all = Carried::all(&args, None);
            assert_eq!(all.iter().map(Carried::name).collect::<Vec<_>>(), names);
            for carried in all {
                let settings = Settings::from_lookup(|name| match name {
                    "RANK" | "MASTER_PORT" => Some("1".to_owned()),
                    "WORLD_SIZE" => Some("2".to_owned()),
                    "MASTER_ADDR" => Some("localhost".to_owned()),
                    "LAXITY_INSECURE" => Some("1".to_owned()),
                    "LAXITY_TRANSPORT" => Some(carried.transport.name().to_owned()),
                    CONGESTION => carried.chosen.clone(),
                    _ => None,
                });
                assert_eq!(Carried::of(&args, &settings.expect("good settings")), carried);
            }
        }
    }

    #[test]
    fn the_environment_chooses_where_the_command_line_does_not() {
        let of = |words: &[&str]| Carried::all(&args(words), Some("reno".to_owned()))[0].control();
        assert_eq!(of(&[]).as_deref(), Some("reno"));
        assert_eq!(of(&["--tcp-control", "cubic"]).as_deref(), Some("cubic"));
        assert_eq!(of(&["--transport", "laxity"]), None);
    }
}
