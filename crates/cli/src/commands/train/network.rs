//! Where ranks run: on this machine as it is, or in the hosts of a lab.

use std::{net::TcpListener, process::Command};

use anyhow::{Context, Result};
use laxity_lab::{Lab, LabFile, run_ahead};

use super::args::TrainArgs;
use crate::commands::lab::daemon_command;

/// The store's port in a lab, where nobody else is.
const PORT: u16 = 29_500;
/// Other traffic: many small flows, most bytes in few large ones, as in data centres.
const SIZES: &str = "[['10KB', '50%'], ['100KB', '80%'], ['1MB', '97%'], ['5MB', '100%']]";
/// How long other traffic goes on at most; the lab ends long before.
const LONGEST: &str = "14400s";

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
        let file = LabFile::from_toml(&toml(args)).context("a lab file of our own was refused")?;
        let name = format!("train-{}", std::process::id());
        Ok(Self::Lab(Box::new(Lab::up(&file, &name, daemon_command()?)?)))
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

/// The lab file: hosts h1, h2, … around one switch, and `other` where there is other traffic.
fn toml(args: &TrainArgs) -> String {
    let TrainArgs { ranks, seed, rate, loss, buffer, background, .. } = args;
    // A round trip crosses four links.
    let delay = args.rtt / 4;
    let mut text = format!(
        "seed = {seed}\nlink = {{ rate = '{rate}', delay = '{delay}', queue = 'port' }}\n\
         queues.port = {{ kind = 'single', buffer = '{buffer}' }}\n"
    );
    for number in 1..=*ranks {
        text += &format!("[[hosts]]\nname = 'h{number}'\n");
        if loss.get() > 0.0 {
            text += &format!("link = {{ loss = '{loss}' }}\n");
        }
    }
    if background.get() > 0.0 {
        let to: Vec<_> = (1..=*ranks).map(|number| format!("'h{number}'")).collect();
        text += &format!(
            "[[hosts]]\nname = 'other'\n[[background]]\nname = 'other'\nfrom = 'other'\nto = [{}]\n\
             duration = '{LONGEST}'\nsizes = {SIZES}\nload = '{background}'\ncongestion = 'cubic'\n",
            to.join(", ")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        args: TrainArgs,
    }

    #[test]
    fn every_lab_can_be_built() {
        for words in [&[][..], &["--loss", "1%"], &["--background", "0.5", "--ranks", "8"]] {
            let words = ["train", "--lab"].iter().chain(words);
            let args = Words::try_parse_from(words).unwrap_or_else(|e| panic!("{e}")).args;
            let text = toml(&args);
            let file = LabFile::from_toml(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            assert!(file.hosts().len() >= args.ranks as usize);
        }
    }
}
