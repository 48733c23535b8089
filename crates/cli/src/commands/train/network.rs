//! Where ranks run: on this machine as it is, or in the hosts of a lab.

use std::{net::TcpListener, process::Command};

use anyhow::{Context, Result};
use laxity_fabric::Rank;
use laxity_interface::Rate;
use laxity_lab::{
    Lab, Receive,
    engine::{Health, LateTimes},
    run_ahead,
};

use super::{args::TrainArgs, cast::Cast};
use crate::commands::{
    others::{self, Others},
    star::Star,
};

/// The store's port in a lab, where nobody else is.
const PORT: u16 = 29_500;

/// Where ranks run.
pub(super) enum Place {
    /// This machine, over loopback.
    Here,
    /// A lab, one rank per host. Boxed: it is large.
    Lab(Box<Lab>, Star),
}

/// How a lab was during a training.
pub(super) struct LabSaid {
    /// Whether it kept time.
    pub(super) health: Health,
    /// How long ranks waited for a processor.
    pub(super) turns: LateTimes,
    /// The part of all links that other traffic had.
    pub(super) other_load: f64,
}

/// The lab's network: a host for every rank, the server and its helpers included.
pub(super) fn star(args: &TrainArgs) -> Star {
    let TrainArgs { seed, rate, rtt, loss, buffer, background, mtu, .. } = *args;
    let ranks = Cast::new(args).ranks();
    Star { ranks, seed, rate, rtt, loss, buffer, background, mtu }
}

impl Place {
    pub(super) fn new(args: &TrainArgs) -> Result<Self> {
        if !args.lab {
            return Ok(Self::Here);
        }
        let star = star(args);
        // Ranks compute for long, and packets must not wait for that.
        Ok(Self::Lab(Box::new(star.up("train", Receive::Interrupts)?), star))
    }

    /// Host and port of the store of a new run.
    pub(super) fn store(&self) -> Result<(String, u16)> {
        match self {
            Self::Here => {
                // Nobody else takes it in the moment until rank 0 does.
                let free = TcpListener::bind("127.0.0.1:0").context("no free port")?;
                Ok(("127.0.0.1".to_owned(), free.local_addr()?.port()))
            }
            Self::Lab(lab, _) => Ok((lab.hosts()[0].address.to_string(), PORT)),
        }
    }

    /// The host of a rank, in a lab.
    pub(super) fn host(&self, rank: Rank) -> Option<&str> {
        match self {
            Self::Here => None,
            Self::Lab(lab, _) => Some(&lab.hosts()[rank.index()].name),
        }
    }

    /// Waits until other traffic has carried what a training before kept it from carrying.
    pub(super) fn calm(&self) -> Result<()> {
        let Self::Lab(lab, star) = self else { return Ok(()) };
        let usual = others::usual(star.rate, star.rtt, star.background) * u64::from(star.ranks);
        Others::let_catch_up(lab, usual)
    }

    /// Begins to count anew how well the lab keeps time; what other traffic has had until now.
    pub(super) fn begin(&self) -> Result<Option<Others>> {
        let Self::Lab(lab, _) = self else { return Ok(None) };
        lab.reset_health().context("the lab does not answer")?;
        Ok(Some(Others::of(&lab.status().context("the lab does not answer")?)))
    }

    /// How the lab has been since.
    pub(super) fn said(&self, since: Option<Others>) -> Result<Option<LabSaid>> {
        let (Self::Lab(lab, star), Some(since)) = (self, since) else { return Ok(None) };
        let status = lab.status().context("the lab does not answer")?;
        let capacity = Rate::bps(star.rate.as_bps() * u64::from(star.ranks));
        let other_load = since.load_until(&Others::of(&status), capacity);
        Ok(Some(LabSaid { health: status.health, turns: status.turns, other_load }))
    }

    /// The command, in the place of a rank.
    pub(super) fn put(&self, rank: Rank, command: Command) -> Result<Command> {
        match self {
            Self::Here => Ok(command),
            Self::Lab(lab, _) => {
                let mut command = lab.enter(&lab.hosts()[rank.index()].name, command)?;
                run_ahead(&mut command);
                Ok(command)
            }
        }
    }
}
