//! What came of trainings: a table, a picture.

use std::time::Instant;

use anyhow::Result;
use laxity_lab::engine::{Health, LateTimes};
use laxity_report::{
    Meta, Row,
    chart::{Axis, LineChart, Series},
};

use super::{
    args::TrainArgs,
    carried::Carried,
    follow::Service,
    network::LabSaid,
    word::{Tested, Word},
};
use crate::{
    failure::Explain,
    output::{self, To},
};

/// One training.
pub(super) struct Run {
    /// What carried it.
    pub(super) carried: Carried,
    /// Numbers in the model.
    pub(super) parameters: usize,
    /// Points before the first step.
    pub(super) began: Option<f64>,
    /// How it went.
    pub(super) tests: Vec<Tested>,
    /// Of the parameters, which were the same on all ranks.
    pub(super) hash: Option<u64>,
    /// What the server and its helpers did, if there was one.
    pub(super) service: Option<Service>,
    /// How the lab was, if it was in one.
    pub(super) lab: Option<LabSaid>,
}

impl Run {
    pub(super) fn new(carried: Carried) -> Self {
        Self {
            carried,
            parameters: 0,
            began: None,
            tests: Vec::new(),
            hash: None,
            service: None,
            lab: None,
        }
    }
}

/// A word, for people.
pub(super) fn line(word: &Word) -> String {
    match word {
        Word::Begin { steps, parameters, .. } => format!("{steps} steps, {parameters} parameters"),
        Word::Step { step, loss } => format!("step {step}, loss {loss:.4}"),
        Word::Tested(tested) => format!(
            "epoch {}, step {}, {:.1} s: {:.1} points, loss {:.4}, {:.2} % delivered, {:.1} ms a step",
            tested.epoch,
            tested.steps,
            tested.seconds,
            tested.score,
            tested.test_loss,
            tested.delivered * 100.0,
            tested.step_ms
        ),
        Word::Done(done) => {
            format!("done: {} updates count, {} do not", done.acknowledged, done.dropped)
        }
        Word::Held(held) => format!(
            "{} commits, {:.1} late on average, {:.2} % delivered",
            held.commits,
            held.delay_mean,
            held.delivered * 100.0
        ),
        Word::Promoted(promoted) => format!(
            "took over at version {} ({} was the last that the old server spoke of, {:.0} ms before)",
            promoted.commits, promoted.heard, promoted.silent_ms
        ),
        Word::End { hash } => format!("all ranks have the same parameters ({hash:016x})"),
    }
}

/// Prints all trainings and draws them, or what there is of them if they were stopped early.
pub(super) fn show(
    args: &TrainArgs,
    runs: &[Run],
    stopped_early: bool,
    started: Instant,
) -> Result<()> {
    let mut report = output::report(started);
    report.meta = meta(args, report.meta).with("stopped_early", stopped_early);
    for run in runs {
        for tested in &run.tests {
            report.push(
                Row::new()
                    .with("model", args.model.as_str())
                    .with("mode", args.mode.name())
                    .with("transport", run.carried.transport.name())
                    .with("control", run.carried.control())
                    .with("ranks", args.ranks())
                    .with("parameters", run.parameters as u64)
                    .with("epoch", tested.epoch as u64)
                    .with("steps", tested.steps as u64)
                    .with("seconds_s", tested.seconds)
                    .with("score", tested.score)
                    .with("test_loss", tested.test_loss)
                    .with("train_loss", tested.train_loss)
                    .with("delivered", tested.delivered)
                    .with("step_ms", tested.step_ms)
                    .with("step_p99_ms", tested.step_p99_ms)
                    .with("reduce_ms", tested.reduce_ms)
                    // With a server there is one model; before the end nobody knows.
                    .with("identical", run.hash.map(|_| true))
                    .with("lab_valid", run.lab.as_ref().map(|lab| lab.health.is_valid()))
                    .with("lab_late_p99_us", run.lab.as_ref().map(|lab| late_us(&lab.health)))
                    .with("host_wait_p99_ms", run.lab.as_ref().map(|lab| wait_ms(&lab.turns)))
                    .with("other_load", run.lab.as_ref().map(|lab| lab.other_load)),
            );
        }
        if let (Some(service), Some(row)) = (&run.service, report.rows.last_mut()) {
            *row = serve(std::mem::take(row), args, service);
        }
    }
    for run in runs {
        let health = run.lab.as_ref().map(|lab| &lab.health);
        if let Some(health) = health.filter(|health| !health.is_valid()) {
            eprintln!(
                "note: over {} the lab did not keep time (late by {:.0} µs at p99, {} packets lost in the \
                 machine): its times do not count; a machine with less to do would help",
                run.carried.name(),
                late_us(health),
                health.ring_drops + health.refused
            );
        }
    }
    for run in runs {
        let waits = run.lab.as_ref().map(|lab| wait_ms(&lab.turns)).filter(|ms| *ms > LONG_WAIT_MS);
        if let Some(waits) = waits {
            eprintln!(
                "note: over {} ranks waited for a processor for up to {waits:.0} ms (p99): they share too few, \
                 and its times are of the machine as much as of the network",
                run.carried.name()
            );
        }
    }
    let mut columns = vec![
        "transport",
        "control",
        "epoch",
        "steps",
        "seconds_s",
        "score",
        "test_loss",
        "delivered",
        "step_ms",
        "step_p99_ms",
        "reduce_ms",
    ];
    columns.extend((args.background.get() > 0.0).then_some("other_load"));
    output::emit(&report, args.json, To::Stdout, &columns)?;
    if !args.json {
        output::print(&words(runs), To::Stdout)?;
    }
    // Last: a disk that is full takes nothing else away.
    match &args.svg {
        Some(path) => std::fs::write(path, picture(args, runs)).explain(
            format!("cannot write `{}`", path.display()),
            "check that the folder exists and can be written to",
        ),
        None => Ok(()),
    }
}

/// What the trainings have in common.
fn meta(args: &TrainArgs, meta: Meta) -> Meta {
    let meta = meta.seed(args.seed);
    if !args.lab {
        return meta;
    }
    meta.with("rate_gbps", args.rate.as_gbps_f64())
        .with("rtt_us", args.rtt.as_us())
        .with("loss", args.loss.get())
        .with("buffer_bytes", args.buffer.get())
        .with("background", args.background.get())
        .with("mtu_bytes", args.mtu)
}

/// A rank that waits as long as this for a processor spends more time there than in most networks.
const LONG_WAIT_MS: f64 = 50.0;

fn wait_ms(turns: &LateTimes) -> f64 {
    turns.p99.as_secs_f64() * 1e3
}

fn late_us(health: &Health) -> f64 {
    health.lateness.p99.as_secs_f64() * 1e6
}

/// What the server did, beside the last epoch.
fn serve(row: Row, args: &TrainArgs, service: &Service) -> Row {
    let Service { held, promoted, .. } = service;
    row.with("commits", held.commits)
        .with("acknowledged", service.acknowledged)
        .with("dropped", service.dropped)
        .with("delay_mean", held.delay_mean)
        .with("delay_max", service.delay_max)
        .with("promotions", u64::from(held.epoch))
        .with("killed", args.kill.filter(|_| service.killed).map(super::args::Victim::name))
        .with("takeover_ms", service.takeover_ms)
        .with("promotion_ms", service.promotion_ms)
        .with("promoted_at", promoted.map(|promoted| promoted.commits))
        .with("apart_bound", args.apart.is_finite().then_some(args.apart))
        .with("apart_max", service.apart_max)
        .with("divergence", service.divergence)
}

/// The same for people.
fn words(runs: &[Run]) -> String {
    let mut text = String::new();
    for (run, service) in runs.iter().filter_map(|run| Some((run, run.service.as_ref()?))) {
        let Service { held, .. } = service;
        text += &format!(
            "{}: {} commits, {} updates acknowledged, {} dropped, {:.2} commits late on average \
             ({} at most)\n",
            run.carried.name(),
            held.commits,
            service.acknowledged,
            service.dropped,
            held.delay_mean,
            service.delay_max
        );
        if let (Some(took), Some(went)) = (service.takeover_ms, service.promotion_ms) {
            text += &format!(
                "{}: the replica took over {took:.0} ms after the kill and committed its first update \
                 after {went:.0} ms",
                run.carried.name()
            );
            if let Some(far) = service.divergence {
                text += &format!("; both models were {far:.3e} apart");
            }
            text += "\n";
        }
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn picture(args: &TrainArgs, runs: &[Run]) -> String {
    let mut chart = LineChart::new(format!("Training {} on {} ranks", args.model, args.ranks()))
        .x(Axis::linear("time of training").unit("s"))
        .y(Axis::linear("points on the test set"));
    for run in runs {
        let began = run.began.map(|score| (0.0, score));
        let tests = run.tests.iter().map(|tested| (tested.seconds, tested.score));
        let points = began.into_iter().chain(tests);
        chart = chart.series(Series::new(run.carried.name(), points));
    }
    chart.to_svg()
}
