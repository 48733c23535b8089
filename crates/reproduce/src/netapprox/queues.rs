//! `netapprox-queues`: how much waits at switches, by scheme (§7.1.1).

use laxity_interface::Span;
use laxity_report::{
    Row,
    chart::{Axis, LineChart, Series},
};

use super::setting::{self, Run};
use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

/// The experiment.
pub(super) struct Queues;

const SCHEMES: [&str; 6] =
    ["atp-full", "udp", "dctcp-plain-es", "pfabric-es", "aeolus-es", "laxity"];
/// A full packet on the wire.
const MTU: f64 = 1518.0;

impl Experiment for Queues {
    fn name(&self) -> &'static str {
        "netapprox-queues"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        let mut findings = Findings::new();
        findings.columns = vec![
            "workload",
            "scheme",
            "min_delivery",
            "mean_queue_bytes",
            "mean_queue_packets",
            "max_queue_bytes",
        ];
        setting::open(&mut findings, options);
        findings.chose(
            "The mean over time, every 2 us from the start to the last end, of all switch ports that carried a packet.",
        );
        for (sizes, name, messages) in
            [("fbkv", "FBKV", options.pick(5_000, 10_000)), ("fbhd", "FBHD", options.pick(30, 50))]
        {
            let schemes: Vec<_> = SCHEMES.iter().map(|name| format!("\"{name}\"")).collect();
            let text = format!(
                "{}[[workloads]]\nname = \"jobs\"\nkind = \"random\"\nscheme = [{}]\nmessages = {messages}\n\
                 size = \"{sizes}\"\nmin-delivery = {}\n",
                setting::head(options),
                schemes.join(", "),
                options.pick("[0.5, 0.9]", "{ from = 0.4, to = 0.9, step = 0.1 }")
            );
            let runs = setting::run(options, name, &text, Some(Span::from_us(2)))?;
            judge(&mut findings, name, &runs);
        }
        Ok(findings)
    }
}

fn waiting(run: &Run) -> f64 {
    run.queue.map_or(0.0, |(mean, _)| mean)
}

fn judge(findings: &mut Findings, name: &str, runs: &[Run]) {
    for run in runs {
        findings.row(
            Row::new()
                .with("workload", name.to_owned())
                .with("scheme", run.scheme(0))
                .with("min_delivery", run.min_delivery())
                .with("mean_queue_bytes", waiting(run))
                .with("mean_queue_packets", waiting(run) / MTU)
                .with("max_queue_bytes", run.queue.map(|(_, most)| most)),
        );
    }
    let of = |scheme: &'static str| runs.iter().filter(move |run| run.scheme(0) == scheme);
    let chart = LineChart::new(format!("{name}: mean queue of used switch ports"))
        .x(Axis::linear("minimum delivery"))
        .y(Axis::log("waiting").unit("bytes"));
    let chart = SCHEMES.iter().fold(chart, |chart, scheme| {
        chart.series(Series::new(*scheme, of(scheme).map(|run| (run.min_delivery(), waiting(run)))))
    });
    findings.chart(name.to_lowercase(), chart.to_svg());

    let most = |scheme| of(scheme).map(waiting).fold(0.0, f64::max);
    let least = |scheme| of(scheme).map(waiting).fold(f64::MAX, f64::min);
    let own = most("atp-full");
    findings.claim(
        format!("{name}: the mean queue with ATP is less than one full packet"),
        "under 1 MTU",
        format!("up to {:.2} packets", own / MTU),
        own < MTU,
    );
    let others = SCHEMES[1..5].iter().map(|scheme| (least(scheme), *scheme));
    let (next, who) = others.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, ""));
    findings.claim(
        format!("{name}: ATP has the shortest queue of all schemes"),
        "smallest",
        format!("{:.2} packets at most; next is {who} with {:.2}", own / MTU, next / MTU),
        own < next,
    );
}
