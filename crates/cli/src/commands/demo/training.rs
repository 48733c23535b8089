//! The demo's main act: the same training over TCP and over Laxity.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use laxity_lab::end_with_parent;
use laxity_report::html::Section;
use serde::Deserialize;

/// Where ranks train.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Eight hosts of a lab, with losses and other traffic.
    Lab,
    /// Two processes on this machine, where nothing is lost.
    Here,
}

impl Stage {
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Lab => &["--lab", "--ranks", "8", "--loss", "1%", "--background", "0.5"],
            Self::Here => &["--ranks", "2", "--quick"],
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Lab => {
                "Eight processes, each in a host of a private network (1 Gbit/s, 1 % of packets lost, half \
                 of every link filled by other TCP flows), train the same model with an all-reduce in \
                 every step: once over kernel TCP, once over Laxity, which may lose 2 % of every gradient."
            }
            Self::Here => {
                "Two processes train the same model over loopback, where nothing is lost: no lab is \
                 possible on this machine, so this shows that both work, not what losses cost."
            }
        }
    }
}

/// What `laxity train --json` says.
#[derive(Deserialize)]
struct Said {
    rows: Vec<Row>,
}

/// An epoch.
#[derive(Clone, Deserialize)]
struct Row {
    transport: String,
    seconds_s: f64,
    score: f64,
    delivered: f64,
    step_ms: f64,
    step_p99_ms: f64,
}

/// Runs `laxity train`; returns a section for the page and a line for the terminal.
pub(super) fn run(stage: Stage, epochs: usize, seed: u64, out: &Path) -> Result<(Section, String)> {
    std::fs::create_dir_all(out)
        .with_context(|| format!("cannot create the folder {}", out.display()))?;
    let picture = out.join("training.svg");
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.arg("train").args(stage.words()).arg("--svg").arg(&picture).arg("--json");
    command.args(["--epochs", &epochs.to_string(), "--seed", &seed.to_string()]);
    // Whoever ends this process alone does not leave it behind.
    end_with_parent(&mut command);
    // Its progress is this command's.
    let output = command.stderr(Stdio::inherit()).stdin(Stdio::null()).output();
    let output = output.context("cannot start the training")?;
    ensure!(output.status.success(), "the training ended with {}", output.status);
    let said: Said = serde_json::from_slice(&output.stdout).context("what the training said")?;
    let last = |transport: &str| said.rows.iter().rfind(|row| row.transport == transport).cloned();
    let (tcp, laxity) = (last("tcp").context("no row of tcp")?, last("laxity"));
    let laxity = laxity.context("no row of laxity")?;
    let words = words(epochs, &tcp, &laxity);
    let svg = std::fs::read_to_string(&picture)
        .with_context(|| format!("cannot read {}", picture.display()))?;
    let text = format!("{} {words}", stage.text());
    Ok((Section::new("Training").text(&text).svg(&svg), words))
}

fn words(epochs: usize, tcp: &Row, laxity: &Row) -> String {
    let one = |name: &str, row: &Row| {
        format!(
            "{name} took {:.1} s and reached {:.1} points ({:.2} % of gradients arrived, {:.1} ms a step, \
             p99 {:.1} ms)",
            row.seconds_s,
            row.score,
            row.delivered * 100.0,
            row.step_ms,
            row.step_p99_ms
        )
    };
    format!(
        "For {epochs} epochs {}; {}: TCP took {:.2} times as long.",
        one("TCP", tcp),
        one("Laxity", laxity),
        tcp.seconds_s / laxity.seconds_s.max(1e-9)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_of_times() {
        let row = |seconds_s| Row {
            transport: String::new(),
            seconds_s,
            score: 90.0,
            delivered: 0.985,
            step_ms: 10.0,
            step_p99_ms: 20.0,
        };
        let words = words(3, &row(9.0), &row(4.5));
        assert!(words.contains("TCP took 2.00 times as long"), "{words}");
        assert!(words.contains("98.50 % of gradients"), "{words}");
    }
}
