//! `bounded-speedup`: the simplified protocol against TCP (§3.1, figure 4).

use laxity_report::{
    Row,
    chart::{Axis, BarChart, BarSeries, CdfChart},
};

use super::{
    model::MODELS,
    setting::{self, BEHIND, Case, LAXITY, Layout, Size, TCP},
    training::{self, Run, find, speedup, speedup_by_operations},
};
use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

/// The experiment.
pub(super) struct Speedup;

/// DCTCP as a careful operator runs it today.
const STRONG: &str = "dctcp";
const SCHEMES: [&str; 4] = [TCP, STRONG, "bounded", LAXITY];
const LAYOUTS: [Layout; 2] = [Layout::Servers, Layout::Ring];

impl Experiment for Speedup {
    fn name(&self) -> &'static str {
        "bounded-speedup"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        find_out(options, &Size::of(options))
    }
}

pub(super) fn find_out(options: &Options, size: &Size) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::new();
    findings.columns = vec![
        "model",
        "layout",
        "scheme",
        "bound",
        "network_ms",
        "iteration_ms",
        "speedup",
        "speedup_by_operations",
        "network_speedup",
        "mean_flow_ms",
        "p99_flow_ms",
        "worst_loss",
        "timeouts",
    ];
    setting::open(&mut findings, size);
    findings
        .chose("network_speedup leaves out computing: the most that any computing time can give.");
    // It takes longer than all others of a model together: a quick run looks at one, and it begins
    // first, so that no core waits for it at the end. Its rows come last all the same.
    let mut cases: Vec<_> = behind(options.pick(&LAYOUTS[..1], &LAYOUTS[..])).collect();
    let longest = cases.len();
    cases.extend(setting::cases(&LAYOUTS, &SCHEMES));
    let mut runs = training::run(options, size, &cases)?;
    runs.rotate_left(longest);
    for run in &runs {
        let tcp = find(&runs, run.case.model.name, run.case.layout, TCP);
        findings.row(
            Row::new()
                .with("model", run.case.model.name)
                .with("layout", run.case.layout.name())
                .with("scheme", run.case.scheme)
                .with("bound", run.case.model.bound)
                .with("network_ms", run.network_ms)
                .with("compute_ms", run.compute_ms)
                .with("iteration_ms", run.iteration_ms())
                .with("speedup", speedup(run, tcp))
                .with("speedup_by_operations", speedup_by_operations(run, tcp))
                .with("network_speedup", tcp.network_ms.zip(run.network_ms).map(|(t, o)| t / o))
                .with("mean_flow_ms", run.mean_flow_ms())
                .with("p99_flow_ms", run.p99_flow_ms())
                .with("max_flow_ms", run.flows.map(|flows| flows.max * 1e3))
                .with("loss", run.loss)
                .with("worst_loss", run.worst_loss)
                .with("timeouts", run.timeouts)
                .with("drops", run.drops)
                .with("unfinished", run.unfinished),
        );
    }
    judge(&mut findings, &runs, size);
    Ok(findings)
}

/// MLP on ports where what may get lost stands behind the background.
fn behind(layouts: &[Layout]) -> impl Iterator<Item = Case> {
    let model = MODELS.iter().find(|model| model.name == "MLP").expect("one of the models");
    layouts.iter().map(|&layout| Case { model, layout, scheme: BEHIND })
}

fn gains(runs: &[Run], layout: Layout, scheme: &str) -> [f64; 4] {
    MODELS.each_ref().map(|model| {
        let own = find(runs, model.name, layout, scheme);
        speedup(own, find(runs, model.name, layout, TCP)).unwrap_or(f64::NAN)
    })
}

fn judge(findings: &mut Findings, runs: &[Run], size: &Size) {
    for layout in LAYOUTS {
        let ours = gains(runs, layout, "bounded");
        let list: Vec<_> =
            MODELS.iter().zip(ours).map(|(m, gain)| format!("{} {gain:.2}", m.name)).collect();
        findings.claim(
            format!(
                "{}: the simplified protocol is 1.1 to 2.2 times as fast as TCP",
                layout.name()
            ),
            "1.1 to 2.2",
            list.join(", "),
            // The paper's figures have one decimal.
            ours.iter().all(|gain| (11..=22).contains(&((gain * 10.0).round() as i64))),
        );
    }
    let (servers, ring) =
        (gains(runs, Layout::Servers, "bounded"), gains(runs, Layout::Ring, "bounded"));
    let apart = servers.iter().zip(ring).map(|(s, r)| (s / r - 1.0).abs()).fold(0.0, f64::max);
    findings.claim(
        "servers and ring gain much the same",
        "very similar",
        format!("up to {:.0} % apart", apart * 100.0),
        apart <= 0.1,
    );
    // What has to arrive must pass every host's line in both halves: that bounds every transport.
    let hosts = f64::from(size.racks * setting::RING_A_RACK);
    let most = MODELS.iter().map(|model| {
        let tcp = find(runs, model.name, Layout::Ring, TCP);
        let bytes = (model.bytes() / size.smaller) as f64 * (1.0 - model.bound);
        let line_ms = bytes * (hosts - 1.0) / hosts * 8e-6 / f64::from(setting::LINE_GBPS);
        let all = tcp.iteration_ms().unwrap_or(f64::NAN);
        format!("{} {:.3}", model.name, all / (tcp.compute_ms + 2.0 * line_ms))
    });
    findings.differs(format!(
        "A ring without any delay, loss or header, over lines that nobody else uses, would be so many times as fast as TCP's: {}. \
         Where that is less than 1.1, no transport can be in the paper's range.",
        most.collect::<Vec<_>>().join(", ")
    ));
    let mlp = |scheme: &str| find(runs, "MLP", Layout::Servers, scheme);
    let (tcp, own) = (mlp(TCP), mlp("bounded"));
    if let Some((tcp, own)) = tcp.flows.zip(own.flows) {
        findings.claim(
            "MLP, servers: mean flow completion is within 10 % of TCP's",
            "similar",
            format!("{:.3} ms against {:.3} ms", own.mean * 1e3, tcp.mean * 1e3),
            (own.mean / tcp.mean - 1.0).abs() <= 0.1,
        );
        findings.claim(
            "MLP, servers: the tail (p99) of flow completion is cut, by more than the mean is",
            "cut",
            format!("{:.3} ms against {:.3} ms", own.p99 * 1e3, tcp.p99 * 1e3),
            own.p99 / tcp.p99 < own.mean / tcp.mean,
        );
    }
    let behind = runs.iter().filter(|run| run.case.scheme == BEHIND).map(|run| {
        let tcp = find(runs, run.case.model.name, run.case.layout, TCP);
        let gain = tcp.network_ms.zip(run.network_ms).map_or(f64::NAN, |(tcp, own)| tcp / own);
        format!("{} {gain:.2}", run.case.layout.name())
    });
    findings.differs(format!(
        "laxity is not in the paper: our transport as it ships, on the paper's ports with one queue. laxity-behind has ports \
         with queues by class, where what may get lost stands behind the background's exact traffic: there MLP's network time \
         is so many times as fast as TCP's: {}. Claims are about the simplified protocol.",
        behind.collect::<Vec<_>>().join(", ")
    ));
    let over_strong = LAYOUTS.map(|layout| {
        let each = MODELS.iter().map(|model| {
            let of = |scheme| find(runs, model.name, layout, scheme);
            let gain = speedup(of("bounded"), of(STRONG)).unwrap_or(f64::NAN);
            format!("{} {gain:.2}", model.name)
        });
        format!("{}: {}", layout.name(), each.collect::<Vec<_>>().join(", "))
    });
    findings.differs(format!(
        "Against DCTCP with tail-loss probes and timeouts of 1 ms, which the paper does not compare with, the simplified \
         protocol is so many times as fast: {}.",
        over_strong.join("; ")
    ));
    findings.differs(
        "MLP's flows end when 85 % of their bytes are there, and in most of a push the servers' links are full: the mean flow is \
         about as much shorter, whatever the tail. The paper's figure shows both means alike, so its links were not full for \
         most of a flow's time.",
    );
    findings.differs(
        "The paper says that losses which only a timer would reveal are discarded, not when: here after about two round trips \
         of silence. If too little has arrived when everything was sent, what was discarded is sent again.",
    );
    let chart = BarChart::new("Speed-up of an iteration over DCTCP")
        .categories(MODELS.iter().map(|model| model.name))
        .y(Axis::linear("times as fast"))
        .reference(1.0, "DCTCP");
    let chart = LAYOUTS.into_iter().flat_map(|l| [(l, "bounded"), (l, LAXITY)]).fold(
        chart,
        |chart, (layout, scheme)| {
            let kind = if layout == Layout::Ring { "ring" } else { "servers" };
            chart.series(BarSeries::new(format!("{scheme}, {kind}"), gains(runs, layout, scheme)))
        },
    );
    findings.chart("models", chart.to_svg());
    let chart = CdfChart::new("MLP: flow completion times, parameter servers")
        .x(Axis::log("flow completion time").unit("ms"))
        .of("flows");
    let chart = SCHEMES.iter().fold(chart, |chart, scheme| {
        chart.samples(*scheme, mlp(scheme).flow_times.iter().map(|seconds| seconds * 1e3))
    });
    findings.chart("mlp-flows", chart.to_svg());
}
