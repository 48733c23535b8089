//! Transfers by all contenders in turn.

use std::time::Duration;

use anyhow::{Result, anyhow};
use indicatif::ProgressBar;
use laxity_interface::{Bytes, Fraction, Layout};
use laxity_lab::dctcp::Dctcp;

use super::{
    super::worker::message::{LaxitySettings, Load, Transport},
    args::{CompareArgs, Scheme},
    plan::{Contender, Setting, Workload},
    play::{Flow, Played, Terms},
    schedule::{Count, Schedule, Verdict},
    stage::{Around, Run, Stage},
};
use crate::sys::random;

/// A transfer that is slower than this many times the ideal is stuck: cubic under 3 % loss takes 10.
const STUCK: u32 = 60;
/// And never before this time.
const PATIENCE: Duration = Duration::from_secs(20);
/// A contender that fails more often than this ends the comparison.
const MOST_FAILURES: usize = 3;

/// What was measured of one contender.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) setting: Setting,
    pub(super) bytes: Bytes,
    pub(super) contender: Contender,
    pub(super) samples: Vec<Sample>,
    pub(super) count: Count,
}

/// One run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Sample {
    /// Until the last of the group had what it needed.
    pub(super) ms: f64,
    /// The smallest part that any receiver got.
    pub(super) delivered: f64,
    pub(super) repeated: u64,
    /// Processor time of all hosts, per gigabyte that arrived.
    pub(super) cpu_s_per_gb: f64,
    pub(super) socket_drops: u64,
    pub(super) around: Around,
}

impl Sample {
    fn of(played: &Played, around: Around) -> Self {
        let arrivals = || played.arrivals.iter().flat_map(|(_, arrivals)| arrivals);
        let last = arrivals().map(|arrival| arrival.at_ns).max().unwrap_or(played.start_ns);
        let bytes: u64 = arrivals().map(|arrival| arrival.bytes).sum();
        Self {
            ms: last.saturating_sub(played.start_ns) as f64 / 1e6,
            delivered: arrivals().map(|arrival| arrival.delivered).fold(1.0, f64::min),
            repeated: played.totals.repeated,
            cpu_s_per_gb: played.totals.cpu_s / (bytes.max(1) as f64 / 1e9),
            socket_drops: played.totals.socket_drops,
            around,
        }
    }
}

/// How a scheme is asked for.
pub(super) fn transport(
    args: &CompareArgs,
    scheme: Scheme,
    min_delivery: Fraction,
    layout: Layout,
) -> Result<Transport> {
    let control = match scheme {
        Scheme::Cubic => "cubic",
        Scheme::Bbr => "bbr",
        Scheme::Reno => "reno",
        Scheme::Dctcp => Dctcp::NAME,
        Scheme::Laxity => {
            // A key that nobody knows and nobody will need again.
            let mut key = [0; 32];
            random::fill(&mut key)?;
            let key = (!args.insecure).then_some(key);
            return Ok(Transport::Laxity(LaxitySettings {
                min_delivery: min_delivery.get(),
                enough: !args.first_pass,
                key,
                layout,
            }));
        }
    };
    Ok(Transport::Tcp { control: control.to_owned() })
}

/// Runs a workload to its end. What was measured goes into `all` in any case.
pub(super) fn measure(
    args: &CompareArgs,
    stage: &mut Stage,
    setting: &Setting,
    workload: &Workload,
    bar: &ProgressBar,
    all: &mut Vec<Measured>,
) -> Result<()> {
    let mut schedule = Schedule::new(workload.contenders.len(), workload.runs, args.accept_invalid);
    let mut samples = vec![Vec::new(); workload.contenders.len()];
    let ended = take_turns(args, stage, setting, workload, bar, &mut schedule, &mut samples);
    let measured = workload.contenders.iter().zip(samples).enumerate();
    all.extend(measured.map(|(who, (contender, samples))| Measured {
        setting: setting.clone(),
        bytes: workload.bytes,
        contender: *contender,
        samples,
        count: schedule.count(who),
    }));
    ended
}

fn take_turns(
    args: &CompareArgs,
    stage: &mut Stage,
    setting: &Setting,
    workload: &Workload,
    bar: &ProgressBar,
    schedule: &mut Schedule,
    samples: &mut [Vec<Sample>],
) -> Result<()> {
    let terms = terms(setting, workload.bytes);
    let begun = bar.position();
    while let Some(who) = schedule.next() {
        let contender = workload.contenders[who];
        let name = contender.scheme.name();
        bar.set_message(format!("{}, {}, {name}", setting.words(), workload.bytes));
        let transport = transport(args, contender.scheme, contender.min_delivery, setting.layout)?;
        let flows: Vec<_> = setting
            .flows()
            .into_iter()
            .map(|(from, to)| Flow { from, to, transport: transport.clone() })
            .collect();
        match stage.run(&flows, &terms)? {
            Run::Played { played, around, verdict } => {
                schedule.note(who, verdict);
                let counts = verdict == Verdict::Valid || args.accept_invalid;
                if counts {
                    samples[who].push(Sample::of(&played, around));
                }
            }
            Run::Failed(error) => {
                schedule.note(who, Verdict::Failed);
                let what = format!("{name} failed: {}, {}", setting.words(), workload.bytes);
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

fn terms(setting: &Setting, bytes: Bytes) -> Terms {
    let all = Bytes::new(bytes.get() * setting.transfers_on_a_link());
    let limit = (setting.rate.time_for(all).to_std() * STUCK).max(PATIENCE);
    Terms {
        load: Load::Once,
        bytes: bytes.get(),
        limit,
        warm_up: Duration::ZERO,
        count_for: Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            super::worker::message::{Arrival, Totals},
            play::Group,
        },
        *,
    };

    #[test]
    fn a_group_is_as_late_as_its_last_and_as_whole_as_its_worst() {
        let arrival = |at_ns, delivered| Arrival { at_ns, bytes: 500_000_000, delivered };
        let group =
            Group { to: 1, transport: Transport::Tcp { control: "reno".into() }, senders: 2 };
        let played = Played {
            start_ns: 1_000_000,
            arrivals: vec![(group, vec![arrival(9_500_000, 0.91), arrival(3_000_000, 0.99)])],
            totals: Totals { repeated: 7, cpu_s: 2.0, socket_drops: 0 },
        };
        let around = Around { host_wait_ms: 1.5, other_load: 0.25 };
        let expected = Sample {
            ms: 8.5,
            delivered: 0.91,
            repeated: 7,
            cpu_s_per_gb: 2.0,
            socket_drops: 0,
            around,
        };
        assert_eq!(Sample::of(&played, around), expected);
    }
}
