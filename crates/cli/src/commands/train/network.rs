//! Where ranks run: on this machine as it is, or in the hosts of a lab.

use std::{net::TcpListener, process::Command};

use anyhow::{Context, Result};
use laxity_lab::{Lab, Receive, run_ahead};

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

impl Place {
    pub(super) fn new(args: &TrainArgs) -> Result<Self> {
        if !args.lab {
            return Ok(Self::Here);
        }
        let TrainArgs { seed, rate, rtt, loss, buffer, background, .. } = *args;
        let ranks = Cast::new(args).ranks();
        let star = Star { ranks, seed, rate, rtt, loss, buffer, background };
        Ok(Self::Lab(Box::new(star.up("train", Receive::Interrupts)?)))
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

    /// The command, in the place of a rank.
    pub(super) fn put(&self, rank: u32, command: Command) -> Result<Command> {
        match self {
            Self::Here => Ok(command),
            Self::Lab(lab) => {
                let mut command = lab.enter(&lab.hosts()[rank as usize].name, command)?;
                run_ahead(&mut command);
                Ok(command)
            }
        }
    }
}
