//! Figure 7 (table): time to a target loss, asynchronous, under contention for processors and links.

use laxity_interface::Span;
use laxity_report::{
    Row,
    chart::{Axis, BarChart, BarSeries},
    stats,
};

use super::live::{
    many::each,
    setting::{Compute, Contention, Setting},
    systems::{Way, together, train, trials, tuned},
    task::Task,
};
use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

#[derive(Debug)]
pub(super) struct Asynchronous;

/// The paper's speed-ups, by compute setting and network setting.
const PAPER: [[f64; 3]; 3] = [[1.74, 1.23, 1.42], [2.96, 2.00, 2.32], [1.90, 1.33, 1.42]];

/// Who trains what, how often.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) workers: u32,
    pub(super) seeds: u64,
    /// Seeds that rates are found with.
    pub(super) trials: u64,
    /// How many workers a model of ours reaches.
    pub(super) relay: usize,
    /// Trainings are given up after this.
    pub(super) limit: Span,
}

/// What came of one way in one setting.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub(super) compute: Compute,
    pub(super) contention: Contention,
    pub(super) way: Way,
    pub(super) rate: f64,
    /// Of each seed; the limit where the target was not reached.
    pub(super) seconds: Vec<f64>,
    pub(super) missed: usize,
    updates: f64,
    delay: f64,
    dropped: f64,
    summed: f64,
}

impl Cell {
    pub(super) fn mean(&self) -> f64 {
        stats::mean(&self.seconds).unwrap_or(f64::NAN)
    }
}

/// The most commits between an update's version and its own, for so many workers.
pub(super) const fn bound(workers: u32) -> u64 {
    2 * workers as u64
}

impl Experiment for Asynchronous {
    fn name(&self) -> &'static str {
        "mlfabric-async"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        let size = Size {
            workers: 30,
            seeds: options.pick(2, 8),
            trials: 1,
            relay: 1,
            limit: Span::from_secs(options.pick(300, 900)),
        };
        let task = Task::pictures(16, 16, 1.3);
        let mut findings = Findings::new();
        let cells = measure(options, &task, &size, &[Way::Plain, Way::Fabric])?;
        let mut speedups = Vec::new();
        for (at, pair) in cells.chunks_exact(2).enumerate() {
            let [plain, fabric] = pair else { continue };
            let paper = PAPER[at / 3][at % 3];
            let speedup = plain.mean() / fabric.mean();
            let each: Vec<_> =
                plain.seconds.iter().zip(&fabric.seconds).map(|(a, b)| a / b).collect();
            findings.row(row(plain, None));
            findings.row(
                row(fabric, Some(speedup))
                    .with("least_speedup", stats::min(&each))
                    .with("most_speedup", stats::max(&each))
                    .with("paper_speedup", paper),
            );
            speedups.push(speedup);
        }
        judge(&mut findings, &speedups);
        parts(options, &task, &size, &cells, &mut findings)?;
        describe(&mut findings, &task, &size);
        let mut chart =
            BarChart::new("Asynchronous training: times faster than a plain parameter server")
                .subtitle("time until the target loss; learning rates tuned for each bar")
                .categories(Setting::all().map(|(c, n)| format!("{} {}", c.name(), n.name())))
                .y(Axis::linear("speed-up"))
                .reference(1.0, "plain");
        chart = chart.series(BarSeries::new("here", speedups.iter().copied()));
        chart = chart.series(BarSeries::new("paper", PAPER.iter().flatten().copied()));
        findings.chart("speedups", chart.to_svg());
        Ok(findings)
    }
}

/// Tunes and measures all ways in all settings; of each setting, the ways in their order.
pub(super) fn measure(
    options: &Options,
    task: &Task,
    size: &Size,
    ways: &[Way],
) -> Result<Vec<Cell>, ReproduceError> {
    let settings = Setting::all().flat_map(|(c, n)| ways.iter().map(move |way| (c, n, *way)));
    let settings: Vec<_> = settings.collect();
    each(options, "asynchronous trainings", &settings, |(compute, contention, way)| {
        one(options.seed, task, size, (*compute, *contention), *way)
    })
}

/// Finds the rate with some seeds, then trains with others.
pub(super) fn one(
    seed: u64,
    task: &Task,
    size: &Size,
    (compute, contention): (Compute, Contention),
    way: Way,
) -> Result<Cell, ReproduceError> {
    let run = |rate: f64, seed: u64, limit: f64| {
        let setting = Setting { compute, contention, seed };
        let system = way.asynchronous(rate, bound(size.workers), size.relay);
        train(task, &system, size.workers, setting, Span::from_secs_f64(limit))
    };
    let most = size.limit.as_secs_f64();
    let (rate, _) = tuned(0.06, most * size.trials as f64, |rate, limit| {
        together(trials(seed, size.trials), limit, |seed, limit| {
            Ok(run(rate, seed, limit.min(most))?.seconds())
        })
    })?;
    let mut cell = Cell {
        compute,
        contention,
        way,
        rate,
        seconds: Vec::new(),
        missed: 0,
        updates: 0.0,
        delay: 0.0,
        dropped: 0.0,
        summed: 0.0,
    };
    for at in 1..=size.seeds {
        let story = run(rate, seed * 1000 + at, most)?;
        let part = 1.0 / size.seeds as f64;
        let all = (story.updates + story.dropped).max(1) as f64;
        cell.missed += usize::from(story.reached.is_none());
        cell.seconds.push(story.seconds().unwrap_or(most));
        cell.updates += part * story.updates as f64;
        cell.delay += part * story.mean_delay();
        cell.dropped += part * story.dropped as f64 / all;
        cell.summed += part * story.summed as f64 / all;
    }
    Ok(cell)
}

fn row(cell: &Cell, speedup: Option<f64>) -> Row {
    Row::new()
        .with("compute", cell.compute.name())
        .with("network", cell.contention.name())
        .with("way", cell.way.name())
        .with("mean_s", cell.mean())
        .with("least_s", stats::min(&cell.seconds))
        .with("most_s", stats::max(&cell.seconds))
        .with("speedup", speedup)
        .with("updates", cell.updates.round())
        .with("mean_delay", cell.delay)
        .with("dropped_pct", cell.dropped * 100.0)
        .with("summed_pct", cell.summed * 100.0)
        .with("rate", cell.rate)
        .with("missed", cell.missed as u64)
}

fn judge(findings: &mut Findings, speedups: &[f64]) {
    let least = stats::min(speedups).unwrap_or(0.0);
    let most = stats::max(speedups).unwrap_or(0.0);
    findings.claim(
        "faster than a plain asynchronous parameter server in all nine settings",
        "1.23 to 2.96 times",
        format!("{least:.2} to {most:.2} times"),
        least > 1.0,
    );
    findings.claim(
        "at least twice as fast in the best setting",
        "2.96 times (CS2, NS1)",
        format!("{most:.2} times"),
        most >= 2.0,
    );
    let mean = |pick: &dyn Fn(usize) -> usize| {
        let mut sums = [0.0; 3];
        speedups.iter().enumerate().for_each(|(at, one)| sums[pick(at)] += one / 3.0);
        sums
    };
    let show = |sums: [f64; 3]| sums.map(|sum| format!("{sum:.2}")).join(", ");
    let rows = mean(&|at| at / 3);
    findings.claim(
        "harsh stragglers (CS2) gain most",
        "CS1, CS2, CS3: 1.46, 2.43, 1.55 on average",
        show(rows),
        rows[1] > rows[0] && rows[1] > rows[2],
    );
    let columns = mean(&|at| at % 3);
    findings.claim(
        "the most contended network (NS1) gains most",
        "NS1, NS2, NS3: 2.20, 1.52, 1.72 on average",
        show(columns),
        columns[0] > columns[1] && columns[0] > columns[2],
    );
}

/// What each part of the system gives, and fewer workers, in the setting where the paper gains most.
fn parts(
    options: &Options,
    task: &Task,
    size: &Size,
    cells: &[Cell],
    findings: &mut Findings,
) -> Result<(), ReproduceError> {
    let setting = (Compute::Cs2, Contention::Ns1);
    let of = |way: Way| {
        let here = |cell: &&Cell| (cell.compute, cell.contention) == setting && cell.way == way;
        cells.iter().find(here).map_or(f64::NAN, Cell::mean)
    };
    let (plain, fabric) = (of(Way::Plain), of(Way::Fabric));
    let all = size.workers;
    let some = [
        (Way::Plain, all / 8),
        (Way::Plain, all / 4),
        (Way::InTurn, all),
        (Way::Ordered, all),
        (Way::Plain, all / 2),
    ];
    let some = &some[..options.pick(2, some.len())];
    let found = each(options, "parts of the system", some, |(way, workers)| {
        one(options.seed, task, &Size { workers: *workers, ..*size }, setting, *way)
    })?;
    let mut fewer = plain;
    for (cell, (way, workers)) in found.iter().zip(some) {
        findings.row(row(cell, Some(plain / cell.mean())).with("workers", *workers));
        if *way == Way::Plain {
            fewer = fewer.min(cell.mean());
        }
    }
    findings.claim(
        "faster than a plain server with whichever number of workers suits it best (CS2, NS1; ours, not the paper's)",
        "not stated",
        format!("{:.2} times", fewer / fabric),
        fabric < fewer,
    );
    Ok(())
}

fn describe(findings: &mut Findings, task: &Task, size: &Size) {
    findings.chose(format!(
        "our copy of the paper names its settings and does not define them. Computing: CS1, one update in ten takes 2 \
         to 4 times as long; CS2, one in five 5 to 10 times; CS3, one worker in eight always 3 times. Links of all hosts, the \
         server's too: NS1, all, 1/2, 1/4 or 1/10 of 10 Gbit/s, drawn every 5 s; NS2, all or 1/2, every 5 s; NS3, 1/10 on \
         one host in four, every 20 s. {} workers",
        size.workers
    ));
    findings.chose(format!(
        "a perceptron with {} parameters stands for a model of 100 MB: links are slower in the same proportion, so that \
         it takes 80 ms over a whole one; computing takes 100 ms. Batches of {}; target: a loss of {} on held-out \
         pictures, twice in a row, looked at every 8 updates",
        task.model.layout().len(),
        task.batch,
        task.target
    ));
    findings.chose(
        "the shipping roles (worker, server, aggregator, scheduler) run in virtual time with real gradients; transfers share \
         links max-min. Aggregators are on the workers' own hosts. The scheduler hears once a second what links have",
    );
    findings.chose(format!(
        "both use AdaDelay, rate / (1 + 0.03 √(t + τ)). For each setting and each way the rate is found with one seed \
         by factors of two and then of √2, and {} other seeds are measured with it. Updates that are more than {} commits \
         old do not count with a scheduler",
        size.seeds,
        bound(size.workers)
    ));
    findings.differs(
        "the paper trains deep networks on GPUs to convergence; what carries over is how many updates arrive in a second \
         and how old they are, not its seconds",
    );
    findings.differs(
        "models go from the server to each worker, so the server's link limits updates per second in both ways alike. What \
         is gained is age: models that leave in turn make updates several times younger, and younger updates bear a higher \
         rate. A plain server with fewer workers has younger updates too",
    );
}
