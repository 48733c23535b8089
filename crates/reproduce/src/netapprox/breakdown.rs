//! `netapprox-breakdown`: what each part of ATP is worth (§7.1.3).

use laxity_report::{
    Row,
    chart::{Axis, BarChart, BarSeries},
};

use super::setting::{self, HALF, Messages, Run, less, percent};
use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

/// The experiment.
pub(super) struct Breakdown;

/// Something that is added to another scheme.
#[derive(Clone, Copy)]
struct Step {
    scheme: &'static str,
    /// What it is compared with.
    before: Option<&'static str>,
    what: &'static str,
    /// The paper's largest gain; none where the paper has no figure.
    paper: Option<f64>,
}

const fn step(scheme: &'static str, before: &'static str, what: &'static str) -> Step {
    Step { scheme, before: Some(before), what, paper: None }
}

/// Exact traffic at 0.3 of the hosts' links, which goes on until the jobs have ended.
const EXACT: &str = "[[workloads]]\nname = \"exact\"\nkind = \"poisson\"\nscheme = \"dctcp\"\nsize = \"fbhd\"\nmessages = 1\n\
                     load = 0.3\nbackground = true\n";

/// The paper's four, and the halves of the last step before it.
static STEPS: [Step; 6] = [
    Step { scheme: "atp-base", before: None, what: "", paper: None },
    Step { paper: Some(0.42), ..step("atp-rc", "atp-base", "rate control") },
    Step { paper: Some(0.39), ..step("atp-mrdf", "atp-rc", "fewest remaining first") },
    step("atp-fixtlr", "atp-mrdf", "the queue of the first target"),
    step("atp-fixprio", "atp-fixtlr", "moving target"),
    Step { paper: Some(0.47), ..step("atp-full", "atp-mrdf", "moving target and queue") },
];

/// The steps that are also run beside exact traffic: the last and the one before.
static BESIDE: [Step; 2] = [STEPS[2], STEPS[5]];

/// The paper's own.
static PAPER: [Step; 4] = [STEPS[0], STEPS[1], STEPS[2], STEPS[5]];

/// Other ways in which messages become ready.
const OTHERS: [Messages; 3] =
    [Messages::OneByOne(0.3, "fbkv"), Messages::OneByOne(0.9, "fbkv"), Messages::AtOnce];

impl Experiment for Breakdown {
    fn name(&self) -> &'static str {
        "netapprox-breakdown"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        let mut findings = Findings::new();
        findings.columns = vec![
            "arrivals",
            "beside",
            "scheme",
            "min_delivery",
            "compared_with",
            "mean_ms",
            "less_mean",
            "last_ms",
            "less_last",
            "p99_ms",
            "packet_loss",
            "unfinished",
        ];
        setting::open_one_by_one(&mut findings, options);
        let messages = options.pick(5_000, 10_000);
        findings.chose(format!("{messages} messages of `fbkv` (FBKV) in a job."));
        findings.chose(
            "Whether a job of the paper is one host's messages or those of all hosts is open (\u{a7}7.1.5 calls the same thing a \
             job and a workload): `mean_ms` is the mean of the hosts' own, `last_ms` the time until the last host's has ended, \
             the mean of the seeds.",
        );
        findings.chose(
            "ATP_RC and ATP_MRDF use queue 1, the largest of the small ones, since the paper does not say which. `atp-fixtlr` is \
             ATP_MRDF in the queue of its first target, `atp-fixprio` moves the target as well, `atp-full` both.",
        );
        findings.chose(
            "The rows beside `exact` are ours: single messages of FBHD between random hosts over DCTCP at a load of 0.3, in queue 0. \
             Their packet_loss is that of both.",
        );
        let how = Messages::FBKV;
        let runs = jobs(options, &STEPS, messages, how, "")?;
        let gains = compare(&mut findings, how, "nothing", &STEPS, &runs);
        let mut others = Vec::new();
        for other in OTHERS {
            let steps = if other == Messages::AtOnce { &STEPS[..] } else { &PAPER[..] };
            let runs = jobs(options, steps, messages, other, "")?;
            others.push((other, compare(&mut findings, other, "nothing", steps, &runs)));
        }
        for gain in &gains {
            let Some(paper) = gain.step.paper else { continue };
            let Step { what, scheme, .. } = gain.step;
            let elsewhere = |pick: fn(&Gain) -> &[f64]| {
                let same = |gains: &[Gain]| {
                    gains
                        .iter()
                        .find(|own| own.step.scheme == *scheme)
                        .and_then(|own| most(pick(own)))
                };
                let all = others.iter().filter_map(|(how, gains)| Some((*how, same(gains)?)));
                all.map(|(how, most)| format!("{}: {}", how.label(), percent(most))).collect()
            };
            let claim = format!("{what} ({scheme}) saves time over the step before");
            judge(&mut findings, claim, paper, &gain.means, elsewhere(|own| &own.means));
            if *scheme == "atp-full" {
                let claim = format!("{what} ({scheme}): the last host's job ends sooner");
                judge(&mut findings, claim, paper, &gain.lasts, elsewhere(|own| &own.lasts));
            }
        }
        let beside = jobs(options, &BESIDE, messages, how, EXACT)?;
        compare(&mut findings, how, "exact", &BESIDE, &beside);
        let of = |scheme: &str| of(&runs, scheme);
        let parts: Vec<_> =
            of(STEPS[0].scheme).iter().map(|run| run.min_delivery().to_string()).collect();
        let chart = BarChart::new("Steps of ATP: mean job completion time")
            .categories(parts)
            .x_caption("minimum delivery")
            .y(Axis::linear("completion time").unit("ms"));
        let chart = STEPS.iter().filter(|step| step.before.is_none() || step.paper.is_some()).fold(
            chart,
            |chart, Step { scheme, .. }| {
                chart.series(BarSeries::new(*scheme, of(scheme).iter().map(|run| run.mean_ms(0))))
            },
        );
        findings.chart("steps", chart.to_svg());
        findings.differs(
            "Messages that become ready one by one explain what fewest remaining first is worth: where it chooses among all of them \
             from the start it saves more than in the paper. They do not explain the other two steps, at any load that was looked at.",
        );
        findings.differs(
            "Rate control saves little: with messages at once 91 to 95 % of all losses are inside the network, where flows meet on uplinks, while the receivers' \
             links are busy for 51 to 56 % of the time with and without it. Of what arrives the same part is needed, since the order \
             of messages is the same: what ATP_Base sends in vain takes room that others could hardly use.",
        );
        findings.differs(
            "The last step lets jobs end together, not sooner. Equation 1 raises the target of a job that is ahead and lowers that of one \
             that lost much, and the lower target has the higher queue: whoever is behind goes first. The last job then ends sooner and \
             the others later; the mean gains nothing. `cargo run -p laxity-packetsim --example ablation` prints it. In the 18 settings \
             that were looked at with messages at once, the last job ended sooner in 15 and the mean was less in 4; both throughout only \
             beside exact traffic. Beside exact traffic with messages one by one the last job ends later.",
        );
        Ok(findings)
    }
}

/// Jobs of every step, at every minimum delivery, with something beside them.
fn jobs(
    options: &Options,
    steps: &[Step],
    messages: u32,
    how: Messages,
    beside: &str,
) -> Result<Vec<Run>, ReproduceError> {
    let schemes: Vec<_> = steps.iter().map(|step| format!("\"{}\"", step.scheme)).collect();
    let text = format!(
        "{}[[workloads]]\nname = \"jobs\"\nkind = \"random\"\nscheme = [{}]\nmessages = {messages}\nsize = \"fbkv\"\n\
         min-delivery = {}\n{}{beside}",
        setting::head(options),
        schemes.join(", "),
        options.pick("[0.5, 0.7, 0.9]", "{ from = 0.4, to = 0.9, step = 0.1 }"),
        how.lines(),
    );
    setting::run(options, "steps of ATP", &text, None)
}

fn of<'a>(runs: &'a [Run], scheme: &str) -> Vec<&'a Run> {
    runs.iter().filter(|run| run.scheme(0) == scheme).collect()
}

/// What a step saves in the mean and until the last job's end, by minimum delivery.
struct Gain {
    step: &'static Step,
    means: Vec<f64>,
    lasts: Vec<f64>,
}

/// Writes the rows, and returns what each step saves.
fn compare(
    findings: &mut Findings,
    how: Messages,
    beside: &str,
    steps: &'static [Step],
    runs: &[Run],
) -> Vec<Gain> {
    let one = |step: &'static Step| {
        let before = step.before.map(|scheme| of(runs, scheme)).unwrap_or_default();
        let (mut means, mut lasts) = (Vec::new(), Vec::new());
        for (place, run) in of(runs, step.scheme).into_iter().enumerate() {
            let earlier = before.get(place);
            let gain = |pick: fn(&Run) -> Option<f64>| {
                let pair = earlier.and_then(|earlier| pick(earlier)).zip(pick(run));
                pair.map(|(before, now)| less(now, before))
            };
            let (less_mean, less_last) = (gain(|run| run.mean_ms(0)), gain(last_ms));
            means.extend(less_mean);
            lasts.extend(less_last);
            let measured = &run.workloads[0];
            findings.row(
                Row::new()
                    .with("arrivals", how.label())
                    .with("beside", beside)
                    .with("scheme", step.scheme)
                    .with("min_delivery", run.min_delivery())
                    .with("compared_with", step.before.filter(|_| earlier.is_some()))
                    .with("mean_ms", run.mean_ms(0))
                    .with("less_mean", less_mean)
                    .with("last_ms", last_ms(run))
                    .with("less_last", less_last)
                    .with("p99_ms", measured.flow_s.as_ref().map(|s| s.p99 * 1e3))
                    .with("packet_loss", run.packet_loss)
                    .with("unfinished", measured.unfinished_flows),
            );
        }
        Gain { step, means, lasts }
    };
    steps.iter().map(one).collect()
}

/// The time until the last host's job has ended, the mean of the seeds.
fn last_ms(run: &Run) -> Option<f64> {
    run.times(0)?;
    run.workloads[0].job_s.as_ref().map(|summary| summary.mean * 1e3)
}

/// The largest gain.
fn most(gains: &[f64]) -> Option<f64> {
    gains.iter().copied().reduce(f64::max)
}

/// A gain of "up to" so much, and what it is where messages become ready in other ways.
fn judge(
    findings: &mut Findings,
    claim: String,
    paper: f64,
    gains: &[f64],
    elsewhere: Vec<String>,
) {
    let most = most(gains);
    let ours = match most {
        Some(most) => format!("up to {} ({})", percent(most), elsewhere.join(", ")),
        None => "no pair".into(),
    };
    let holds = most.is_some_and(|most| most >= HALF * paper);
    findings.claim(claim, format!("up to {}", percent(paper)), ours, holds);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_compared_with_one_that_comes_earlier() {
        for (at, step) in STEPS.iter().enumerate() {
            let known = |name| STEPS[..at].iter().any(|earlier| earlier.scheme == name);
            assert_eq!(step.before.is_some_and(known), at > 0, "{}", step.scheme);
            assert!(step.scheme.parse::<laxity_packetsim::Scheme>().is_ok(), "{}", step.scheme);
        }
    }
}
