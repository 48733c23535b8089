//! `laxity doctor`: what this machine and the way to a peer can do, and what to change.

pub(in crate::commands) mod finding;
mod machine;
mod peer;
mod route;
mod sockets;

use std::{process::ExitCode, time::Instant};

use anyhow::Result;
use clap::Args;
use laxity_interface::Span;

use self::finding::Status;
use crate::{
    address,
    args::{KeyArgs, NetworkArgs},
    output::{self, To},
    sys::signal,
};

/// Check this machine, its network and, with --to, a peer.
///
/// Every finding is ok, warn (it works, but slower or less surely) or fail (it does not work), and
/// says what to do. Nothing is changed, and without --to nothing is sent outside this machine.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  laxity doctor
  laxity doctor --to 10.0.0.2:7000 --key-file laxity.key    # while `laxity recv` runs there
  laxity doctor --json | jq '.rows[] | select(.status != \"ok\")'

Exit code: 1 if anything failed, 0 otherwise, warnings included.")]
pub(crate) struct DoctorArgs {
    /// A peer to reach, where `laxity recv` or another endpoint listens: handshake, round trip,
    /// datagram size. Needs a key or --insecure.
    #[arg(long, value_name = "HOST:PORT")]
    to: Option<String>,

    /// How long to wait for the peer's answer.
    #[arg(long, value_name = "TIME", default_value = "5s", help_heading = "Network")]
    connect_timeout: Span,

    /// Print the findings as JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    key: KeyArgs,

    #[command(flatten)]
    network: NetworkArgs,
}

/// Runs it.
pub(crate) fn run(args: &DoctorArgs) -> Result<ExitCode> {
    let started = Instant::now();
    // Without a peer a key is only looked at; with one it is needed.
    let needed = args.to.is_some() || args.key.given();
    let protection = if needed { Some(args.key.protection()?) } else { None };
    let address = args.to.as_deref().map(address::resolve).transpose()?.map(|all| all[0]);
    signal::watch();
    let mut findings = machine::look();
    findings.extend(sockets::look());
    findings.extend(route::look(address));
    if let Some(protection) = &protection {
        findings.push(peer::key(&args.key, protection));
        if let Some(to) = &args.to {
            let timeout = args.connect_timeout.to_std();
            findings.extend(peer::reach(to, timeout, &args.network, protection)?);
        }
    }
    let failed = findings.iter().any(|finding| finding.status == Status::Fail);
    let mut report = output::report(started);
    findings.into_iter().for_each(|finding| report.push(finding.row()));
    output::emit(&report, args.json, To::Stdout, &["check", "status", "found", "remedy"])?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
