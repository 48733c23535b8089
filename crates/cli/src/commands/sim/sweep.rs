//! `laxity sim sweep`: all points with all seeds.

use std::{path::PathBuf, time::Instant};

use anyhow::Result;
use clap::Args;
use laxity_packetsim::scenario::{Ran, Scenario, Task, run_all};
use laxity_report::{Report, Row};

use super::{files, pictures, pool, read, rows};
use crate::{
    failure::{Explain, usage},
    output::{self, To},
    progress,
};

/// Simulate every combination of values with every seed, on all cores
///
/// Results do not depend on the number of threads. Each row of runs.csv has the point and the seed with which
/// `laxity sim run FILE --point K --seed N` repeats it, packet by packet.
#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    /// The scenario.
    file: PathBuf,
    /// Only this combination of values.
    #[arg(long, value_name = "K")]
    point: Option<u64>,
    /// Only this seed, instead of those of the file.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How many run at once. Default: as many as there are cores.
    #[arg(long)]
    threads: Option<usize>,
    /// Write CSV, JSON, SVG and a page to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &SweepArgs) -> Result<()> {
    let started = Instant::now();
    let scenario = read::scenario(&args.file)?;
    let tasks = tasks(args, &scenario)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.unwrap_or(cores);
    if threads == 0 {
        return Err(usage("--threads 0: give at least 1"));
    }
    args.out.as_deref().map_or(Ok(()), output::make_folder)?;
    let bar = progress::count(tasks.len() as u64, scenario.name().to_owned());
    let keep = |task: &Task, ran: Ran| {
        bar.inc(1);
        (rows::of_run(&task.point, &ran), ran.workloads)
    };
    let all = run_all(&tasks, threads, keep);
    bar.finish_and_clear();
    let (runs, measured): (Vec<Vec<Row>>, Vec<_>) =
        all.explain("cannot simulate", "")?.into_iter().unzip();
    let pooled = pool::pool(&tasks, measured);
    let mut report = output::report(started);
    report.meta = report.meta.with("scenario", scenario.name()).with("runs", tasks.len());
    if let Some(seed) = args.seed {
        report.meta = report.meta.seed(seed);
    }
    report.rows = pooled.iter().flat_map(pool::Pooled::rows).collect();
    let columns = columns(&pooled);
    let columns: Vec<_> = columns.iter().map(String::as_str).collect();
    if let Some(folder) = &args.out {
        let page = files::Page {
            title: scenario.name().to_owned(),
            intro: scenario.about().unwrap_or_default().to_owned(),
            file: args.file.clone(),
            pictures: pictures::sweep(&pooled),
        };
        let rows = runs.into_iter().flatten().collect();
        let runs = Report { meta: report.meta.clone(), rows, claims: Vec::new() };
        files::write(folder, &page, &report, &columns, Some(&runs))?;
    }
    if args.json {
        return output::emit(&report, true, To::Stdout, &[]);
    }
    output::emit(&report, false, To::Stdout, &columns)?;
    let unfinished: usize = pooled
        .iter()
        .flat_map(|point| (0..point.point.workloads.len()).map(|at| point.together(at)))
        .map(|measured| measured.unfinished_jobs)
        .sum();
    if unfinished > 0 {
        let text = format!(
            "\n{unfinished} jobs had not ended when their simulation did; times are without them\n"
        );
        output::print(&text, To::Stdout)?;
    }
    Ok(())
}

fn tasks(args: &SweepArgs, scenario: &Scenario) -> Result<Vec<Task>> {
    let mut tasks = match args.point {
        None => scenario.tasks(),
        Some(index) => {
            let point = read::point(scenario, index)?;
            let task = |seed: &u64| Task { point: point.clone(), seed: *seed };
            scenario.seeds().iter().map(task).collect()
        }
    };
    if let Some(seed) = args.seed {
        tasks.dedup_by_key(|task| task.point.index);
        for task in &mut tasks {
            task.seed = seed;
        }
    }
    Ok(tasks)
}

/// The settings that differ, then what was measured.
fn columns(pooled: &[pool::Pooled]) -> Vec<String> {
    let settings = pooled.first().map_or(&[][..], |first| &first.point.settings);
    let mut columns = vec!["point".to_owned()];
    columns.extend(settings.iter().map(|(name, _)| rows::field(name)));
    let fixed = pool::COLUMNS.iter().map(|name| (*name).to_owned());
    let known = columns.clone();
    columns.extend(fixed.filter(|name| !known.contains(name)));
    columns
}
