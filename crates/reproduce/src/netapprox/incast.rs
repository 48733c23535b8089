//! `netapprox-incast`: everybody to one host (§7.1.1).

use laxity_report::{
    Row,
    chart::{Axis, LineChart, Series},
};

use super::setting::{self, Messages, Run, less, percent};
use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

/// The experiment.
pub(super) struct Incast;

const SCHEMES: &[&str] = &[
    "atp-full",
    "dctcp-plain-es",
    "dctcp-plain-ss",
    "pfabric-es",
    "pfabric-ss",
    "aeolus-es",
    "aeolus-ss",
    "laxity",
    "dctcp-es",
    "dctcp-ss",
];

impl Experiment for Incast {
    fn name(&self) -> &'static str {
        "netapprox-incast"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        let mut findings = Findings::new();
        findings.columns = vec![
            "arrivals",
            "scheme",
            "min_delivery",
            "mean_ms",
            "p99_ms",
            "last_ms",
            "packet_loss",
            "timeouts",
            "wasted_credits",
            "unfinished",
            "short",
        ];
        setting::open_one_by_one(&mut findings, options);
        let messages = 1_000;
        findings.chose(format!(
            "{messages} messages of `fbkv` (FBKV) in a job; all other hosts send to one."
        ));
        let schemes: Vec<_> = SCHEMES.iter().map(|name| format!("\"{name}\"")).collect();
        for how in [Messages::FBKV, Messages::AtOnce] {
            let text = format!(
                "{}[[workloads]]\nname = \"jobs\"\nkind = \"incast\"\nscheme = [{}]\nmessages = {messages}\nsize = \"fbkv\"\n\
                 min-delivery = {}\n{}",
                setting::head(options),
                schemes.join(", "),
                options.pick("[0.5, 0.7, 0.9]", "{ from = 0.4, to = 0.9, step = 0.1 }"),
                how.lines(),
            );
            let runs = setting::run(options, "all to one", &text, None)?;
            for run in &runs {
                findings.row(row(run, how));
            }
            if how != Messages::AtOnce {
                findings.chart("incast", chart(&runs));
                claims(&mut findings, &runs);
            }
        }
        findings.differs(
            "pFabric and Aeolus end. pFabric's timeouts are three round trips as published. The paper blames Aeolus on credits that \
             come between messages; here hardly any is wasted, since all senders share the credits of one line and messages wait \
             for them. With messages one by one Aeolus takes 1.2 to 1.4 times as long as DCTCP, at once about as long.",
        );
        Ok(findings)
    }
}

fn row(run: &Run, how: Messages) -> Row {
    let measured = &run.workloads[0];
    let flows = measured.flow_s.as_ref();
    Row::new()
        .with("arrivals", how.label())
        .with("scheme", run.scheme(0))
        .with("min_delivery", run.min_delivery())
        .with("mean_ms", flows.map(|s| s.mean * 1e3))
        .with("p50_ms", flows.map(|s| s.p50 * 1e3))
        .with("p99_ms", flows.map(|s| s.p99 * 1e3))
        .with("last_ms", measured.job_s.as_ref().map(|s| s.max * 1e3))
        .with("mean_slowdown", measured.slowdown.as_ref().map(|s| s.mean))
        .with("message_loss", measured.message_loss())
        .with("packet_loss", run.packet_loss)
        .with("timeouts", run.timeouts)
        .with("wasted_credits", run.wasted_credits)
        .with("unfinished", measured.unfinished_flows)
        .with("short", measured.short_flows)
}

fn chart(runs: &[Run]) -> String {
    let chart = LineChart::new("All to one: mean job completion time")
        .subtitle("FBKV")
        .x(Axis::linear("minimum delivery"))
        .y(Axis::log("completion time").unit("ms"))
        .note("A gap: jobs did not end, or ended with less than they should.");
    let of = |scheme: &str| {
        let own = runs.iter().filter(|run| run.scheme(0) == scheme);
        let points: Vec<_> =
            own.map(|run| (run.min_delivery(), run.mean_ms(0).unwrap_or(f64::NAN))).collect();
        Series::new(scheme, points)
    };
    SCHEMES.iter().fold(chart, |chart, scheme| chart.series(of(scheme))).to_svg()
}

/// Mean times of a scheme at all minimum deliveries; `None` where jobs did not end.
fn means(runs: &[Run], scheme: &str) -> Vec<Option<f64>> {
    runs.iter().filter(|run| run.scheme(0) == scheme).map(|run| run.mean_ms(0)).collect()
}

fn claims(findings: &mut Findings, runs: &[Run]) {
    let atp = means(runs, "atp-full");
    for (theirs, paper) in [("dctcp-plain-es", "ATP first"), ("dctcp-plain-ss", "ATP first")] {
        let pairs: Vec<_> = atp
            .iter()
            .zip(means(runs, theirs))
            .filter_map(|(ours, theirs)| Some(less((*ours)?, theirs?)))
            .collect();
        let (low, high) =
            pairs.iter().fold((f64::MAX, f64::MIN), |(l, h), x| (l.min(*x), h.max(*x)));
        let ours = match pairs.is_empty() {
            true => "no pair in which both ended".to_owned(),
            false => format!("{} to {} less time", percent(low), percent(high)),
        };
        let holds = !pairs.is_empty() && pairs.len() == atp.len() && low > 0.0;
        findings.claim(format!("all to one, ATP is sooner than {theirs}"), paper, ours, holds);
    }
    for theirs in ["pfabric-es", "aeolus-es"] {
        let (own, dctcp) = (means(runs, theirs), means(runs, "dctcp-plain-es"));
        let ratios = own.iter().zip(&dctcp).filter_map(|(a, b)| Some((*a)? / (*b)?));
        let least = ratios.fold(f64::MAX, f64::min);
        let gone = own.iter().filter(|mean| mean.is_none()).count();
        let ours = match least {
            f64::MAX => format!("did not end at {gone} of {}", own.len()),
            least => format!("{least:.2} times DCTCP's time at best, did not end at {gone}"),
        };
        let claim = format!("all to one, {theirs} is much slower than DCTCP-ES");
        findings.claim(claim, "not shown, much worse", ours, least == f64::MAX || least > 1.5);
    }
}
