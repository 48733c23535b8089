//! Where ranks run: on this machine as it is, or in the hosts of a lab.

use std::{net::TcpListener, process::Command};

use anyhow::{Context, Result};
use laxity_fabric::Rank;
use laxity_lab::{Lab, Receive, engine::Health, run_ahead};

use super::{args::TrainArgs, cast::Cast};
use crate::commands::star::Star;

/// The store's port in a lab, where nobody else is.
const PORT: u16 = 29_500;

/// Where ranks run.
pub(super) enum Place {
    /// This machine, over loopback.
    Here,
    /// A lab, one rank per host. Boxed: it is large.
    Lab(Box<Lab>),
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
        // Ranks compute for long, and packets must not wait for that.
        Ok(Self::Lab(Box::new(star(args).up("train", Receive::Interrupts)?)))
    }

    /// Host and port of the store of a new run.
    pub(super) fn store(&self) -> Result<(String, u16)> {
        match self {
            Self::Here => {
                // Nobody else takes it in the moment until rank 0 does.
                let free = TcpListener::bind("127.0.0.1:0").context("no free port")?;
                Ok(("127.0.0.1".to_owned(), free.local_addr()?.port()))
            }
            Self::Lab(lab) => Ok((lab.hosts()[0].address.to_string(), PORT)),
        }
    }

    /// The host of a rank, in a lab.
    pub(super) fn host(&self, rank: Rank) -> Option<&str> {
        match self {
            Self::Here => None,
            Self::Lab(lab) => Some(&lab.hosts()[rank.index()].name),
        }
    }

    /// Begins to count anew how well the lab keeps time.
    pub(super) fn begin(&self) -> Result<()> {
        match self {
            Self::Here => Ok(()),
            Self::Lab(lab) => lab.reset_health().context("the lab does not answer"),
        }
    }

    /// How well the lab has kept time since.
    pub(super) fn health(&self) -> Result<Option<Health>> {
        match self {
            Self::Here => Ok(None),
            Self::Lab(lab) => Ok(Some(lab.status().context("the lab does not answer")?.health)),
        }
    }

    /// The command, in the place of a rank.
    pub(super) fn put(&self, rank: Rank, command: Command) -> Result<Command> {
        match self {
            Self::Here => Ok(command),
            Self::Lab(lab) => {
                let mut command = lab.enter(&lab.hosts()[rank.index()].name, command)?;
                run_ahead(&mut command);
                Ok(command)
            }
        }
    }
}
