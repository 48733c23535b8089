//! `netapprox-overall`: everybody to a random other host, by scheme and minimum delivery (§7.1.1).

use laxity_packetsim::measure::Measured;
use laxity_report::{
    Row,
    chart::{Axis, LineChart, Series},
};

use super::setting::{self, HALF, Messages, Run, less, percent};
use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

/// The experiment.
pub(super) struct Overall;

/// The paper's schemes; `dctcp-plain` is DCTCP as papers compare with it.
const PAPER: &[&str] = &[
    "atp-full",
    "udp",
    "dctcp-plain-es",
    "dctcp-plain-ss",
    "pfabric-es",
    "pfabric-ss",
    "aeolus-es",
    "aeolus-ss",
];
/// What the paper does not compare with.
const OURS: &[&str] = &["laxity", "dctcp-es", "dctcp-ss"];

/// Sizes, their name in the paper, messages of a job (quick, full), and how these become ready.
const WORKLOADS: &[(&str, &str, u32, u32, Messages)] =
    &[("fbkv", "FBKV", 5_000, 10_000, Messages::FBKV), ("fbhd", "FBHD", 30, 50, Messages::FBHD)];

impl Experiment for Overall {
    fn name(&self) -> &'static str {
        "netapprox-overall"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        let mut findings = Findings::new();
        findings.columns = vec![
            "arrivals",
            "workload",
            "scheme",
            "min_delivery",
            "mean_ms",
            "p99_ms",
            "over_atp",
            "mean_message_bytes",
            "packet_loss",
            "timeouts",
            "unfinished",
            "short",
        ];
        setting::open_one_by_one(&mut findings, options);
        for (sizes, name, quick, full, how) in WORKLOADS {
            let messages = options.pick(*quick, *full);
            findings.chose(format!("{name}: {messages} messages of `{sizes}` in a job."));
            for how in [*how, Messages::AtOnce] {
                let text = scenario(options, sizes, messages, how);
                let runs = setting::run(options, name, &text, None)?;
                rows(&mut findings, name, how, &runs);
                if how != Messages::AtOnce {
                    chart(&mut findings, name, &runs);
                    claims(&mut findings, name, &runs);
                }
            }
        }
        findings.differs(
            "Both traces have many small messages and few large ones, so whoever delivers the smallest first needs few bytes for \
             half of the messages. mean_message_bytes shows it: where it is far below SampleSend's, what arrived is no random \
             sample of the messages.",
        );
        findings.differs(
            "ATP loses more than the paper's 8.8 %, less so where messages become ready one by one: its rate control aims at the target loss rate (0.5 to 0.1 here), begins at line \
             rate, and moves by a sixteenth or by half of the loss per round trip, while whole jobs take 10 to 40 round trips.",
        );
        findings.differs(
            "laxity, dctcp-es and dctcp-ss are not in the paper: our transport as it ships, and DCTCP with tail-loss probes \
             and timeouts of 1 ms. Claims are judged against the paper's schemes only.",
        );
        Ok(findings)
    }
}

fn scenario(options: &Options, sizes: &str, messages: u32, how: Messages) -> String {
    let schemes: Vec<_> = PAPER.iter().chain(OURS).map(|name| format!("\"{name}\"")).collect();
    let parts = options.pick("[0.5, 0.7, 0.9]", "{ from = 0.4, to = 0.9, step = 0.1 }");
    format!(
        "{}[[workloads]]\nname = \"jobs\"\nkind = \"random\"\nscheme = [{}]\nmessages = {messages}\nsize = \"{sizes}\"\n\
         min-delivery = {parts}\n{}",
        setting::head(options),
        schemes.join(", "),
        how.lines()
    )
}

/// The run of a scheme with the same minimum delivery as another.
fn same<'a>(runs: &'a [Run], scheme: &str, like: &Run) -> Option<&'a Run> {
    let part = like.min_delivery();
    runs.iter().find(|run| run.scheme(0) == scheme && run.min_delivery() == part)
}

/// The mean size of messages that arrived.
fn mean_message(measured: &Measured) -> Option<f64> {
    (measured.delivered > 0).then(|| measured.bytes as f64 / measured.delivered as f64)
}

fn rows(findings: &mut Findings, name: &str, how: Messages, runs: &[Run]) {
    for run in runs {
        let atp = same(runs, "atp-full", run).and_then(|atp| atp.mean_ms(0));
        let measured = &run.workloads[0];
        let summary = measured.flow_s.as_ref();
        findings.row(
            Row::new()
                .with("arrivals", how.label())
                .with("workload", name.to_owned())
                .with("scheme", run.scheme(0))
                .with("min_delivery", run.min_delivery())
                .with("mean_ms", summary.map(|s| s.mean * 1e3))
                .with("p50_ms", summary.map(|s| s.p50 * 1e3))
                .with("p99_ms", summary.map(|s| s.p99 * 1e3))
                .with("max_ms", summary.map(|s| s.max * 1e3))
                .with("over_atp", run.mean_ms(0).zip(atp).map(|(own, atp)| own / atp))
                .with("message_loss", measured.message_loss())
                .with("mean_message_bytes", mean_message(measured))
                .with("packet_loss", run.packet_loss)
                .with("timeouts", run.timeouts)
                .with("unfinished", measured.unfinished_flows)
                .with("short", measured.short_flows),
        );
    }
}

fn chart(findings: &mut Findings, name: &str, runs: &[Run]) {
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for run in runs {
        let point = (run.min_delivery(), run.mean_ms(0).unwrap_or(f64::NAN));
        match lines.iter_mut().find(|(scheme, _)| *scheme == run.scheme(0)) {
            Some((_, points)) => points.push(point),
            None => lines.push((run.scheme(0), vec![point])),
        }
    }
    let chart = LineChart::new(format!("{name}: mean job completion time"))
        .x(Axis::linear("minimum delivery"))
        .y(Axis::linear("completion time").unit("ms"))
        .note("A gap: jobs did not end, or ended with less than they should.");
    let chart = lines
        .into_iter()
        .fold(chart, |chart, (scheme, points)| chart.series(Series::new(scheme, points)));
    findings.chart(name.to_lowercase(), chart.to_svg());
}

fn claims(findings: &mut Findings, name: &str, runs: &[Run]) {
    let atp: Vec<_> = runs.iter().filter(|run| run.scheme(0) == "atp-full").collect();
    let (mut ahead, mut most, mut beaten) = (0, (f64::MIN, String::new()), Vec::new());
    for own in &atp {
        let Some(ours) = own.mean_ms(0) else { continue };
        let others = PAPER.iter().skip(1).filter_map(|scheme| {
            let theirs = same(runs, scheme, own)?.mean_ms(0)?;
            Some((less(ours, theirs), *scheme))
        });
        let others: Vec<_> = others.collect();
        ahead += usize::from(others.iter().all(|(less, _)| *less >= 0.0));
        for (less, scheme) in others {
            if less < 0.0 && !beaten.contains(&scheme) {
                beaten.push(scheme);
            }
            if less > most.0 {
                most = (
                    less,
                    format!("{} less than {scheme} at {}", percent(less), own.min_delivery()),
                );
            }
        }
    }
    let ours = match beaten.is_empty() {
        true => format!("first at {ahead} of {}", atp.len()),
        false => {
            format!("first at {ahead} of {}; sooner somewhere: {}", atp.len(), beaten.join(", "))
        }
    };
    let claim = format!("{name}: ATP has the shortest mean job time at every minimum delivery");
    findings.claim(claim, "first", ours, ahead == atp.len());
    let claim = format!("{name}: ATP saves up to 80 % of the job time");
    findings.claim(claim, "up to 80 %", most.1, most.0 >= HALF * 0.8);
    let loss = |scheme: &str| {
        let all = runs.iter().filter(|run| run.scheme(0) == scheme).map(|run| run.packet_loss);
        all.fold((0.0, 0.0), |(sum, n), loss| (sum + loss, n + 1.0))
    };
    let ((atp, n), (udp, m)) = (loss("atp-full"), loss("udp"));
    let (atp, udp) = (atp / f64::max(n, 1.0), udp / f64::max(m, 1.0));
    let claim = format!("{name}: ATP loses far fewer packets than UDP");
    let ours = format!("{} against {}", percent(atp), percent(udp));
    findings.claim(claim, "8.8 % against 35 %", ours, atp < udp / 2.0);
    if name == "FBKV" {
        worst(findings, runs);
    }
}

/// The paper says who is last with FBKV, and why: credits that find nothing to send.
fn worst(findings: &mut Findings, runs: &[Run]) {
    let mut last = Vec::new();
    for own in runs.iter().filter(|run| run.scheme(0) == "atp-full") {
        let times = PAPER.iter().filter_map(|scheme| {
            let run = same(runs, scheme, own)?;
            Some((run.workloads[0].flow_s.as_ref()?.mean, *scheme))
        });
        last.extend(times.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, scheme)| scheme));
    }
    let holds = !last.is_empty() && last.iter().all(|scheme| scheme.starts_with("aeolus"));
    let claim = "FBKV: Aeolus has the longest mean job time at every minimum delivery";
    findings.claim(claim, "the worst", format!("last: {}", last.join(", ")), holds);
}
