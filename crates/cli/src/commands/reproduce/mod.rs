//! `laxity reproduce`: the papers' figures and tables, by name.

mod files;
mod list;
mod page;
mod show;

use std::{path::PathBuf, time::Instant};

use anyhow::{Result, anyhow};
use clap::Args;
use laxity_report::{Claim, Report, Row};
use laxity_reproduce::{Family, Findings, Found, Memory, Options, Progress, all, find};

use crate::{
    failure::{Explain, usage},
    output::{self, To},
    progress,
};

/// Run the experiments of the papers that Laxity grew from, and say which claims hold here
///
/// Each prints its rows with the paper's numbers beside them, the paper's claims with whether they hold,
/// what had to be chosen because the paper leaves it open, and a sentence on each difference. A claim
/// that does not hold is a result, not a failure: the exit code is 0.
#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// Names of experiments; `list` shows them, `all` is everything that runs.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Take less than a minute for each, with fewer runs or smaller sizes.
    #[arg(long)]
    quick: bool,
    /// Only those of this paper: cadentflow, bounded, netapprox or mlfabric; may be repeated.
    #[arg(long, value_name = "NAME")]
    family: Vec<Family>,
    /// The seed of everything that is random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write NAME.csv, NAME.json, charts and index.html into this folder.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
}

/// An experiment that was run.
struct Done {
    found: Found,
    findings: Findings,
    /// Its rows and claims, with its own time and seed.
    report: Report,
}

/// Runs some.
pub(crate) fn run(args: &ReproduceArgs) -> Result<()> {
    let started = Instant::now();
    if args.names.iter().any(|name| name == "list") {
        if args.names.len() > 1 {
            return Err(usage("`list` stands alone: give it, or names of experiments"));
        }
        return list::run(&args.family, args.json, started);
    }
    let chosen = choose(args)?;
    if let Some(folder) = &args.out {
        files::prepare(folder)?;
    }
    let (mut done, memory) = (Vec::new(), Memory::new());
    for (at, found) in chosen.iter().enumerate() {
        let one = perform(args, *found, &memory, (at, chosen.len()))?;
        if let Some(folder) = &args.out {
            files::write(folder, &one)?;
        }
        if !args.json {
            output::print(&show::text(&one), To::Stdout)?;
        }
        done.push(one);
    }
    let summary = together(args, &done, started);
    if let Some(folder) = &args.out {
        files::write_page(folder, &done, &summary)?;
    }
    if args.json {
        return output::print(&show::json(&summary, &done), To::Stdout);
    }
    output::print(&show::total(&done, args.out.as_deref()), To::Stdout)
}

/// The experiments that were asked for, each once, in the order of the request.
fn choose(args: &ReproduceArgs) -> Result<Vec<Found>> {
    let wanted =
        |found: &Found| args.family.is_empty() || args.family.contains(&found.entry.family);
    let mut chosen: Vec<Found> = Vec::new();
    for name in &args.names {
        if name == "all" {
            chosen.extend(all().filter(|found| wanted(found) && found.experiment.is_some()));
            continue;
        }
        let found = find(name).map_err(|error| usage(error.to_string()))?;
        if !wanted(&found) {
            return Err(usage(format!("`{name}` is not of the family that --family asks for")));
        }
        if found.experiment.is_none() {
            return Err(anyhow!("nobody has written it yet")).explain(
                format!("cannot run `{name}`"),
                "`laxity reproduce list` shows which experiments run",
            );
        }
        chosen.push(found);
    }
    let mut seen = std::collections::BTreeSet::new();
    chosen.retain(|found| seen.insert(found.entry.name));
    if chosen.is_empty() {
        return Err(anyhow!("none of this family is written yet")).explain(
            "there is nothing to run",
            "`laxity reproduce list` shows which experiments run",
        );
    }
    Ok(chosen)
}

fn perform(
    args: &ReproduceArgs,
    found: Found,
    memory: &Memory,
    (at, of): (usize, usize),
) -> Result<Done> {
    let (name, started) = (found.entry.name, Instant::now());
    let place = if of > 1 { format!(" ({} of {of})", at + 1) } else { String::new() };
    let bar = progress::spinner(format!("{name}{place}"));
    let told = bar.clone();
    let options = Options {
        quick: args.quick,
        seed: args.seed,
        out: args.out.clone(),
        progress: Progress::new(move |what, done, of| {
            let count = if of > 0 { format!("{done} of {of} done, ") } else { String::new() };
            told.set_message(format!("{name}{place}: {count}{what}"));
        }),
        memory: memory.clone(),
    };
    let experiment = found.experiment.expect("only those that run are chosen");
    let findings = experiment.run(&options).explain(format!("cannot run `{name}`"), "")?;
    bar.finish_and_clear();
    let mut report = output::report(started);
    report.meta = report
        .meta
        .seed(args.seed)
        .with("experiment", name)
        .with("paper", found.entry.family.seed())
        .with("quick", args.quick);
    report.rows.clone_from(&findings.rows);
    report.claims.clone_from(&findings.claims);
    Ok(Done { found, findings, report })
}

/// One report of everything; with several experiments, rows and claims say which they are of.
fn together(args: &ReproduceArgs, done: &[Done], started: Instant) -> Report {
    let mut report = output::report(started);
    report.meta = report.meta.seed(args.seed).with("quick", args.quick);
    let several = done.len() > 1;
    for one in done {
        let name = one.found.entry.name;
        for row in &one.findings.rows {
            let first = Row::new().with("experiment", name);
            report.push(
                row.fields()
                    .fold(first, |all, (field, value)| all.with(field.to_owned(), value.clone())),
            );
        }
        for claim in &one.findings.claims {
            let text =
                if several { format!("{name}: {}", claim.claim) } else { claim.claim.clone() };
            report.claims.push(Claim { claim: text, ..claim.clone() });
        }
    }
    report
}
