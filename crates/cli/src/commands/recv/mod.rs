//! `laxity recv`: jobs from peers into files.

mod args;
mod messages;
mod place;
mod session;
mod transfer;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::Result;
use laxity_interface::Bytes;

pub(crate) use args::RecvArgs;

use self::{place::Destination, session::Session};
use crate::{
    address,
    delivery::{COLUMNS, Delivery},
    failure::{self, Explain},
    output::{self, To},
    sys::signal,
};

/// Runs it.
pub(crate) fn run(args: &RecvArgs) -> Result<ExitCode> {
    let started = Instant::now();
    let protection = args.key.protection()?;
    let wanted = if args.forever { u64::MAX } else { args.count };
    let mut destination = Destination::open(args.file.as_deref(), args.force, wanted > 1)?;
    args.missing.as_deref().map_or(Ok(()), output::check_file)?;
    let to = if destination.is_stdout() { To::Stderr } else { To::Stdout };
    let addresses = address::to_bind(&args.bind)?;
    signal::watch();
    let early = early_bytes(&destination, args.max_bytes);
    let endpoint = args.network.bind(&protection, &addresses, |builder| {
        builder.configure(|config| config.unclaimed_limit = config.unclaimed_limit.min(early))
    })?;
    // On stderr and in this form always: scripts that bind to port 0 read the port from here.
    eprintln!("listening on {}", endpoint.local_addr());
    let mut session = Session::new(endpoint, args.max_bytes.get());
    let mut deliveries: Vec<Delivery> = Vec::new();
    let (mut done, mut failures) = (0, 0);
    while done < wanted {
        let timeout = args.timeout.map(|timeout| timeout.to_std());
        match session.next_transfer(&mut destination, timeout) {
            Ok(delivery) if args.forever => {
                show(args, &[delivery], started, to)?;
            }
            Ok(delivery) => deliveries.push(delivery),
            Err(error) if session.is_over(&error) => {
                session.close(Duration::ZERO);
                show_some(args, &deliveries, started, to)?;
                let so_far = Some(format!("transfers received: {}", done - failures));
                return Err(error).explain_progress("receiving ended early", so_far, "");
            }
            Err(error) => {
                eprint!("{}", failure::describe(&error));
                failures += 1;
            }
        }
        done += 1;
    }
    // Senders that are still waiting for our last word get some time to ask for it again.
    session.close(Duration::from_millis(500));
    show_some(args, &deliveries, started, to)?;
    Ok(if failures > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// How much of a job may be taken before it was looked at.
///
/// What is taken counts as arrived, so a sender could be told so of a file that is then refused. In a
/// folder, where names decide, nothing is taken early, at the price of a round trip per job; elsewhere
/// only size does.
fn early_bytes(destination: &Destination, max_bytes: Bytes) -> Bytes {
    if destination.is_folder() { Bytes::ZERO } else { max_bytes }
}

fn show_some(args: &RecvArgs, deliveries: &[Delivery], started: Instant, to: To) -> Result<()> {
    if deliveries.is_empty() { Ok(()) } else { show(args, deliveries, started, to) }
}

fn show(args: &RecvArgs, deliveries: &[Delivery], started: Instant, to: To) -> Result<()> {
    if let Some(path) = &args.missing {
        let mut missing = output::report(started);
        deliveries.iter().for_each(|delivery| delivery.missing_rows(&mut missing));
        output::save(&missing, path)?;
    }
    let mut report = output::report(started);
    deliveries.iter().for_each(|delivery| delivery.rows(&mut report));
    output::emit(&report, args.json, to, &COLUMNS)
}
