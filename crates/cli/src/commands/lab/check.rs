//! `laxity lab check`: whether this machine can run a lab.

use std::{process::ExitCode, time::Instant};

use anyhow::Result;
use clap::Args;
use laxity_interface::Span;
use laxity_lab::{LabError, LabFile, Status};

use super::up::bring_up;
use crate::{
    commands::doctor::finding::{Finding, Status as Verdict},
    output::{self, To},
};

/// Check whether this machine can run a lab, by running a small one.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code: 1 if labs are not possible here, 0 otherwise, warnings included."
)]
pub(crate) struct CheckArgs {
    /// Print the findings as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(super) fn run(args: &CheckArgs) -> Result<ExitCode> {
    let started = Instant::now();
    let findings = match try_one() {
        Ok((status, seconds)) => findings(&status, seconds),
        Err(error) => vec![Finding::fail("lab", format!("{error:#}"), remedy(&error))],
    };
    let failed = findings.iter().any(|finding| finding.status == Verdict::Fail);
    let mut report = output::report(started);
    findings.into_iter().for_each(|finding| report.push(finding.row()));
    output::emit(&report, args.json, To::Stdout, &["check", "status", "found", "remedy"])?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Whether a lab can be brought up here.
pub(crate) fn possible() -> Result<()> {
    let file = LabFile::star(2).build()?;
    let lab = bring_up(&file, &format!("possible-{}", std::process::id()), false)?;
    Ok(lab.down()?)
}

fn try_one() -> Result<(Status, f64)> {
    let file = LabFile::star(2).delay(Span::from_us(100)).build()?;
    let started = Instant::now();
    let lab = bring_up(&file, &format!("check-{}", std::process::id()), false)?;
    let seconds = started.elapsed().as_secs_f64();
    let mut ask = std::process::Command::new(std::env::current_exe()?);
    // Anything that talks to the other host will do: nobody answers, but packets cross.
    ask.args(["doctor", "--to", "h2:9", "--insecure", "--connect-timeout", "100ms"]);
    ask.stdin(std::process::Stdio::null());
    ask.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    lab.enter("h1", ask)?.status()?;
    let status = lab.status()?;
    lab.down()?;
    Ok((status, seconds))
}

fn findings(status: &Status, seconds: f64) -> Vec<Finding> {
    let sent: u64 = status.ports.iter().map(|port| port.counters.delivered.packets).sum();
    let packets = if sent > 0 {
        Finding::ok("packets", format!("{sent} crossed the switch"))
    } else {
        let found = "none crossed the switch";
        Finding::fail("packets", found, "look for a firewall rule that new namespaces inherit")
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let controls = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    vec![
        Finding::ok("lab", format!("two hosts were up after {seconds:.2} s")),
        packets,
        Finding::ok_if(
            status.health.realtime,
            "priority",
            if status.health.realtime {
                "real-time"
            } else {
                "ordinary: other work delays packets"
            },
            "run as root, or keep the machine idle while measuring",
        ),
        Finding::ok_if(
            cores >= 2,
            "cores",
            cores.to_string(),
            "with one core the switch and the programs wait for each other: use two or more",
        ),
        Finding::ok("tcp", controls.unwrap_or_default().trim().to_owned()),
    ]
}

fn remedy(error: &anyhow::Error) -> String {
    match error.downcast_ref::<LabError>() {
        Some(LabError::Folder { .. } | LabError::LongPath { .. }) => {
            "set LAXITY_RUNTIME_DIR to a short path that is yours".into()
        }
        _ => "run as root, or allow user namespaces; without, `laxity demo` still works".into(),
    }
}
