//! `laxity controller`: plans for a cluster, as a process.

mod access;
mod certificate;
mod show;
mod status;

use std::{
    path::PathBuf,
    sync::mpsc::RecvTimeoutError,
    time::{Duration, Instant},
};

use anyhow::Result;
use clap::{Args, Subcommand};
use laxity_controller::{ControllerServer, Options, ServerOptions, TlsIdentity};
use laxity_fabric::rendezvous::Secret;
use laxity_interface::{Rate, Span};
use laxity_planner::Scheme;

pub(crate) use self::access::AccessArgs;
use self::show::Shown;
use crate::{
    address,
    args::KeyArgs,
    failure::{Explain, usage},
    sys::signal,
    wait::TICK,
};

/// Plan who sends what, when, how fast and through whom, for all hosts of a cluster
///
/// Hosts register with the job's key, tell what they can send and what they want to, and are told
/// their plans. Without the controller they go on by their own rules, and come back by themselves.
/// The state survives a restart.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = AFTER)]
pub(crate) struct ControllerArgs {
    #[command(subcommand)]
    what: Option<What>,

    /// Where to listen: `HOST:PORT`, or `:PORT` for every address of this machine.
    #[arg(long, value_name = "ADDRESS", default_value = ":7400")]
    listen: String,

    /// What it calls itself.
    #[arg(long, default_value = "controller")]
    name: String,

    /// The folder of its state; without one, nothing survives the process.
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,

    /// The folder of its certificate, made by `laxity controller certificate DIR`; not needed with
    /// --insecure.
    #[arg(long, value_name = "DIR")]
    certificate: Option<PathBuf>,

    /// How flows are planned: max-min, weighted, node-ordered, connection-ordered, madd, varys,
    /// sincronia, aalo, priority, deadline or combined.
    #[arg(long, default_value = "combined")]
    scheme: Scheme,

    /// After something has come or gone, how long others are gathered before all are planned.
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    interval: Span,

    /// What a host sends and receives that does not say.
    #[arg(long, value_name = "RATE", default_value = "10Gbps")]
    usual_rate: Rate,

    /// How long a host that is away keeps its name and its jobs.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    lease: Span,

    /// Print what happens as JSON, one object a line, on stdout.
    #[arg(long)]
    json: bool,

    /// Also say when a round was planned.
    #[arg(long)]
    rounds: bool,

    #[command(flatten)]
    key: KeyArgs,
}

const AFTER: &str = "\
To begin with:
  laxity keygen job.key                       # once; copy it to all hosts
  laxity controller certificate ctl           # once; copy ctl/controller.pem to all hosts
  laxity controller --certificate ctl --key-file job.key --state ctl/state
  laxity controller status --controller HOST:7400 --certificate controller.pem --key-file job.key
  laxity why JOB --controller HOST:7400 --certificate controller.pem --key-file job.key";

#[derive(Debug, Subcommand)]
enum What {
    Certificate(certificate::CertificateArgs),
    Status(status::StatusArgs),
}

/// Runs it.
pub(crate) fn run(args: &ControllerArgs) -> Result<()> {
    match &args.what {
        Some(What::Certificate(args)) => certificate::run(args),
        Some(What::Status(args)) => status::run(args),
        None => serve(args),
    }
}

fn tls(args: &ControllerArgs, secret: &Secret) -> Result<Option<TlsIdentity>> {
    match (&args.certificate, secret) {
        (Some(folder), _) => Ok(Some(TlsIdentity::read(folder).explain(
            format!("cannot use the certificate in `{}`", folder.display()),
            "make one with `laxity controller certificate DIR`",
        )?)),
        (None, Secret::Insecure) => Ok(None),
        (None, Secret::Key(_)) => Err(usage(
            "no certificate was given\n  \
             try:     make one with `laxity controller certificate ctl`, copy ctl/controller.pem to \
             all hosts, and give `--certificate ctl`; `--insecure` does without any protection",
        )),
    }
}

/// What is said at the end without --state.
const SAVED_NOT: &str = "without --state nothing is saved";

fn serve(args: &ControllerArgs) -> Result<()> {
    if args.usual_rate == Rate::ZERO {
        return Err(usage("--usual-rate must be above 0: hosts that say nothing would never send"));
    }
    let secret = access::secret(&args.key)?;
    let tls = tls(args, &secret)?;
    let mut options = Options::new(&args.name);
    options.flows.scheme = args.scheme;
    (options.interval, options.usual, options.lease) = (args.interval, args.usual_rate, args.lease);
    signal::watch();
    let server = start(args, &secret, tls.as_ref(), &options)?;
    // On stderr and in this form always: scripts that listen on port 0 read the port from here.
    eprintln!("listening on {}", server.address());
    let mut shown = Shown::new(args.json, args.rounds, server.incarnation());
    let mut looked = Instant::now();
    loop {
        if signal::check().is_err() {
            // A signal is how this is meant to end.
            shown.finish();
            server.stop();
            eprintln!(
                "stopped; {}",
                if args.state.is_some() { "the state is saved" } else { SAVED_NOT }
            );
            return Ok(());
        }
        match server.events().recv_timeout(TICK) {
            Ok(happened) => shown.event(&happened)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                anyhow::bail!("the controller's thread has ended, which is a bug")
            }
        }
        if looked.elapsed() > Duration::from_millis(500) {
            shown.tick();
            looked = Instant::now();
        }
    }
}

/// On the first address that can be had.
fn start(
    args: &ControllerArgs,
    secret: &Secret,
    tls: Option<&TlsIdentity>,
    options: &Options,
) -> Result<ControllerServer> {
    let mut outcome = Err(usage("no address to listen on"));
    for listen in address::to_bind(&args.listen)? {
        let started = ControllerServer::start(ServerOptions {
            listen,
            secret: secret.clone(),
            tls: tls.cloned(),
            state: args.state.clone(),
            options: options.clone(),
        });
        match started {
            Ok(server) => return Ok(server),
            Err(error) => outcome = Err(error).explain("the controller does not start", ""),
        }
    }
    outcome
}
