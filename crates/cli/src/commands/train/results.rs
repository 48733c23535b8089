//! What came of trainings: a table, a picture.

use std::time::Instant;

use anyhow::Result;
use laxity_report::{
    Row,
    chart::{Axis, LineChart, Series},
};

use super::{
    args::TrainArgs,
    word::{Epoch, Word},
};
use crate::{
    failure::Explain,
    output::{self, To},
};

/// One training.
pub(super) struct Run {
    /// What carried it.
    pub(super) transport: &'static str,
    /// Numbers in the model.
    pub(super) parameters: usize,
    /// How it went.
    pub(super) epochs: Vec<Epoch>,
    /// Of the parameters, which were the same on all ranks.
    pub(super) hash: Option<u64>,
}

impl Run {
    pub(super) fn new(transport: &'static str) -> Self {
        Self { transport, parameters: 0, epochs: Vec::new(), hash: None }
    }
}

/// A word, for people.
pub(super) fn line(word: &Word) -> String {
    match word {
        Word::Begin { steps, parameters } => format!("{steps} steps, {parameters} parameters"),
        Word::Step { step, loss } => format!("step {step}, loss {loss:.4}"),
        Word::Epoch(epoch) => format!(
            "epoch {}, {:.1} s: {:.1} points, loss {:.4}, {:.2} % delivered, {:.1} ms a step",
            epoch.epoch,
            epoch.seconds,
            epoch.score,
            epoch.test_loss,
            epoch.delivered * 100.0,
            epoch.step_ms
        ),
        Word::End { hash } => format!("all ranks have the same parameters ({hash:016x})"),
    }
}

/// Prints all trainings and draws them.
pub(super) fn show(args: &TrainArgs, runs: &[Run], started: Instant) -> Result<()> {
    let mut report = output::report(started);
    for run in runs {
        for epoch in &run.epochs {
            report.push(
                Row::new()
                    .with("model", args.model.as_str())
                    .with("transport", run.transport)
                    .with("ranks", args.ranks)
                    .with("parameters", run.parameters as u64)
                    .with("epoch", epoch.epoch as u64)
                    .with("seconds_s", epoch.seconds)
                    .with("score", epoch.score)
                    .with("test_loss", epoch.test_loss)
                    .with("train_loss", epoch.train_loss)
                    .with("delivered", epoch.delivered)
                    .with("step_ms", epoch.step_ms)
                    .with("step_p99_ms", epoch.step_p99_ms)
                    .with("reduce_ms", epoch.reduce_ms)
                    .with("identical", run.hash.is_some()),
            );
        }
    }
    if let Some(path) = &args.svg {
        std::fs::write(path, picture(args, runs)).explain(
            format!("cannot write `{}`", path.display()),
            "check that the folder exists and can be written to",
        )?;
    }
    let columns = [
        "transport",
        "epoch",
        "seconds_s",
        "score",
        "test_loss",
        "delivered",
        "step_ms",
        "step_p99_ms",
        "reduce_ms",
    ];
    output::emit(&report, args.json, To::Stdout, &columns)
}

fn picture(args: &TrainArgs, runs: &[Run]) -> String {
    let mut chart = LineChart::new(format!("Training {} on {} ranks", args.model, args.ranks))
        .x(Axis::linear("time of training").unit("s"))
        .y(Axis::linear("points on the test set"));
    for run in runs {
        let points = run.epochs.iter().map(|epoch| (epoch.seconds, epoch.score));
        chart = chart.series(Series::new(run.transport, points));
    }
    chart.to_svg()
}
