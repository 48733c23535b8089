//! The demo's main act: the same training over TCP and over Laxity.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};
use laxity_lab::end_with_parent;
use laxity_report::html::Section;
use serde::Deserialize;

use crate::congestion;

/// Where ranks train.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Eight hosts of a lab, with losses and other traffic.
    Lab,
    /// Two processes on this machine, where nothing is lost.
    Here,
}

impl Stage {
    /// Rates that two cores can carry, with time to spare. Shards of this model are 16 packets: with a minimum
    /// of 0.9 one of them may be lost.
    const LAB: [&str; 13] = [
        "--lab",
        "--ranks",
        "8",
        "--rate",
        "200Mbps",
        "--loss",
        "1%",
        "--background",
        "0.5",
        "--min-delivery",
        "0.9",
        "--tests",
        "4",
    ];

    fn words(self) -> Vec<String> {
        let words = match self {
            Self::Lab => &Self::LAB[..],
            Self::Here => &["--ranks", "2", "--quick"],
        };
        let mut words: Vec<_> = words.iter().map(|&word| word.to_owned()).collect();
        // Where nothing is lost all congestion controls are alike.
        if self == Self::Lab {
            words.extend(["--tcp-control".to_owned(), controls(congestion::default())]);
        }
        words
    }

    fn text(self) -> &'static str {
        match self {
            Self::Lab => {
                "Eight processes, each in a host of a private network (200 Mbit/s, 1 % of packets lost, half \
                 of every link filled by other TCP flows), train the same model with an all-reduce in \
                 every step: as a ring over kernel TCP, and over Laxity, which may lose 10 % of every gradient."
            }
            Self::Here => {
                "Two processes train the same model over loopback, where nothing is lost: no lab is \
                 possible on this machine, so this shows that both work, not what losses cost."
            }
        }
    }
}

/// The system's congestion control, and cubic, which is the default of most others.
fn controls(own: Option<String>) -> String {
    match own {
        Some(own) if own != "cubic" => format!("{own},cubic"),
        _ => "cubic".to_owned(),
    }
}

/// What `laxity train --json` says.
#[derive(Deserialize)]
struct Said {
    rows: Vec<Row>,
}

/// A test of the model.
#[derive(Clone, Deserialize)]
struct Row {
    transport: String,
    control: Option<String>,
    steps: u64,
    seconds_s: f64,
    score: f64,
    delivered: f64,
    other_load: Option<f64>,
}

/// One of the trainings.
struct Trained {
    name: String,
    /// Its last row.
    end: Row,
    /// The mean of what each row says of the gradients that arrived.
    delivered: f64,
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
    let words = words(epochs, &trained(&said.rows)?);
    let svg = std::fs::read_to_string(&picture)
        .with_context(|| format!("cannot read {}", picture.display()))?;
    let text = format!("{} {words}", stage.text());
    Ok((Section::new("Training").text(&text).svg(&svg), words))
}

/// What each training came to: those over TCP, and at the end Laxity's.
fn trained(rows: &[Row]) -> Result<Vec<Trained>> {
    let same = |a: &Row, b: &Row| (&a.transport, &a.control) == (&b.transport, &b.control);
    let each = rows.chunk_by(same).map(|rows| {
        let end = rows.last().expect("no chunk is empty").clone();
        let name = match (end.transport.as_str(), &end.control) {
            ("tcp", Some(control)) => format!("TCP with {control}"),
            ("tcp", None) => "TCP".to_owned(),
            _ => "Laxity".to_owned(),
        };
        let delivered = rows.iter().map(|row| row.delivered).sum::<f64>() / rows.len() as f64;
        Trained { name, end, delivered }
    });
    let each: Vec<_> = each.collect();
    let [.., before, last] = &each[..] else { bail!("it told of {} trainings", each.len()) };
    let order = (before.end.transport.as_str(), last.end.transport.as_str());
    ensure!(order == ("tcp", "laxity"), "it did not train over TCP first and then over Laxity");
    Ok(each)
}

fn words(epochs: usize, each: &[Trained]) -> String {
    let one = |Trained { name, end, delivered }: &Trained| {
        let others = end.other_load.filter(|load| *load > 0.0);
        format!(
            "{name} took {:.1} s ({:.1} ms a step) and reached {:.1} points; {:.1} % of gradients arrived{}",
            end.seconds_s,
            end.seconds_s * 1e3 / end.steps.max(1) as f64,
            end.score,
            delivered * 100.0,
            others.map_or(String::new(), |load| {
                format!(", and other traffic had {:.0} % of the links", load * 100.0)
            })
        )
    };
    let (laxity, others) = each.split_last().expect("two trainings");
    let times = |other: &Trained| {
        let times = other.end.seconds_s / laxity.end.seconds_s.max(1e-9);
        format!("{} took {times:.2} times as long", other.name)
    };
    format!(
        "For {epochs} epochs:\n  {}.\n{}.",
        each.iter().map(one).collect::<Vec<_>>().join(".\n  "),
        others.iter().map(times).collect::<Vec<_>>().join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(transport: &str, control: Option<&str>, seconds_s: f64) -> Vec<Row> {
        let row = |seconds_s, steps, delivered| Row {
            transport: transport.to_owned(),
            control: control.map(str::to_owned),
            steps,
            seconds_s,
            score: 90.0,
            delivered,
            other_load: Some(0.45),
        };
        vec![row(seconds_s / 3.0, 50, 0.98), row(seconds_s, 100, 0.99)]
    }

    #[test]
    fn the_ratio_is_of_times() {
        let all = [
            rows("tcp", Some("bbr"), 9.0),
            rows("tcp", Some("cubic"), 13.5),
            rows("laxity", None, 4.5),
        ];
        let words = words(3, &trained(&all.concat()).expect("three trainings"));
        assert!(words.contains("TCP with bbr took 2.00 times as long"), "{words}");
        assert!(words.ends_with("TCP with cubic took 3.00 times as long."), "{words}");
        assert!(words.contains("Laxity took 4.5 s (45.0 ms a step)"), "{words}");
        assert!(
            words.contains("98.5 % of gradients arrived, and other traffic had 45 %"),
            "{words}"
        );
    }

    #[test]
    fn a_training_that_is_missing_is_an_error() {
        assert!(trained(&rows("laxity", None, 1.0)).is_err());
        let tcp = [rows("tcp", None, 1.0), rows("tcp", Some("bbr"), 1.0)].concat();
        assert!(trained(&tcp).is_err());
    }

    #[test]
    fn cubic_is_there_once() {
        assert_eq!(controls(Some("bbr".to_owned())), "bbr,cubic");
        assert_eq!(controls(Some("cubic".to_owned())), "cubic");
        assert_eq!(controls(None), "cubic");
    }
}
