//! Runs as pictures.

use std::collections::BTreeMap;

use laxity_packetsim::{
    measure::{Measured, Summary},
    scenario::Point,
};
use laxity_report::chart::{Axis, BarChart, BarSeries, CdfChart, LineChart, Series};

use super::pool::Pooled;

/// One picture: its title, the name of its file, the SVG.
pub(super) struct Picture {
    pub(super) title: String,
    pub(super) file: String,
    pub(super) svg: String,
}

/// Distributions of the times of flows and jobs of one run.
pub(super) fn distributions(point: &Point, measured: &[Measured]) -> Vec<Picture> {
    type Times = fn(&Measured) -> &[f64];
    let of: [(&str, &str, Times); 2] =
        [("Flow", "flows", |m| &m.flow_times), ("Job", "jobs", |m| &m.job_times)];
    let picture = |(what, things, times): (&str, &str, Times)| {
        let title = format!("{what} completion times");
        let mut chart = CdfChart::new(title.clone())
            .x(Axis::log("completion time").unit("ms"))
            .of(things)
            .guide(99.0);
        for (workload, measured) in point.workloads.iter().zip(measured) {
            let name = format!("{} ({})", workload.name, workload.scheme);
            chart = chart.samples(name, times(measured).iter().map(|time| time * 1e3));
        }
        Picture { title, file: format!("{things}.svg"), svg: chart.to_svg() }
    };
    of.into_iter().map(picture).collect()
}

/// Mean and p99 job completion times over the settings of a sweep.
pub(super) fn sweep(pooled: &[Pooled]) -> Vec<Picture> {
    let picture = |what: &str, file: &str, of: fn(&Summary) -> f64| {
        let title = format!("{what} job completion time");
        let svg = match axis(pooled) {
            Some(axis) => lines(&title, pooled, &axis, of),
            None => bars(&title, pooled, of),
        };
        Picture { title, file: format!("{file}.svg"), svg }
    };
    vec![picture("Mean", "mean", |s| s.mean), picture("99th percentile of", "p99", |s| s.p99)]
}

/// The setting with the most different numbers.
fn axis(pooled: &[Pooled]) -> Option<String> {
    let settings = &pooled.first()?.point.settings;
    let values = |name: &String| {
        let mut values = Vec::new();
        for point in pooled {
            let value = setting(&point.point, name)?;
            if !values.contains(&value) {
                values.push(value);
            }
        }
        Some(values.len()).filter(|n| *n > 1)
    };
    let counted = settings.iter().filter_map(|(name, _)| Some((values(name)?, name.clone())));
    // The first of those with the most.
    counted.rev().max_by_key(|(n, _)| *n).map(|(_, name)| name)
}

fn setting(point: &Point, name: &str) -> Option<f64> {
    point.settings.iter().find(|(have, _)| have == name)?.1.parse().ok()
}

/// All settings but one, and the workload.
fn label(point: &Point, workload: usize, without: Option<&str>) -> String {
    let settings = point.settings.iter().filter(|(name, _)| Some(name.as_str()) != without);
    let mut words: Vec<_> = settings.map(|(_, value)| value.clone()).collect();
    if point.workloads.len() > 1 {
        words.insert(0, point.workloads[workload].name.clone());
    }
    if words.is_empty() {
        words.push(point.workloads[workload].scheme.to_string());
    }
    words.join(", ")
}

fn lines(title: &str, pooled: &[Pooled], axis: &str, of: fn(&Summary) -> f64) -> String {
    let mut series: BTreeMap<usize, (String, Vec<(f64, f64)>)> = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    for point in pooled {
        let Some(x) = setting(&point.point, axis) else { continue };
        for workload in 0..point.point.workloads.len() {
            let name = label(&point.point, workload, Some(axis));
            let at = order.iter().position(|known| *known == name).unwrap_or_else(|| {
                order.push(name.clone());
                order.len() - 1
            });
            let y = point.together(workload).job_s.map_or(f64::NAN, |s| of(&s) * 1e3);
            series.entry(at).or_insert((name, Vec::new())).1.push((x, y));
        }
    }
    let mut chart = LineChart::new(title)
        .x(Axis::linear(axis.replace('-', " ")))
        .y(Axis::linear("completion time").unit("ms"))
        .note("Jobs that did not end are not in it.");
    for (_, (name, mut points)) in series {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        chart = chart.series(Series::new(name, points));
    }
    chart.to_svg()
}

fn bars(title: &str, pooled: &[Pooled], of: fn(&Summary) -> f64) -> String {
    let workloads = pooled.first().map_or(0, |first| first.point.workloads.len());
    let name = |point: &Pooled| {
        let values: Vec<_> = point.point.settings.iter().map(|(_, value)| value.as_str()).collect();
        if values.is_empty() { "all".to_owned() } else { values.join(", ") }
    };
    let mut chart = BarChart::new(title)
        .categories(pooled.iter().map(name))
        .y(Axis::linear("completion time").unit("ms"))
        .note("Jobs that did not end are not in it.");
    for workload in 0..workloads {
        let bar = |point: &Pooled| point.together(workload).job_s.map(|s| of(&s) * 1e3);
        let called = pooled[0].point.workloads[workload].name.as_str();
        chart = chart.series(BarSeries::new(called, pooled.iter().map(bar)));
    }
    chart.to_svg()
}
