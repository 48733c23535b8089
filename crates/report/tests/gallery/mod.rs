//! Charts with plausible data, shared by the snapshot tests and by `examples/gallery.rs`.
#![allow(dead_code, reason = "each test file uses a part")]

use laxity_report::chart::{
    Axis, BarChart, BarSeries, CdfChart, GanttBar, GanttChart, Legend, LineChart, Series,
};
use laxity_report::html::{Page, Section};
use laxity_report::{Claim, Meta, Report, Row};

/// Every chart of the gallery with its file name.
pub(crate) fn charts() -> Vec<(&'static str, String)> {
    vec![
        ("lines_loss", lines_loss()),
        ("lines_linear_band", lines_linear_band()),
        ("lines_crossing", lines_crossing()),
        ("lines_cut", lines_cut()),
        ("bars_grouped", bars_grouped()),
        ("bars_many", bars_many()),
        ("bars_log", bars_log()),
        ("bars_negative", bars_negative()),
        ("bars_slanted", bars_slanted()),
        ("cdf_log", cdf_log()),
        ("cdf_linear", cdf_linear()),
        ("gantt_figure", gantt_figure()),
        ("gantt_rows", gantt_rows()),
    ]
}

fn lines_loss() -> String {
    let losses = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0];
    let line = |name: &str, values: [f64; 7]| Series::new(name, losses.into_iter().zip(values));
    LineChart::new("Completion time of a 100 MB all-reduce under random loss")
        .subtitle("8 workers, 10 Gb/s, mean of 20 runs; minimum delivery 0.98")
        .x(Axis::log("random loss").unit("%"))
        .y(Axis::log("mean completion time").unit("ms"))
        .series(line("laxity", [171.0, 171.4, 172.0, 173.1, 175.2, 186.3, 240.1]))
        .series(line("cubic", [183.0, 214.0, 420.0, 980.0, 2510.0, 7400.0, f64::NAN]).slot(1))
        .series(line("bbr", [178.0, 181.0, 188.0, 204.0, 262.0, 411.0, 1320.0]).slot(2))
        .series(line("reno", [190.0, 260.0, 610.0, 1450.0, 4020.0, 11900.0, 52000.0]).slot(3))
        .reference(168.0, "line rate")
        .to_svg()
}

fn lines_linear_band() -> String {
    let workers = [2.0, 4.0, 8.0, 16.0, 32.0];
    let series = |name: &str, at: [f64; 5], spread: f64| {
        let points: Vec<(f64, f64)> = workers.into_iter().zip(at).collect();
        let band: Vec<_> =
            points.iter().map(|(x, y)| (*x, y * (1.0 - spread), y * (1.0 + spread))).collect();
        Series::new(name, points).band(band)
    };
    LineChart::new("Training throughput by number of workers")
        .subtitle(
            "ResNet-50, 25 Gb/s Ethernet, 0.5 % loss; bands show minimum and maximum of 5 runs",
        )
        .x(Axis::log("workers").ticks_at(workers))
        .y(Axis::linear("throughput").unit("images/s"))
        .series(series("laxity", [780.0, 1540.0, 3010.0, 5870.0, 11_300.0], 0.04))
        .series(series("gloo over TCP", [770.0, 1430.0, 2480.0, 3890.0, 5100.0], 0.12))
        .series(
            Series::new("linear scaling", workers.map(|w| (w, 390.0 * w)))
                .dashed()
                .without_markers(),
        )
        .note("laxity reproduce netapprox-fig9, seed 1")
        .to_svg()
}

fn lines_crossing() -> String {
    let names = ["fifo", "fair", "sebf", "edf", "laxity", "varys", "aalo", "oracle", "random"];
    let chart =
        LineChart::new("Many schemes that end at almost the same place need a legend on top")
            .x(Axis::linear("offered load").unit("%"))
            .y(Axis::linear("mean slowdown"))
            .reference(2.0, "target")
            .reference(1.8, "best known");
    let curve = |i: usize| {
        (1..=9).map(move |step| {
            let load = f64::from(step) * 10.0;
            (
                load,
                1.0 + load / (140.0 + 9.0 * i as f64) + (load / 30.0 + i as f64).sin().abs() * 0.2,
            )
        })
    };
    names
        .iter()
        .enumerate()
        .fold(chart, |chart, (i, name)| chart.series(Series::new(*name, curve(i))))
        .to_svg()
}

fn lines_cut() -> String {
    let queue = (0..=600).map(|t| {
        let t = f64::from(t);
        (t, 30.0 + 24.0 * (t / 23.0).sin() + if t < 40.0 { 120.0 - t } else { 0.0 })
    });
    LineChart::new("Queue length at the bottleneck")
        .subtitle("start-up above 100 packets is cut off")
        .size(720, 340)
        .x(Axis::linear("time").unit("µs"))
        .y(Axis::linear("queue").unit("packets").range(0.0, 100.0))
        .series(Series::new("dctcp", queue))
        .reference(65.0, "marking threshold K")
        .legend(Legend::Direct)
        .to_svg()
}

fn bars_grouped() -> String {
    BarChart::new("Mean completion time by case")
        .subtitle(
            "1 MB jobs, 32 senders, 10 Gb/s; whiskers show the 5th and 95th percentile of 40 runs",
        )
        .categories(["loss 1 %", "incast 32 to 1", "shuffle", "background load"])
        .y(Axis::linear("completion time").unit("ms"))
        .series(BarSeries::new("laxity", [9.31, 27.9, 31.2, 18.4]).whiskers([
            (9.0, 9.9),
            (26.4, 30.1),
            (29.8, 33.4),
            (16.2, 22.0),
        ]))
        .series(BarSeries::new("cubic", [48.2, 212.0, 64.1, 58.7]).whiskers([
            (41.0, 60.2),
            (204.0, 231.0),
            (55.0, 81.0),
            (44.0, 90.3),
        ]))
        .series(BarSeries::new("bbr", [14.9, 96.3, 52.5, 41.0]).whiskers([
            (13.1, 17.7),
            (71.0, 140.0),
            (47.0, 61.0),
            (33.0, 52.0),
        ]))
        .series(BarSeries::new("dctcp", [Some(44.0), Some(38.0), Some(40.1), None]))
        .to_svg()
}

fn bars_many() -> String {
    let models = [
        "ResNet-50",
        "VGG-16",
        "BERT-large",
        "GPT-2 medium",
        "DLRM with sparse tables",
        "Inception-v3",
    ];
    let chart = BarChart::new("Speed-up over TCP by model and loss rate")
        .categories(models)
        .x_caption("model")
        .y(Axis::linear("speed-up over TCP").unit("×"))
        .reference(1.0, "TCP")
        .note("laxity reproduce netapprox-fig12, seed 1");
    (0..7)
        .fold(chart, |chart, i| {
            let values =
                (0..6).map(|m| 1.0 + f64::from(i) * 0.32 + f64::from((m * 5 + i) % 4) * 0.21);
            chart.series(BarSeries::new(format!("{} % loss", f64::from(i) * 0.25), values))
        })
        .to_svg()
}

fn bars_log() -> String {
    BarChart::new("Packets simulated per second")
        .categories(["ns-3", "OMNeT++", "htsim", "laxity sim"])
        .y(Axis::log("packet hops").unit("1/s"))
        .series(BarSeries::new("rate", [310_000.0, 240_000.0, 4_100_000.0, 21_500_000.0]))
        .size(560, 360)
        .to_svg()
}

fn bars_negative() -> String {
    BarChart::new("Change of final accuracy")
        .subtitle("against lossless training, 3 seeds")
        .categories(["0.1 % loss", "1 % loss", "5 % loss"])
        .y(Axis::linear("change").unit("percentage points"))
        .series(BarSeries::new("any chunk", [0.02, -0.31, -2.4]).whiskers([
            (-0.1, 0.1),
            (-0.5, -0.1),
            (-3.1, -1.9),
        ]))
        .series(BarSeries::new("important first", [0.03, -0.05, -0.4]))
        .size(560, 380)
        .to_svg()
}

fn bars_slanted() -> String {
    let names = [
        "hierarchical all-reduce",
        "parameter-server-push",
        "reduce-scatter-variant",
        "all-to-all-expert-routing",
        "broadcast-to-replicas",
        "gradient-compression",
    ];
    BarChart::new("Tail completion time by collective")
        .categories(names)
        .y(Axis::log("p99 completion time").unit("ms"))
        .series(BarSeries::new("laxity", [1.0, 2.0, 3.0, 10.0, 0.5, 0.0]).whiskers([
            (0.5, 2.0),
            (1.0, 3.0),
            (0.0, 5.0),
            (8.0, 20.0),
            (0.4, 0.6),
            (0.0, 0.0),
        ]))
        .series(BarSeries::new("tcp", [10.0, 200.0, 35.0, 1000.0, 5.5, 7.0]))
        .reference(100.0, "time limit")
        .reference(90.0, "soft limit")
        .to_svg()
}

/// A skewed distribution without a random number generator: quantiles of a log-logistic.
fn skewed(n: u32, scale: f64, shape: f64) -> impl Iterator<Item = f64> {
    (1..=n).map(move |i| {
        let p = (f64::from(i) - 0.5) / f64::from(n);
        scale * (p / (1.0 - p)).powf(1.0 / shape)
    })
}

fn cdf_log() -> String {
    CdfChart::new("Flow completion times under 0.5 % loss")
        .subtitle("web-search sizes, 60 % load, 2,000 flows per scheme")
        .x(Axis::log("completion time").unit("ms"))
        .of("flows")
        .samples("laxity", skewed(2000, 1.1, 3.2))
        .samples("cubic", skewed(2000, 4.4, 1.5))
        .samples("bbr", skewed(2000, 2.1, 2.0))
        .guide(50.0)
        .guide(99.0)
        .to_svg()
}

fn cdf_linear() -> String {
    CdfChart::new("Staleness of applied updates")
        .x(Axis::linear("staleness").unit("versions"))
        .of("updates")
        .samples("bounded", (0..40).map(|i| f64::from(i % 6)))
        .samples("unbounded", (0..40).map(|i| f64::from((i * 7) % 31)))
        .to_svg()
}

fn gantt_figure() -> String {
    GanttChart::new("Two flows into three operations, by priority")
        .subtitle("500 Mbit each over 1 Gbit/s; half a second each")
        .x(Axis::linear("time").unit("s"))
        .kinds(["computes", "sends"])
        .row(
            "c",
            ["c1", "c2", "c3"].into_iter().enumerate().map(|(at, name)| {
                let from = 0.5 + at as f64 * 0.5;
                GanttBar::new(from, from + 0.5, name)
            }),
        )
        .row("f1", [GanttBar::new(0.0, 0.5, "1 Gbit/s").kind(1)])
        .row("f2", [GanttBar::new(0.5, 1.0, "1 Gbit/s").kind(1)])
        .mark(2.0, "end")
        .to_svg()
}

fn gantt_rows() -> String {
    let chart = GanttChart::new("Gradients of a model with layer names that do not fit anywhere")
        .x(Axis::linear("time").unit("ms"))
        .kinds(["forward", "backward", "parameters", "gradients"])
        .note("bars are as high as the rate over the capacity; laxity plan, scheme madd")
        .mark(120.0, "deadline")
        .mark(123.0, "end");
    (0..14u32)
        .fold(chart, |chart, row| {
            let bars = (0..5u32).map(|at| {
                let from = f64::from(row * 7 + at * 11);
                let bar = GanttBar::new(from, from + f64::from(row % 4 * 4), format!("{at}"));
                bar.kind((at % 4) as usize).level(1.0 / f64::from(at + 1))
            });
            let name = format!("block{row}/unit_1/bottleneck_v1/conv1/weights");
            chart.row(name, bars.chain([GanttBar::new(f64::NAN, 1.0, "lost")]))
        })
        .to_svg()
}

/// A report with every kind of value.
pub(crate) fn report() -> Report {
    let meta = Meta::new("laxity bench compare loss incast", "0.1.0")
        .seed(7)
        .cores(16)
        .seconds(83.25)
        .with("kernel", "6.12.4");
    let row = |case: &'static str, scheme: &'static str, mean_ms: f64, p99_ms: Option<f64>| {
        Row::new()
            .with("case", case)
            .with("scheme", scheme)
            .with("bytes", 100_000_000_u64)
            .with("mean_ms", mean_ms)
            .with("p99_ms", p99_ms)
            .with("complete", p99_ms.is_some())
    };
    Report::new(meta)
        .row(row("loss", "cubic", 48.2123, Some(212.75)).with("loss", 0.01))
        .row(row("loss", "laxity", 9.31, Some(9.9)).with("loss", 0.01))
        .row(row("incast", "cubic", f64::NAN, None).with("goodput_gbps", 0.031))
        .row(row("incast", "laxity", 1027.9, Some(1100.0)).with("goodput_gbps", 9.2))
        .claim(Claim::new("up to 5× faster at 1 % loss (Fig. 5)", "5×", "5.18×", true))
        .claim(Claim::new("Jain index above 0.98 with 32 flows (Fig. 11)", 0.98, 0.9412, false))
}

/// A page with charts, tables and claims.
pub(crate) fn page() -> String {
    let report = report();
    Page::new("What loss tolerance buys")
        .intro("Completion times of the same jobs on TCP and on Laxity.\n\nEvery number can be reproduced with the command at the end.")
        .section(
            Section::new("Under random loss")
                .text("TCP repairs every loss; a gradient does not need that. <1 % is enough.")
                .svg(&lines_loss())
                .table_of(&report, &["case", "scheme", "mean_ms", "p99_ms", "goodput_gbps"]),
        )
        .section(Section::new("By case").svg(&bars_grouped()).claims(&report))
        .provenance(&report.meta)
        .to_html()
}
