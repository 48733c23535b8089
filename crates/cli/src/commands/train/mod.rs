//! `laxity train`: the same training over TCP and over Laxity.

mod args;
mod crew;
mod network;
mod rank;
mod results;
mod word;

use std::{
    io::{self, Write},
    time::Instant,
};

use anyhow::{Context, Result};
use laxity_fabric::rendezvous::Settings;

pub(crate) use self::args::TrainArgs;
use self::{crew::Crew, network::Place, results::Run, word::Word};
use crate::{
    failure::{Explain, usage},
    progress,
    sys::signal,
};

/// Set by whoever starts ranks: rank 0 speaks in [`Word`]s.
const WORDS: &str = "LAXITY_TRAIN_WORDS";

pub(crate) fn run(args: &TrainArgs) -> Result<()> {
    if std::env::var_os("RANK").is_some() {
        return take_part(args);
    }
    // Before anything is started: a name that no model has, or data that is not there.
    if !laxity_learn::JOBS.contains(&args.model.as_str()) {
        let known = laxity_learn::JOBS.join(", ");
        return Err(usage(format!("there is no model `{}`; known are {known}", args.model)));
    }
    signal::watch();
    let started = Instant::now();
    let place = Place::new(args)?;
    let mut runs = Vec::new();
    for carried in &args.transport {
        runs.push(lead(args, carried.transport().name(), &place)?);
    }
    results::show(args, &runs, started)
}

/// This process is one rank, started by torchrun, by hand or by [`lead`].
fn take_part(args: &TrainArgs) -> Result<()> {
    let settings = Settings::from_env()
        .explain("cannot tell which rank this is", "unset RANK to start all ranks from here")?;
    let words = std::env::var_os(WORDS).is_some();
    rank::run(args, settings, |word| {
        let text = match words {
            true => serde_json::to_string(word).expect("words are plain data"),
            false => results::line(word),
        };
        // Whoever listened has gone: the training goes on.
        let _ = writeln!(io::stdout(), "{text}");
    })
}

/// Starts all ranks and follows rank 0 to its end.
fn lead(args: &TrainArgs, transport: &'static str, place: &Place) -> Result<Run> {
    let mut crew = Crew::start(args, transport, place)?;
    let mut run = Run::new(transport);
    let bar = progress::count(0, format!("{} over {transport}: ranks meet", args.model));
    while let Some(word) = crew.next()? {
        match word {
            Word::Begin { steps, parameters } => {
                bar.set_length(steps as u64);
                run.parameters = parameters;
            }
            Word::Step { step, loss } => {
                bar.set_position(step as u64);
                bar.set_message(format!("{} over {transport}: loss {loss:.3}", args.model));
            }
            Word::Epoch(epoch) => {
                let Run { epochs, .. } = &mut run;
                epochs.push(epoch);
                bar.println(format!("{transport}: {}", results::line(&Word::Epoch(epoch))));
            }
            Word::End { hash } => run.hash = Some(hash),
        }
    }
    bar.finish_and_clear();
    crew.end().with_context(|| format!("the training over {transport} did not end well"))?;
    Ok(run)
}
