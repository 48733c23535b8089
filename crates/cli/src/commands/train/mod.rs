//! `laxity train`: the same training over TCP and over Laxity.
//!
//! `cast` says which rank does what; `rank` reduces with all others, `worker` talks to a server, `holder`
//! is one or helps one; `crew` holds their processes, `follow` listens to them, `results` shows what
//! came of it.

mod alike;
mod args;
mod carried;
mod cast;
mod crew;
mod follow;
mod holder;
mod network;
mod rank;
mod results;
mod tally;
mod word;
mod worker;

use std::{
    io::{self, Write},
    time::Instant,
};

use anyhow::Result;
use laxity_fabric::{
    Rank,
    rendezvous::{Settings, Transport},
};

pub(crate) use self::args::TrainArgs;
use self::{
    args::Method,
    carried::{CONGESTION, Carried},
    cast::{Cast, Part},
    follow::lead,
    network::Place,
    results::Run,
    word::Word,
};
use crate::{
    failure::{Explain, shown_when_stopped, usage},
    output,
    sys::signal,
};

/// Set by whoever starts ranks: rank 0 speaks in [`Word`]s.
const WORDS: &str = "LAXITY_TRAIN_WORDS";
/// Set by whoever will kill a rank: where a server and its replica leave their models.
const MODELS: &str = "LAXITY_TRAIN_MODELS";

/// More hold nobody's patience, and their steps could be too many to count.
const MOST_EPOCHS: usize = 1_000_000;

pub(crate) fn run(args: &TrainArgs) -> Result<()> {
    // An empty variable is one that is not set, here as everywhere.
    if std::env::var_os("RANK").is_some_and(|rank| !rank.is_empty()) {
        return take_part(args);
    }
    // Before anything is started: a name that no model has, or data that is not there.
    check(args)?;
    check_files(args)?;
    signal::watch();
    let started = Instant::now();
    let place = Place::new(args)?;
    let mut runs = Vec::new();
    let ended = lead_all(args, &place, &mut runs);
    let stopped = shown_when_stopped(ended, runs.iter().any(|run| !run.tests.is_empty()))?;
    results::show(args, &runs, stopped.is_some(), started)?;
    stopped.map_or(Ok(()), Err)
}

/// One training after the other; `runs` has what is known of each, also when one fails.
fn lead_all(args: &TrainArgs, place: &Place, runs: &mut Vec<Run>) -> Result<()> {
    let environment = std::env::var(CONGESTION).ok().filter(|control| !control.is_empty());
    for carried in Carried::all(args, environment) {
        signal::check()?;
        let mut run = Run::new(carried);
        let ended = lead(args, place, &mut run);
        runs.push(run);
        ended?;
    }
    Ok(())
}

/// This process is one rank, started by torchrun, by hand or by [`lead`].
fn take_part(args: &TrainArgs) -> Result<()> {
    let words = std::env::var_os(WORDS).is_some();
    let remedy = if words { "" } else { "unset RANK to start all ranks from here" };
    let mut settings = Settings::from_env().explain("cannot take part as a rank", remedy)?;
    if !words {
        // Whoever starts all ranks has looked.
        check(args)?;
        check_one(args, &settings)?;
        choose(args, &mut settings)?;
        // Of a server's workers the first is the one that writes, too, as long as it lives.
        if settings.rank == Rank::new(0) {
            rank::check_checkpoint(args, &Carried::of(args, &settings))?;
        }
    }
    let rank = settings.rank;
    let tell = |word: &Word| {
        let text = match words {
            true => serde_json::to_string(word).expect("words are plain data"),
            false => results::line(word),
        };
        // Whoever listened has gone: the training goes on.
        let _ = writeln!(io::stdout(), "{text}");
    };
    match (args.mode, Cast::new(args).part(rank)) {
        (Method::Allreduce, _) => rank::run(args, settings, tell),
        (_, Part::Worker(_)) => worker::run(args, settings, tell),
        _ => holder::run(args, settings, tell),
    }
}

/// What the command line says of the network goes before what the environment says.
fn choose(args: &TrainArgs, settings: &mut Settings) -> Result<()> {
    if let [way] = args.transport[..] {
        settings.transport = way.transport();
    }
    if let [control] = &args.tcp_control[..] {
        if settings.transport != Transport::Tcp {
            return Err(usage(
                "--tcp-control is about TCP, and this rank goes over Laxity: give all ranks \
                 --transport tcp, or leave that out",
            ));
        }
        settings.tcp.congestion = Some(control.clone());
    }
    Ok(())
}

/// Finds what cannot be read or written now, once, and not on every rank or after the training.
fn check_files(args: &TrainArgs) -> Result<()> {
    args.svg.as_deref().map_or(Ok(()), output::check_file)?;
    for carried in Carried::all(args, None) {
        rank::check_checkpoint(args, &carried)?;
    }
    // Models that learn from files have a second word in their names.
    if args.resume.is_some() || args.model.contains('-') {
        rank::start(args)?;
    }
    Ok(())
}

/// Refuses what only whoever starts all ranks could do, and ranks that nobody has a part for.
fn check_one(args: &TrainArgs, settings: &Settings) -> Result<()> {
    let (rank, world) = (settings.rank, settings.world);
    for (given, flag) in [
        (args.lab, "--lab"),
        (args.kill.is_some(), "--kill"),
        (args.svg.is_some(), "--svg"),
        (args.json, "--json"),
        (args.tcp_control.len() > 1, "more than one --tcp-control"),
        (args.transport.len() > 1, "more than one --transport"),
    ] {
        if given {
            return Err(usage(format!(
                "{flag} is for whoever starts all ranks, and with RANK set this process is {rank} and \
                 starts none: unset RANK, or leave that out"
            )));
        }
    }
    if let (Method::Allreduce, Some(ranks)) = (args.mode, args.ranks)
        && world != ranks
    {
        return Err(usage(format!(
            "--ranks {ranks}, and WORLD_SIZE is {world}: leave --ranks out, or give both the same number"
        )));
    }
    let cast = Cast::new(args);
    if args.mode != Method::Allreduce && world != cast.ranks() {
        return Err(usage(format!(
            "--mode {} with --ranks {} is for {}, and WORLD_SIZE is {world}: --ranks counts workers only",
            args.mode.name(),
            args.ranks(),
            cast.words(),
        )));
    }
    Ok(())
}

/// Refuses what makes no sense together.
fn check(args: &TrainArgs) -> Result<()> {
    if !laxity_learn::JOBS.contains(&args.model.as_str()) {
        let known = laxity_learn::JOBS.join(", ");
        return Err(usage(format!("there is no model `{}`; known are {known}", args.model)));
    }
    let server = args.replica || args.scheduler || args.aggregators > 0 || args.kill.is_some();
    if args.mode == Method::Allreduce && server {
        return Err(usage(
            "--replica, --scheduler, --aggregators and --kill need a server: give --mode sync, \
             async or ssp",
        ));
    }
    if args.epochs.is_some_and(|epochs| !(1..=MOST_EPOCHS).contains(&epochs)) {
        return Err(usage(format!("--epochs must lie between 1 and {MOST_EPOCHS}")));
    }
    if args.tests > 1 && args.mode != Method::Allreduce {
        return Err(usage(
            "--tests has a meaning in --mode allreduce only: workers of a server go on while one of them \
             tests, so times would not count",
        ));
    }
    let transports = args.transports();
    for (option, names) in [
        ("--tcp-control", args.tcp_control.iter().map(String::as_str).collect::<Vec<_>>()),
        ("--transport", transports.iter().map(|transport| transport.name()).collect()),
    ] {
        if let Some(twice) = (0..names.len()).find(|&at| names[..at].contains(&names[at])) {
            let name = names[twice];
            return Err(usage(format!("{option} names {name} twice: name each once")));
        }
    }
    if !args.tcp_control.is_empty() && !transports.contains(&Transport::Tcp) {
        return Err(usage("--tcp-control is about TCP, which --transport leaves out"));
    }
    if args.apart.is_nan() || args.apart < 0.0 {
        return Err(usage("--apart must be a number, 0 or above"));
    }
    if args.apart.is_finite() && !args.replica {
        return Err(usage("--apart is about the --replica, and there is none"));
    }
    if args.staleness.is_some() && !matches!(args.mode, Method::Async | Method::Ssp) {
        return Err(usage("--staleness has a meaning in --mode async and ssp only"));
    }
    if args.ahead.is_some() && args.mode != Method::Ssp {
        return Err(usage("--ahead has a meaning in --mode ssp only"));
    }
    if args.lab {
        network::star(args).check()?;
    }
    match args.kill {
        Some(victim) if Cast::new(args).last(victim.name()).is_none() => {
            let name = victim.name();
            Err(usage(format!("--kill {name}: there is none; --{name} or --{name}s brings one")))
        }
        Some(args::Victim::Server) if !args.replica => {
            Err(usage("--kill server ends the training unless there is a --replica"))
        }
        Some(args::Victim::Worker) if args.ranks() < 2 => {
            Err(usage("--kill worker needs --ranks of 2 or more: somebody has to go on"))
        }
        _ => Ok(()),
    }
}
