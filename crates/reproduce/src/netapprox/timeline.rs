//! `netapprox-timeline`: how a job follows its slack while background moves behind it (§7.1.2).

use laxity_interface::{Span, Time};
use laxity_report::{
    Row,
    chart::{Axis, LineChart, Series},
};

use super::{
    moving::{self, Moment, Moved, Moving},
    setting::percent,
};
use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

/// The experiment.
pub(super) struct Timeline;

/// Messages of every sender.
const MESSAGES: u32 = 40_000;
/// The background's queues, each from this part of the job's least time on.
const PHASES: [(f64, u8); 3] = [(0.0, 4), (1.0 / 3.0, 3), (2.0 / 3.0, 2)];
/// Intervals over which moments are averaged.
const STEPS: usize = 60;

impl Experiment for Timeline {
    fn name(&self) -> &'static str {
        "netapprox-timeline"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        let mut findings = Findings::new();
        findings.columns =
            vec!["t_us", "background_queue", "queue", "loss", "target_loss_rate", "rate_gbps"];
        let mut moving = Moving {
            scheme: "atp-full".parse().expect("a scheme that is there"),
            messages: MESSAGES,
            min_delivery: 0.5,
            queues: Vec::new(),
            seed: options.seed,
        };
        let least = moving.least_time();
        moving.queues = PHASES.map(|(at, queue)| (Time::ZERO + least.mul_f64(at), queue)).into();
        open(&mut findings, &moving);
        options.progress.tell("timeline", 0, 1);
        let moved = moving.run()?;
        options.progress.tell("timeline", 1, 1);
        let steps = steps(&moving, &moved);
        for step in &steps {
            findings.row(step.row());
        }
        judge(&mut findings, &moving, &steps);
        charts(&mut findings, &steps);
        findings.differs(
            "The paper shows one move at a time. Here the target settles at the border between two queues and the job goes to \
             and fro between them: ahead of the background nothing gets lost, so the target rises and the job returns.",
        );
        Ok(findings)
    }
}

fn open(findings: &mut Findings, moving: &Moving) {
    findings.chose(moving::READING);
    findings.chose(format!(
        "The paper names neither hosts nor rates. Here {} hosts on one switch send {} messages of FBKV each to one; another \
         sends {} to the same without listening to anybody.",
        moving::SENDERS,
        moving.messages,
        moving::BEAM,
    ));
    let at: Vec<_> = moving.queues.iter().map(|(at, queue)| format!("{queue} from {at}")).collect();
    findings.chose(format!(
        "The background's queue: {}. Thirds of the least time that the job can take.",
        at.join(", ")
    ));
    findings.chose(
        "24 settings were looked at before these were chosen: 1, 2 and 4 senders, a background of 10 to 40 Gbit/s, 10,000 and \
         40,000 messages, with a background that mostly stayed in queue 4. With 10,000 messages the first burst at line rate \
         spends the slack of two or three queues at once, and the job skips them.",
    );
    findings.chose(format!(
        "One sender's rate control, averaged over {STEPS} equal parts of the job's time; its queue is that of its last packet.",
    ));
}

/// A part of the job's time.
struct Step {
    from: Time,
    background: u8,
    queue: u8,
    loss: Option<f64>,
    target: Option<f64>,
    rate_gbps: f64,
}

impl Step {
    fn us(&self) -> f64 {
        self.from.since(Time::ZERO).as_secs_f64() * 1e6
    }

    fn row(&self) -> Row {
        Row::new()
            .with("t_us", self.us())
            .with("background_queue", i64::from(self.background))
            .with("queue", i64::from(self.queue))
            .with("loss", self.loss)
            .with("target_loss_rate", self.target)
            .with("rate_gbps", self.rate_gbps)
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    (n > 0.0).then_some(sum / n)
}

fn steps(moving: &Moving, moved: &Moved) -> Vec<Step> {
    let Some(last) = moved.moments.last() else { return Vec::new() };
    let whole = last.at.since(Time::ZERO);
    let interval = Span::from_ps(whole.as_ps() / STEPS as u64 + 1);
    let mut steps: Vec<Step> = Vec::new();
    for at in 0..STEPS as u64 {
        let (from, to) = (Time::ZERO + interval * at, Time::ZERO + interval * (at + 1));
        let own = || moved.moments.iter().filter(move |moment| (from..to).contains(&moment.at));
        let passed = moving.queues.partition_point(|(since, _)| *since <= from);
        let pair = |pick: fn((f64, f64)) -> f64| {
            mean(own().filter_map(|moment| moment.outlook.loss_and_target).map(pick))
        };
        let Some(Moment { queue, .. }) = own().next_back().copied() else { continue };
        steps.push(Step {
            from,
            background: moving.queues[passed.max(1) - 1].1,
            queue,
            loss: pair(|(loss, _)| loss),
            target: pair(|(_, target)| target),
            rate_gbps: mean(own().map(|m| m.outlook.rate.as_bps() as f64 / 1e9)).unwrap_or(0.0),
        });
    }
    steps
}

/// Queues in the order in which the job came to them, each once.
fn visited(steps: &[Step]) -> Vec<u8> {
    let mut queues: Vec<u8> = Vec::new();
    for step in steps {
        if !queues.contains(&step.queue) {
            queues.push(step.queue);
        }
    }
    queues
}

fn judge(findings: &mut Findings, moving: &Moving, steps: &[Step]) {
    let queues = visited(steps);
    let words: Vec<_> = queues.iter().map(u8::to_string).collect();
    findings.claim(
        "the job begins in queue 4 and moves to 3, 2 and 1 as the background follows",
        "4, 3, 2, 1",
        words.join(", "),
        queues == [4, 3, 2, 1],
    );
    let mut ahead = Vec::new();
    for (at, (_, background)) in moving.queues.iter().enumerate() {
        let of_phase: Vec<_> = steps.iter().filter(|step| step.background == *background).collect();
        let passed = of_phase.iter().filter(|step| step.queue < *background).count();
        ahead.push((at, passed as f64 / of_phase.len().max(1) as f64));
    }
    let list: Vec<_> = ahead.iter().map(|(_, part)| percent(*part)).collect();
    findings.claim(
        "in each part it leaves the background's queue for a higher one",
        "moves on each time",
        format!("{} of the time ahead of the background", list.join(", ")),
        ahead.iter().all(|(_, part)| *part > 0.0),
    );
    let lossy = |ahead: bool| {
        let own = steps.iter().filter(|step| (step.queue < step.background) == ahead);
        mean(own.filter_map(|step| Some(step.loss? - step.target?)))
    };
    let (with, without) = (lossy(false), lossy(true));
    let words = |value: Option<f64>| value.map_or_else(|| "never".to_owned(), percent);
    findings.claim(
        "with the background in its queue or above, losses exceed the target by more than ahead of it",
        "loss above the target, then close to it",
        format!("loss less target: {} beside or behind it, {} ahead", words(with), words(without)),
        with.zip(without).is_some_and(|(with, without)| with > without),
    );
}

fn charts(findings: &mut Findings, steps: &[Step]) {
    let line = |name: &str, pick: &dyn Fn(&Step) -> Option<f64>| {
        let points = steps.iter().map(|step| (step.us(), pick(step).unwrap_or(f64::NAN)));
        Series::new(name, points).without_markers()
    };
    let time = || Axis::linear("time").unit("us");
    let losses = LineChart::new("Loss rate and target of one sender")
        .x(time())
        .y(Axis::linear("part of the packets"))
        .series(line("loss", &|step| step.loss))
        .series(line("target loss rate", &|step| step.target));
    findings.chart("losses", losses.to_svg());
    let queues = LineChart::new("Queues: the job moves ahead of the background")
        .x(time())
        .y(Axis::linear("queue, 0 leaves first"))
        .series(line("job", &|step| Some(f64::from(step.queue))))
        .series(line("background", &|step| Some(f64::from(step.background))).dashed());
    findings.chart("queues", queues.to_svg());
    let rate = LineChart::new("Sending rate of one sender")
        .x(time())
        .y(Axis::linear("rate").unit("Gbit/s"))
        .series(line("rate", &|step| Some(step.rate_gbps)));
    findings.chart("rate", rate.to_svg());
}
