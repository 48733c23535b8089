//! Figure 7: synchronous training against ring all-reduce and a plain parameter server.

use laxity_interface::{Span, Time};
use laxity_report::{
    Row,
    chart::{Axis, BarChart, BarSeries},
    stats,
};

use super::live::{
    many::each,
    ring::Ring,
    setting::{Compute, Contention, Setting},
    story::Story,
    systems::{FALL, Way, together, train, trials, tuned},
    task::Task,
};
use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

#[derive(Debug)]
pub(super) struct Synchronous;

/// Ways that are compared, in the order of columns.
pub(super) const WAYS: [&str; 3] = ["plain server", "ring", "sums, enough"];

/// Trainings are given up after this.
const LIMIT: Span = Span::from_secs(1200);

/// Seeds that rates are found with: with one, a rate may suit nothing but that seed.
pub(super) const TRIALS: u64 = 3;

/// Rounds end with this share of the workers.
const ENOUGH: f64 = 0.75;
/// After this.
const GRACE: Span = Span::from_ms(50);

impl Experiment for Synchronous {
    fn name(&self) -> &'static str {
        "mlfabric-sync"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        let (workers, seeds) = (options.pick(12, 30), 3);
        let task = Task::pictures(16, 4, 1.4);
        let mut findings = Findings::new();
        let settings: Vec<_> = Setting::all().collect();
        let found = measure(options, &task, workers, seeds, &settings)?;
        for ((compute, contention), seconds) in settings.iter().zip(&found) {
            findings.row(row(compute.name(), contention.name(), seconds));
        }
        judge(&mut findings, &found);
        findings.chose(describe(workers, seeds, &task));
        findings.chose(
            "contention as in mlfabric-async. A plain server waits for all updates and sends the model to each worker. The \
             ring is the shipping all-reduce. Ours: the scheduler has updates summed on the workers' hosts, workers pass models \
             on, and three quarters of the updates make a round 50 ms after the last of them",
        );
        findings
            .differs("the paper trains deep networks on GPUs, and prints curves without numbers");
        findings.chart("seconds", chart("Synchronous training", &settings, &found));
        Ok(findings)
    }
}

pub(super) fn describe(workers: u32, seeds: u64, task: &Task) -> String {
    format!(
        "{workers} workers, {seeds} seeds; a model that takes 80 ms over a whole link and 100 ms to compute; rates are found \
         with {TRIALS} other seeds under CS1, NS2, for ours and for both others together, whose models are the same in every round; \
         target: a loss of {} on held-out data, twice in a row",
        task.target
    )
}

/// Seconds until the target of each way in each setting, the mean over seeds.
pub(super) fn measure(
    options: &Options,
    task: &Task,
    workers: u32,
    seeds: u64,
    settings: &[(Compute, Contention)],
) -> Result<Vec<[Vec<f64>; 3]>, ReproduceError> {
    let run =
        |way: Way, rate: f64, setting: Setting, limit: f64| -> Result<Story, ReproduceError> {
            let enough = ((f64::from(workers) * ENOUGH).ceil() as usize, GRACE);
            let system = way.synchronous(rate, enough);
            train(task, &system, workers, setting, Span::from_secs_f64(limit))
        };
    let (compute, contention) = (Compute::Cs1, Contention::Ns2);
    let most = LIMIT.as_secs_f64();
    let ways = [Way::Plain, Way::Fabric];
    let rates = each(options, "learning rates", &ways, |way| {
        let found = tuned(0.16, most * TRIALS as f64, |rate, limit| {
            together(trials(options.seed, TRIALS), limit, |seed, limit| {
                let setting = Setting { compute, contention, seed };
                Ok(run(*way, rate, setting, limit.min(most))?.seconds())
            })
        })?;
        Ok(found.0)
    })?;
    let cases: Vec<_> = settings
        .iter()
        .flat_map(|setting| {
            (0..3).flat_map(move |way| (1..=seeds).map(move |s| (*setting, way, s)))
        })
        .collect();
    let seconds =
        each(options, "synchronous trainings", &cases, |((compute, contention), way, seed)| {
            let seed = options.seed * 1000 + seed;
            let setting = Setting { compute: *compute, contention: *contention, seed };
            let story = match way {
                0 => run(Way::Plain, rates[0], setting, most)?,
                1 => {
                    Ring::new(task, workers, setting, (rates[0], FALL)).train(Time::ZERO + LIMIT)?
                }
                _ => run(Way::Fabric, rates[1], setting, most)?,
            };
            Ok(story.seconds().unwrap_or(most))
        })?;
    let each = seeds as usize;
    let of = |chunk: &[f64]| [0, 1, 2].map(|way| chunk[way * each..(way + 1) * each].to_vec());
    Ok(seconds.chunks(3 * each).map(of).collect())
}

pub(super) fn row(compute: &str, contention: &str, seconds: &[Vec<f64>; 3]) -> Row {
    let mean = |way: usize| stats::mean(&seconds[way]).unwrap_or(f64::NAN);
    let each = |way: usize| {
        let pairs = seconds[way].iter().zip(&seconds[2]);
        pairs.map(|(other, ours)| other / ours).collect::<Vec<_>>()
    };
    Row::new()
        .with("compute", compute)
        .with("network", contention)
        .with("plain_s", mean(0))
        .with("ring_s", mean(1))
        .with("ours_s", mean(2))
        .with("speedup_over_plain", mean(0) / mean(2))
        .with("speedup_over_ring", mean(1) / mean(2))
        .with("least_speedup_over_ring", stats::min(&each(1)))
        .with("most_speedup_over_ring", stats::max(&each(1)))
}

/// How many times as long another way takes as ours, in each setting.
pub(super) fn ratios(found: &[[Vec<f64>; 3]], way: usize) -> Vec<f64> {
    let mean = |one: &[f64]| stats::mean(one).unwrap_or(f64::NAN);
    found.iter().map(|seconds| mean(&seconds[way]) / mean(&seconds[2])).collect()
}

fn judge(findings: &mut Findings, found: &[[Vec<f64>; 3]]) {
    for (way, name) in [(0, "a plain synchronous parameter server"), (1, "ring all-reduce")] {
        let ratios = ratios(found, way);
        let (least, most) = (stats::min(&ratios), stats::max(&ratios));
        findings.claim(
            format!("faster than {name} in dynamic settings"),
            "faster",
            format!(
                "{:.2} to {:.2} times, faster in {} of 9",
                least.unwrap_or(f64::NAN),
                most.unwrap_or(f64::NAN),
                ratios.iter().filter(|ratio| **ratio > 1.0).count()
            ),
            ratios.iter().all(|ratio| *ratio > 1.0),
        );
    }
}

pub(super) fn chart(
    title: &str,
    settings: &[(Compute, Contention)],
    found: &[[Vec<f64>; 3]],
) -> String {
    let mut chart = BarChart::new(title)
        .subtitle("time until the target loss")
        .categories(settings.iter().map(|(c, n)| format!("{} {}", c.name(), n.name())))
        .y(Axis::linear("time").unit("s"));
    for (way, name) in WAYS.into_iter().enumerate() {
        let means = found.iter().map(|seconds| stats::mean(&seconds[way]).unwrap_or(f64::NAN));
        chart = chart.series(BarSeries::new(name, means.collect::<Vec<_>>()));
    }
    chart.to_svg()
}
