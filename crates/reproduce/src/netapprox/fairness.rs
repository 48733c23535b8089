//! `netapprox-fairness`: a light job beside two heavy ones (§7.1.5).

use laxity_packetsim::sizes::Sizes;
use laxity_report::{
    Row,
    chart::{Axis, LineChart, Series},
};

use super::setting::{self, Run};
use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

/// The experiment.
pub(super) struct Fairness;

/// Who carries all three jobs.
const SCHEMES: [&str; 3] = ["atp-full", "atp-fixprio", "atp-fixtlr"];
/// The light job by itself.
const ALONE: &str = "alone";
/// FBKV's bytes as a part of the bytes of one FBHD job.
const LOADS: [f64; 4] = [0.25, 0.5, 0.75, 1.0];
/// Which of them a quick run looks at.
const QUICK: [f64; 2] = [0.25, 1.0];
/// Minimum deliveries: of FBKV, and of the two of FBHD.
const LIGHT: f64 = 0.7;
const HEAVY: [f64; 2] = [0.7, 0.5];

impl Experiment for Fairness {
    fn name(&self) -> &'static str {
        "netapprox-fairness"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        let mut findings = Findings::new();
        findings.columns = vec![
            "load",
            "scheme",
            "messages",
            "fbkv_mean_ms",
            "fbkv_p99_ms",
            "over_alone",
            "fbhd_mean_ms",
            "packet_loss",
            "unfinished",
        ];
        setting::open(&mut findings, options);
        let heavy = options.pick(12, 50);
        findings.chose(format!(
            "Every host sends three jobs to random others: two of FBHD with {heavy} messages and minimum deliveries of {} and \
             {} at once, and one of FBKV with {LIGHT} 20 us later. The paper's numbers are lost in our copy of its text; \
             with these, FBKV begins in the queue of one of the heavy jobs and ahead of the other.",
            HEAVY[0], HEAVY[1],
        ));
        findings.chose(
            "load: FBKV's bytes as a part of the mean bytes of one FBHD job. The paper names a load of 0.25 and does not say \
             of what.",
        );
        let mut found = Vec::new();
        let loads = options.pick(&QUICK[..], &LOADS[..]);
        for &load in loads {
            let messages = light_messages(load, heavy);
            for scheme in SCHEMES.into_iter().chain([ALONE]) {
                let text = scenario(options, scheme, messages, heavy);
                let what = format!("load {load}, {scheme}");
                let run = setting::run(options, &what, &text, None)?.swap_remove(0);
                found.push(Found { load, scheme, messages, run });
            }
        }
        for one in &found {
            findings.row(row(one, &found));
        }
        judge(&mut findings, loads, &found);
        findings.differs(
            "alone is the light job by itself over full ATP. Values below 1: with a fixed queue it is sooner beside heavy jobs \
             than over full ATP without them.",
        );
        Ok(findings)
    }
}

/// One load and scheme.
struct Found {
    load: f64,
    scheme: &'static str,
    messages: u32,
    run: Run,
}

impl Found {
    fn mean_ms(&self) -> Option<f64> {
        self.run.mean_ms(0)
    }
}

fn mean_bytes(name: &str) -> f64 {
    name.parse::<Sizes>().expect("a distribution that is there").mean()
}

fn light_messages(load: f64, heavy: u32) -> u32 {
    (load * f64::from(heavy) * mean_bytes("fbhd") / mean_bytes("fbkv")) as u32
}

fn scenario(options: &Options, scheme: &str, messages: u32, heavy: u32) -> String {
    let carrier = if scheme == ALONE { "atp-full" } else { scheme };
    let mut text = format!(
        "{}[[workloads]]\nname = \"light\"\nkind = \"random\"\nscheme = \"{carrier}\"\nmessages = {messages}\nsize = \"fbkv\"\n\
         min-delivery = {LIGHT}\nstart = \"20us\"\n",
        setting::head(options),
    );
    if scheme != ALONE {
        for (at, part) in HEAVY.iter().enumerate() {
            text += &format!(
                "[[workloads]]\nname = \"heavy-{at}\"\nkind = \"random\"\nscheme = \"{carrier}\"\nmessages = {heavy}\n\
                 size = \"fbhd\"\nmin-delivery = {part}\n"
            );
        }
    }
    text
}

fn of<'a>(found: &'a [Found], load: f64, scheme: &str) -> Option<&'a Found> {
    found.iter().find(|one| one.load == load && one.scheme == scheme)
}

/// FBKV's time over its time alone.
fn over_alone(one: &Found, found: &[Found]) -> Option<f64> {
    let alone = of(found, one.load, ALONE)?.mean_ms()?;
    Some(one.mean_ms()? / alone)
}

fn row(one: &Found, found: &[Found]) -> Row {
    let light = &one.run.workloads[0];
    let heavy: Vec<f64> =
        one.run.workloads[1..].iter().flat_map(|own| own.flow_times.iter().copied()).collect();
    let mean = (!heavy.is_empty()).then(|| heavy.iter().sum::<f64>() / heavy.len() as f64 * 1e3);
    Row::new()
        .with("load", one.load)
        .with("scheme", one.scheme)
        .with("messages", i64::from(one.messages))
        .with("fbkv_mean_ms", light.flow_s.map(|s| s.mean * 1e3))
        .with("fbkv_p50_ms", light.flow_s.map(|s| s.p50 * 1e3))
        .with("fbkv_p99_ms", light.flow_s.map(|s| s.p99 * 1e3))
        .with("over_alone", over_alone(one, found))
        .with("fbhd_mean_ms", mean)
        .with("packet_loss", one.run.packet_loss)
        .with("unfinished", light.unfinished_flows)
}

fn judge(findings: &mut Findings, loads: &[f64], found: &[Found]) {
    let ratio = |load, scheme| of(found, load, scheme).and_then(|one| over_alone(one, found));
    let words = |scheme| {
        let each = loads.iter().map(|load| match ratio(*load, scheme) {
            Some(times) => format!("{times:.2}"),
            None => "did not end".to_owned(),
        });
        format!("{scheme} {}", each.collect::<Vec<_>>().join(", "))
    };
    let closest = loads.iter().all(|load| {
        let own = ratio(*load, "atp-full");
        let others = SCHEMES[1..].iter().filter_map(|scheme| ratio(*load, scheme));
        own.is_some_and(|own| others.into_iter().all(|other| own < other))
    });
    findings.claim(
        "beside heavy jobs, the light one suffers least with full ATP, at every load",
        "full closest",
        format!("times its time alone, by load: {}", SCHEMES.map(words).join("; ")),
        closest,
    );
    let (prio, target) = (ratio(LOADS[0], "atp-fixprio"), ratio(LOADS[0], "atp-fixtlr"));
    findings.claim(
        "at a light load (0.25) a moving target in a fixed queue is worse than a fixed target",
        "FixPrio slower than FixTLR",
        format!("{}; {}", words("atp-fixprio"), words("atp-fixtlr")),
        prio.zip(target).is_some_and(|(prio, target)| prio > target),
    );
    let chart = LineChart::new("A light job beside two heavy ones")
        .x(Axis::linear("bytes of the light job over those of a heavy one"))
        .y(Axis::linear("completion time of the light job").unit("ms"));
    let chart = SCHEMES.into_iter().chain([ALONE]).fold(chart, |chart, scheme| {
        let own = found.iter().filter(|one| one.scheme == scheme);
        let points = own.map(|one| (one.load, one.mean_ms().unwrap_or(f64::NAN)));
        chart.series(Series::new(scheme, points))
    });
    findings.chart("light", chart.to_svg());
}
