//! `netapprox-dynamic`: what moving the target and the queue are worth (§7.1.2).

use std::sync::atomic::{AtomicU64, Ordering};

use laxity_interface::Time;
use laxity_packetsim::{measure::Summary, scenario::each};
use laxity_report::{
    Row,
    chart::{Axis, LineChart, Series},
};

use super::{
    moving::{self, Moved, Moving, first_queue},
    setting::{less, percent},
};
use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

/// The experiment.
pub(super) struct Dynamic;

/// In the paper's order, the slowest first.
const SCHEMES: [&str; 4] = ["dctcp-plain-es", "atp-fixtlr", "atp-fixprio", "atp-full"];

impl Experiment for Dynamic {
    fn name(&self) -> &'static str {
        "netapprox-dynamic"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        let mut findings = Findings::new();
        findings.columns = vec![
            "scheme",
            "min_delivery",
            "background_queues",
            "mean_ms",
            "p99_ms",
            "job_ms",
            "message_loss",
            "unfinished",
        ];
        let parts = options.pick(&[0.3, 0.5, 0.7][..], &[0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8][..]);
        let messages = 10_000;
        let seeds = options.seed..options.seed + options.pick(2, 5);
        open(&mut findings, messages, seeds.end - seeds.start);
        let mut cases = Vec::new();
        for scheme in SCHEMES {
            for &part in parts {
                cases.extend(seeds.clone().map(|seed| case(scheme, part, messages, seed)));
            }
        }
        let (done, of) = (AtomicU64::new(0), cases.len() as u64);
        options.progress.tell("jobs under moving background", 0, of);
        let act = |case: &Moving| {
            let moved = case.run();
            let done = 1 + done.fetch_add(1, Ordering::Relaxed);
            options.progress.tell("jobs under moving background", done, of);
            moved
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let moved = each(&cases, threads, act).into_iter().collect::<Result<Vec<_>, _>>()?;
        let per_point = (seeds.end - seeds.start) as usize;
        let found: Vec<_> = cases
            .chunks(per_point)
            .zip(moved.chunks(per_point))
            .map(|(cases, moved)| Found::of(&cases[0], moved))
            .collect();
        for one in &found {
            findings.row(one.row());
        }
        judge(&mut findings, &found);
        Ok(findings)
    }
}

fn case(scheme: &str, min_delivery: f64, messages: u32, seed: u64) -> Moving {
    let scheme = scheme.parse().expect("a scheme that is there");
    let mut moving = Moving { scheme, messages, min_delivery, queues: Vec::new(), seed };
    let half = Time::ZERO + moving.least_time() / 2;
    let queue = first_queue(min_delivery);
    moving.queues = match moving.scheme.to_string().starts_with("atp") {
        true => vec![(Time::ZERO, queue), (half, queue - 1)],
        false => vec![(Time::ZERO, 0)],
    };
    moving
}

fn open(findings: &mut Findings, messages: u32, seeds: u64) {
    findings.chose(moving::READING);
    findings.chose(format!(
        "{} hosts on one switch send {messages} messages of FBKV each to one; another sends {} to the same without listening \
         to anybody; {seeds} seeds. The paper names none of these.",
        moving::SENDERS,
        moving::BEAM,
    ));
    findings.chose(
        "Background begins in the queue of the job's first target and moves one queue higher after half of the \
         least time that the job can take.",
    );
    findings.chose(
        "Seven settings were looked at before this one: 2, 4 and 8 senders, a background of 20 and 30 Gbit/s, 2,000 to 40,000 \
         messages, minimum deliveries of 0.3, 0.5 and 0.7, with a later shift. At every minimum delivery, moving the queue \
         saved time in 4 of them and moving the target in 1; ATP was sooner than DCTCP-ES in all 7. So the first two \
         verdicts below depend on the setting.",
    );
    findings.chose(
        "DCTCP-ES has its own ports: one queue of 1.5 MB that marks above 65 packets, and the background is in it. With \
         timeouts of 10 ms and no probes, as in the other experiments of this paper.",
    );
    findings.chose(
        "Minimum deliveries above 6/7 begin in queue 1, and the paper's one higher is queue 0, reserved for exact traffic: \
         left out.",
    );
}

/// All seeds of one scheme and minimum delivery.
struct Found {
    scheme: String,
    min_delivery: f64,
    queues: String,
    flows: Option<Summary>,
    jobs: Option<Summary>,
    message_loss: f64,
    unfinished: usize,
}

impl Found {
    fn of(case: &Moving, moved: &[Moved]) -> Self {
        let all = |pick: fn(&Moved) -> &Vec<f64>| -> Vec<f64> {
            moved.iter().flat_map(|one| pick(one).iter().copied()).collect()
        };
        let queues: Vec<_> = case.queues.iter().map(|(_, queue)| queue.to_string()).collect();
        let sum = |pick: fn(&Moved) -> u64| moved.iter().map(pick).sum::<u64>() as f64;
        Self {
            scheme: case.scheme.to_string(),
            min_delivery: case.min_delivery,
            queues: queues.join(", "),
            flows: Summary::of(&all(|one| &one.job.flow_times)),
            jobs: Summary::of(&all(|one| &one.job.job_times)),
            message_loss: 1.0 - sum(|one| one.job.delivered) / sum(|one| one.job.messages).max(1.0),
            unfinished: moved.iter().map(|one| one.job.unfinished_flows).sum(),
        }
    }

    /// The mean time until everybody's part is there; none if something did not end.
    fn job_ms(&self) -> Option<f64> {
        self.jobs.filter(|_| self.unfinished == 0).map(|jobs| jobs.mean * 1e3)
    }

    fn row(&self) -> Row {
        Row::new()
            .with("scheme", self.scheme.clone())
            .with("min_delivery", self.min_delivery)
            .with("background_queues", self.queues.clone())
            .with("mean_ms", self.flows.map(|s| s.mean * 1e3))
            .with("p99_ms", self.flows.map(|s| s.p99 * 1e3))
            .with("job_ms", self.job_ms())
            .with("message_loss", self.message_loss)
            .with("unfinished", self.unfinished)
    }
}

fn judge(findings: &mut Findings, found: &[Found]) {
    let of = |scheme: &str| -> Vec<Option<f64>> {
        found.iter().filter(|one| one.scheme == scheme).map(Found::job_ms).collect()
    };
    let claims = [
        (
            "atp-full",
            "atp-fixprio",
            "moving the queue saves time",
            "huge, most with little to deliver",
        ),
        ("atp-fixprio", "atp-fixtlr", "moving the target saves time", "more with more to deliver"),
        (
            "atp-fixtlr",
            "dctcp-plain-es",
            "without either, ATP is still sooner than DCTCP-ES",
            "sooner",
        ),
    ];
    for (own, other, claim, paper) in claims {
        let pairs: Vec<_> = of(own)
            .into_iter()
            .zip(of(other))
            .map(|(own, other)| own.zip(other).map(|(own, other)| less(own, other)))
            .collect();
        let words: Vec<_> =
            pairs.iter().map(|gain| gain.map_or_else(|| "did not end".into(), percent)).collect();
        let holds = pairs.iter().all(|gain| gain.is_some_and(|gain| gain > 0.0));
        let ours = format!("{} less time, by minimum delivery", words.join(", "));
        findings.claim(format!("{claim} ({own} against {other})"), paper, ours, holds);
    }
    let chart = LineChart::new("A job under moving background")
        .x(Axis::linear("minimum delivery"))
        .y(Axis::log("completion time").unit("ms"));
    let chart = SCHEMES.iter().fold(chart, |chart, scheme| {
        let own = found.iter().filter(|one| one.scheme == *scheme);
        let points = own.map(|one| (one.min_delivery, one.job_ms().unwrap_or(f64::NAN)));
        chart.series(Series::new(*scheme, points))
    });
    findings.chart("jobs", chart.to_svg());
}
