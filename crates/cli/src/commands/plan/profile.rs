//! `laxity plan profile`: what a model computes and exchanges.

use std::{path::PathBuf, time::Instant};

use anyhow::Result;
use clap::Args;
use laxity_flowsim::{
    profile::{Device, Pass, Profile, import, shipped},
    training::{Control, Setting, measure},
};
use laxity_interface::Rate;
use laxity_report::Row;

use super::read;
use crate::{
    failure::Explain,
    output::{self, To},
};

/// Show a model: sizes, compute times, and an iteration of training
///
/// NAME is a model that is inside (`list` names them), or a file: a profile in TOML or JSON, a compact
/// table (.csv), a graph of PipeDream (.txt), a graph of TensorFlow-Slim (MODEL.graph.csv beside
/// MODEL.params.csv), or with --source and --model a table of layers of several models.
#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    /// A model, a file, or `list`.
    name: String,
    /// What the device achieves, in floating-point operations per second; default: a K80's GPU.
    #[arg(long, value_name = "FLOPS", default_value_t = Device::K80.flops_per_s)]
    device: f64,
    /// The source to pick from a table of layers.
    #[arg(long, requires = "model")]
    source: Option<String>,
    /// The model to pick from a table of layers.
    #[arg(long, requires = "source")]
    model: Option<String>,
    /// Samples in an iteration; default: what the profile says.
    #[arg(long)]
    batch: Option<u32>,
    /// Workers of the training.
    #[arg(long, default_value_t = 8)]
    workers: u32,
    /// Parameter servers of the training.
    #[arg(long, default_value_t = 8)]
    servers: u32,
    /// What every host sends and receives.
    #[arg(long, default_value = "10Gbps")]
    nic: Rate,
    /// Show iteration times under each control instead of the operations.
    #[arg(long)]
    training: bool,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ProfileArgs) -> Result<()> {
    let started = Instant::now();
    let mut report = output::report(started);
    if args.name == "list" {
        for name in shipped::names() {
            let profile = shipped::model(name)?;
            report.push(summary(args, &profile).with("paper", shipped::PAPER.contains(&name)));
        }
        return output::emit(&report, args.json, To::Stdout, LIST);
    }
    let mut profile = load(args)?;
    if let Some(batch) = args.batch {
        profile = profile.with_batch(batch);
    }
    report.meta = report
        .meta
        .with("model", profile.model.as_str())
        .with("source", profile.source.as_str())
        .with("device_flops_per_s", args.device);
    if args.training {
        let setting = Setting {
            nic: args.nic,
            device: device(args),
            ..Setting::new(args.workers.max(1), args.servers.max(1))
        };
        for control in Control::ALL {
            let found = measure(&profile, &setting, control)?;
            let ms = |span: laxity_interface::Span| span.as_secs_f64() * 1e3;
            report.push(
                Row::new()
                    .with("control", control.name())
                    .with("iteration_ms", ms(found.time))
                    .with("compute_ms", ms(found.compute))
                    .with("forward_cct_ms", ms(found.forward_cct))
                    .with("backward_cct_ms", found.backward_cct.map(ms))
                    .with("forward_flexibility", found.forward_flexibility)
                    .with("backward_flexibility", found.backward_flexibility),
            );
        }
        return output::emit(&report, args.json, To::Stdout, TRAINING);
    }
    for step in &profile.steps {
        let bytes =
            |list: &[usize]| list.iter().map(|at| profile.parameters[*at].size.get()).sum::<u64>();
        report.push(
            Row::new()
                .with("operation", step.name.as_str())
                .with("pass", if step.pass == Pass::Forward { "forward" } else { "backward" })
                .with("takes_ms", profile.time_of(step, &device(args)).as_secs_f64() * 1e3)
                .with("reads", step.reads.len())
                .with("read_bytes", bytes(&step.reads))
                .with("writes", step.writes.len())
                .with("written_bytes", bytes(&step.writes)),
        );
    }
    output::emit(&report, args.json, To::Stdout, STEPS)?;
    if !args.json {
        let row = summary(args, &profile);
        let get =
            |field: &str| row.get(field).and_then(laxity_report::Value::as_f64).unwrap_or_default();
        output::print(
            &format!(
                "{}: {} parameters, {} bytes; forward {:.1} ms, backward {:.1} ms with batch size {}\n",
                profile.model,
                profile.parameters.len(),
                profile.size().get(),
                get("forward_ms"),
                get("backward_ms"),
                profile.batch
            ),
            To::Stdout,
        )?;
    }
    Ok(())
}

const LIST: &[&str] =
    &["model", "paper", "batch", "parameters", "bytes", "forward_ms", "backward_ms"];
const TRAINING: &[&str] = &[
    "control",
    "iteration_ms",
    "compute_ms",
    "forward_cct_ms",
    "backward_cct_ms",
    "forward_flexibility",
    "backward_flexibility",
];
const STEPS: &[&str] =
    &["operation", "pass", "takes_ms", "reads", "read_bytes", "writes", "written_bytes"];

fn device(args: &ProfileArgs) -> Device {
    Device { flops_per_s: if args.device > 0.0 { args.device } else { Device::K80.flops_per_s } }
}

fn summary(args: &ProfileArgs, profile: &Profile) -> Row {
    let ms = |pass| profile.compute(pass, &device(args)).as_secs_f64() * 1e3;
    Row::new()
        .with("model", profile.model.as_str())
        .with("batch", u64::from(profile.batch))
        .with("parameters", profile.parameters.len())
        .with("bytes", profile.size().get())
        .with("forward_ms", ms(Pass::Forward))
        .with("backward_ms", ms(Pass::Backward))
}

/// A model that is inside, or a file.
fn load(args: &ProfileArgs) -> Result<Profile> {
    let name = args.name.as_str();
    if shipped::names().any(|known| known == name) {
        return Ok(shipped::model(name)?);
    }
    let path = PathBuf::from(name);
    if !path.exists() {
        return Ok(shipped::model(name)?);
    }
    let text = read::text(&path)?;
    let wrong = || (format!("`{name}` is no profile"), "see docs/flowsim.md for the formats");
    if let (Some(source), Some(model)) = (&args.source, &args.model) {
        return import::layers(source, model, &text).explain(wrong().0, wrong().1);
    }
    if let Some(start) = name.strip_suffix(".graph.csv") {
        let parameters = read::text(&PathBuf::from(format!("{start}.params.csv")))?;
        let model = start.rsplit('/').next().unwrap_or(start);
        return import::tf_slim(model, &parameters, &text).explain(wrong().0, wrong().1);
    }
    let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into());
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    let read = match extension {
        "json" => Profile::from_json(&text),
        "csv" => Profile::from_table(&text, name),
        "txt" => import::pipedream(&stem, 1, &text),
        _ => Profile::from_toml(&text),
    };
    read.explain(wrong().0, wrong().1)
}
