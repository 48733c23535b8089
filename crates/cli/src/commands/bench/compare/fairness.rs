//! Laxity beside one TCP flow on one link.

use std::time::Duration;

use anyhow::{Result, anyhow};
use indicatif::ProgressBar;
use laxity_interface::{Bytes, Layout};
use laxity_report::{Row, stats};

use super::{
    super::worker::message::{Load, Transport},
    args::{Case, CompareArgs, Scheme},
    measure::transport,
    plan::{Setting, fairness_runs},
    play::{Flow, Played, Terms},
    schedule::{Count, Schedule, Verdict},
    stage::{Run, Stage},
};

/// Jobs of the stream, one after the other and always two under way.
const JOB: Bytes = Bytes::new(25_000_000);
const QUICK_JOB: Bytes = Bytes::new(1_000_000);
/// Flows find their share before anything is counted.
const WARM_UP: Duration = Duration::from_secs(1);
const COUNT_FOR: Duration = Duration::from_secs(4);
/// A stream that brings nothing for this long is stuck.
const PATIENCE: Duration = Duration::from_secs(20);
const MOST_FAILURES: usize = 3;

/// Who shares the link in a run: one TCP, alone or with Laxity beside it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Pairing {
    tcp: Scheme,
    beside: bool,
}

/// Goodputs of a pairing, in Mbit/s, one entry per run.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    pub(super) tcp: Vec<f64>,
    pub(super) laxity: Vec<f64>,
}

/// How many runs there will be on one network.
pub(super) fn runs(args: &CompareArgs) -> usize {
    pairings(args).len() * fairness_runs(args)
}

fn pairings(args: &CompareArgs) -> Vec<Pairing> {
    // DCTCP shares with nobody on a port that does not mark; reno behaves as cubic does here.
    let tcp = args.schemes.iter().filter(|s| matches!(s, Scheme::Cubic | Scheme::Bbr));
    tcp.flat_map(|tcp| [false, true].map(|beside| Pairing { tcp: *tcp, beside })).collect()
}

/// Runs all pairings in turn. One row per TCP goes into `rows` in any case.
pub(super) fn measure(
    args: &CompareArgs,
    stage: &mut Stage,
    setting: &Setting,
    bar: &ProgressBar,
    rows: &mut Vec<Row>,
) -> Result<()> {
    let pairings = pairings(args);
    let mut schedule = Schedule::new(pairings.len(), fairness_runs(args), args.accept_invalid);
    let mut shares = vec![Shares::default(); pairings.len()];
    let ended = take_turns(args, stage, setting, bar, &pairings, &mut schedule, &mut shares);
    // Alone and beside stand next to each other.
    rows.extend((0..pairings.len()).step_by(2).map(|at| {
        let count = sum(schedule.count(at), schedule.count(at + 1));
        row(setting, args, pairings[at].tcp, (&shares[at], &shares[at + 1]), count)
    }));
    ended
}

fn take_turns(
    args: &CompareArgs,
    stage: &mut Stage,
    setting: &Setting,
    bar: &ProgressBar,
    pairings: &[Pairing],
    schedule: &mut Schedule,
    shares: &mut [Shares],
) -> Result<()> {
    let slower = if args.quick { 4 } else { 1 };
    let terms = Terms {
        load: Load::Stream,
        bytes: if args.quick { QUICK_JOB } else { JOB }.get(),
        limit: PATIENCE,
        warm_up: WARM_UP / slower,
        count_for: COUNT_FOR / slower,
    };
    let begun = bar.position();
    while let Some(who) = schedule.next() {
        let pairing = pairings[who];
        let name = pairing.tcp.name();
        let beside = if pairing.beside { " beside laxity" } else { " alone" };
        bar.set_message(format!("{}, {name}{beside}", setting.words()));
        match stage.run(&flows(args, pairing, setting.layout)?, &terms)? {
            Run::Played { played, verdict, .. } => {
                schedule.note(who, verdict);
                if verdict == Verdict::Valid || args.accept_invalid {
                    note(&mut shares[who], &played, terms.count_for);
                }
            }
            Run::Failed(error) => {
                schedule.note(who, Verdict::Failed);
                let what = format!("{name}{beside} failed: {}", setting.words());
                if schedule.count(who).failed > MOST_FAILURES {
                    return Err(anyhow!(error).context(what));
                }
                bar.suspend(|| eprintln!("note: {what}: {error:#}"));
            }
        }
        bar.set_position(begun + schedule.done() as u64);
    }
    Ok(())
}

fn flows(args: &CompareArgs, pairing: Pairing, layout: Layout) -> Result<Vec<Flow>> {
    let mut flows = Vec::new();
    if pairing.beside {
        let transport = transport(args, Scheme::Laxity, args.min_delivery, layout)?;
        flows.push(Flow { from: 0, to: 2, transport });
    }
    let transport = transport(args, pairing.tcp, args.min_delivery, layout)?;
    flows.push(Flow { from: 1, to: 2, transport });
    Ok(flows)
}

fn note(shares: &mut Shares, played: &Played, time: Duration) {
    for (group, arrivals) in &played.arrivals {
        let bytes: u64 = arrivals.iter().map(|arrival| arrival.bytes).sum();
        let mbps = bytes as f64 * 8.0 / time.as_secs_f64() / 1e6;
        match group.transport {
            Transport::Tcp { .. } => shares.tcp.push(mbps),
            Transport::Laxity(_) => shares.laxity.push(mbps),
        }
    }
}

fn sum(one: Count, other: Count) -> Count {
    Count {
        valid: one.valid.min(other.valid),
        invalid: one.invalid + other.invalid,
        failed: one.failed + other.failed,
    }
}

fn row(
    setting: &Setting,
    args: &CompareArgs,
    tcp: Scheme,
    (alone, beside): (&Shares, &Shares),
    count: Count,
) -> Row {
    let (alone, tcp_mbps) = (stats::mean(&alone.tcp), stats::mean(&beside.tcp));
    let laxity = stats::mean(&beside.laxity);
    let link = setting.rate.as_bps() as f64 / 1e6;
    let jain = tcp_mbps.zip(laxity).and_then(|(tcp, laxity)| stats::jain(&[tcp, laxity]));
    Row::new()
        .with("case", Case::Fairness.name())
        .with("scheme", Scheme::Laxity.name())
        .with("beside", tcp.name())
        .with("queues", setting.layout.name())
        .with("buffer_bytes", setting.buffer.get())
        .with("background", setting.background.get())
        .with("min_delivery", args.min_delivery.get())
        .with("laxity_mbps", laxity)
        .with("tcp_mbps", tcp_mbps)
        .with("tcp_alone_mbps", alone)
        .with("tcp_of_link", tcp_mbps.map(|mbps| mbps / link))
        .with("tcp_of_alone", tcp_mbps.zip(alone).map(|(mbps, alone)| mbps / alone))
        .with("tcp_of_link_min", stats::min(&beside.tcp).map(|mbps| mbps / link))
        .with("jain", jain)
        .with("runs", beside.tcp.len())
        .with("invalid_runs", count.invalid)
        .with("failed_runs", count.failed)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{args::tests::parse, plan::plan},
        *,
    };

    #[test]
    fn shares_become_parts_of_the_link_and_of_what_tcp_has_alone() {
        let args = parse(&["fairness"]).unwrap();
        let (setting, _) = &plan(&args)[0];
        let alone = Shares { tcp: vec![940.0, 900.0], laxity: Vec::new() };
        let beside = Shares { tcp: vec![500.0, 420.0], laxity: vec![460.0, 460.0] };
        let row = row(setting, &args, Scheme::Bbr, (&alone, &beside), Count::default());
        let number = |name: &str| row.get(name).and_then(|value| value.as_f64()).unwrap();
        assert_eq!(number("tcp_of_link"), 0.46);
        assert_eq!(number("tcp_of_alone"), 0.5);
        assert_eq!(number("tcp_of_link_min"), 0.42);
        assert_eq!(number("jain"), 1.0);
    }

    #[test]
    fn every_tcp_is_measured_alone_and_beside_laxity() {
        let pairings = pairings(&parse(&["fairness"]).unwrap());
        let list: Vec<_> = pairings.iter().map(|p| (p.tcp.name(), p.beside)).collect();
        assert_eq!(list, [("cubic", false), ("cubic", true), ("bbr", false), ("bbr", true)]);
    }
}
