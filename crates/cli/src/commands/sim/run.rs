//! `laxity sim run`: one point, one seed.

use std::{
    fs::File,
    io::BufWriter,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::Result;
use clap::Args;
use laxity_interface::Time;
use laxity_packetsim::{
    JsonLines, Observer, Pcap, TraceEvent,
    scenario::{Point, Ran},
};

use super::{files, pictures, read, rows};
use crate::{
    failure::Explain,
    output::{self, To},
    progress,
};

/// Simulate one combination of values with one seed
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The scenario.
    file: PathBuf,
    /// Which combination of values, if fields have several.
    #[arg(long, value_name = "K", default_value_t = 0)]
    point: u64,
    /// The seed. Default: the first of the file.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Write every packet that leaves a queue to a capture file for Wireshark.
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Write everything that happens as JSON, one line each.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Write CSV, JSON, SVG and a page to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &RunArgs) -> Result<()> {
    let started = Instant::now();
    let scenario = read::scenario(&args.file)?;
    let point = read::point(&scenario, args.point)?;
    let seed = read::seed(&scenario, args.seed);
    args.out.as_deref().map_or(Ok(()), output::make_folder)?;
    let bar = progress::spinner(format!("simulating {}", scenario.name()));
    let ran = watch(args, &point, seed)?;
    bar.finish_and_clear();
    let mut report = output::report(started);
    report.meta =
        report.meta.seed(seed).with("scenario", scenario.name()).with("point", point.index);
    report.rows = rows::of_run(&point, &ran);
    if let Some(folder) = &args.out {
        let page = files::Page {
            title: format!("{}: point {}, seed {seed}", scenario.name(), point.index),
            intro: scenario.about().unwrap_or_default().to_owned(),
            file: args.file.clone(),
            pictures: pictures::distributions(&point, &ran.workloads),
        };
        files::write(folder, &page, &report, rows::RUN_COLUMNS, None)?;
    }
    if args.json {
        return output::emit(&report, true, To::Stdout, &[]);
    }
    output::emit(&report, false, To::Stdout, rows::RUN_COLUMNS)?;
    output::print(&words(&point, &ran), To::Stdout)
}

/// Runs it, with traces if somebody wants them.
fn watch(args: &RunArgs, point: &Point, seed: u64) -> Result<Ran> {
    let cannot = || format!("cannot simulate point {}", point.index);
    let mut pcap = args.pcap.as_deref().map(create).transpose()?;
    let mut trace = args.trace.as_deref().map(create).transpose()?;
    if pcap.is_none() && trace.is_none() {
        return point.run(seed).explain(cannot(), "");
    }
    let mut both = Both {
        pcap: pcap
            .take()
            .map(|out| Pcap::new(out, None))
            .transpose()
            .explain("cannot write", "")?,
        lines: trace.take().map(JsonLines::new),
    };
    let ran = point.run_with(seed, None, Some(&mut both)).explain(cannot(), "")?;
    let remedy = "is there room for it? A capture has about 100 bytes per packet and queue";
    if let (Some(pcap), Some(path)) = (both.pcap, &args.pcap) {
        pcap.finish().explain(format!("cannot write `{}`", path.display()), remedy)?;
    }
    if let (Some(lines), Some(path)) = (both.lines, &args.trace) {
        lines.finish().explain(format!("cannot write `{}`", path.display()), remedy)?;
    }
    Ok(ran)
}

fn create(path: &Path) -> Result<BufWriter<File>> {
    let file = File::create(path).explain(
        format!("cannot write `{}`", path.display()),
        "check that the folder exists and can be written to",
    )?;
    Ok(BufWriter::new(file))
}

/// Whoever wants to see what happens.
struct Both {
    pcap: Option<Pcap<BufWriter<File>>>,
    lines: Option<JsonLines<BufWriter<File>>>,
}

impl Observer for Both {
    fn on_event(&mut self, time: Time, event: &TraceEvent<'_>) {
        if let Some(pcap) = &mut self.pcap {
            pcap.on_event(time, event);
        }
        if let Some(lines) = &mut self.lines {
            lines.on_event(time, event);
        }
    }
}

/// What the network did, and what did not end.
fn words(point: &Point, ran: &Ran) -> String {
    let outcome = &ran.outcome;
    let mut text = format!(
        "\n{} packet-hops until {:.3} ms; {} data packets sent ({} again), {} dropped, {} marked, {} \
         trimmed, {} timeouts; trace {:016x}\n",
        outcome.packet_hops,
        outcome.end.as_ps() as f64 / 1e9,
        outcome.tally.data_packets,
        outcome.tally.again,
        outcome.drops,
        outcome.marks,
        outcome.trimmed,
        outcome.tally.timeouts,
        outcome.trace_hash
    );
    for (workload, measured) in point.workloads.iter().zip(&ran.workloads) {
        if measured.unfinished_flows > 0 {
            let why = if workload.background { " (background)" } else { "" };
            text += &format!(
                "{}{why}: {} of {} flows had not ended; the times above are without them\n",
                workload.name, measured.unfinished_flows, measured.flows
            );
        }
        if measured.short_flows > 0 {
            text += &format!(
                "{}: {} of {} flows ended with less than was promised\n",
                workload.name, measured.short_flows, measured.flows
            );
        }
    }
    text
}
