//! `laxity send`: files or a stream to a peer.

mod args;
mod groups;
mod input;
mod transfer;

use std::time::Instant;

use anyhow::Result;

pub(crate) use args::SendArgs;

use self::{groups::Groups, input::Input, transfer::Transfer};
use crate::{
    commands::connect::{Route, connect},
    delivery::COLUMNS,
    failure::{shown_when_stopped, usage},
    output::{self, To},
    sys::signal,
};

/// Runs it.
pub(crate) fn run(args: &SendArgs) -> Result<()> {
    let started = Instant::now();
    // Everything that can be wrong on this side is found before anybody is called.
    let protection = args.key.protection()?;
    let groups = Groups::new(&args.group, args.min_delivery, args.element)?;
    if args.label.is_some() && args.inputs().len() > 1 {
        return Err(usage(
            "--label names one input; leave it away to send files under their names",
        ));
    }
    args.missing.as_deref().map_or(Ok(()), output::check_file)?;
    let mut inputs = Vec::new();
    for path in args.inputs() {
        inputs.push(Input::open(&path, args.element, &groups)?);
    }
    signal::watch();
    let route =
        Route { to: &args.to, bind: args.bind.as_deref(), timeout: args.connect_timeout.to_std() };
    let reached = connect(&route, &args.network, &protection)?;
    let mut deliveries = Vec::new();
    let ended = inputs.into_iter().try_for_each(|input| {
        deliveries.push(Transfer::new(args, &groups, &reached).run(input)?);
        Ok(())
    });
    // What has arrived before something failed has arrived, and is told first.
    let stopped = shown_when_stopped(ended, !deliveries.is_empty())?;
    let mut report = output::report(started);
    report.meta = report.meta.with("stopped_early", stopped.is_some());
    deliveries.iter().for_each(|delivery| delivery.rows(&mut report));
    if let Some(path) = &args.missing {
        let mut missing = output::report(started);
        deliveries.iter().for_each(|delivery| delivery.missing_rows(&mut missing));
        output::save(&missing, path)?;
    }
    // Tells the peer that nothing more comes, so that it need not wait for us.
    drop(reached);
    output::emit(&report, args.json, To::Stdout, &COLUMNS)?;
    stopped.map_or(Ok(()), Err)
}
