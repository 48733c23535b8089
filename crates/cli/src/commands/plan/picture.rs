//! A plan as a timeline.

use std::collections::BTreeMap;

use laxity_flowsim::{Outcome, World};
use laxity_interface::Time;
use laxity_planner::Scheme;
use laxity_report::chart::{Axis, GanttBar, GanttChart};

/// More rows than this cannot be read.
const MOST_ROWS: usize = 60;

/// Hosts with their operations, then flows with their rates.
pub(super) fn timeline(world: &World, outcome: &Outcome, scheme: Scheme) -> String {
    let seconds = |time: Time| time.since(Time::ZERO).as_secs_f64();
    let (unit, scale) = match seconds(outcome.end) {
        end if end >= 1.0 => ("s", 1.0),
        end if end >= 1e-3 => ("ms", 1e3),
        _ => ("us", 1e6),
    };
    let at = |time: Time| seconds(time) * scale;
    let several = world.works.len() > 1;
    let mut hosts: BTreeMap<String, Vec<GanttBar>> = BTreeMap::new();
    for ran in &outcome.operations {
        let operation = &world.works[ran.work].operations[ran.operation.index()];
        if operation.takes.is_zero() {
            continue;
        }
        let host =
            operation.host.map_or_else(|| "anywhere".into(), |h| world.net.name(h).to_string());
        let bar = GanttBar::new(at(ran.start), at(ran.end), operation.name.as_str());
        hosts.entry(host).or_default().push(bar.kind(0));
    }
    let fastest = world.net.links().iter().map(|link| link.capacity.as_gbps_f64());
    let fastest = fastest.fold(f64::MIN_POSITIVE, f64::max);
    // A flow's bars last from one change of its rate to the next.
    let mut flows: BTreeMap<(usize, u32), (f64, f64, Vec<GanttBar>)> = BTreeMap::new();
    for change in &outcome.rates {
        let (since, rate, bars) =
            flows.entry((change.work, change.flow.0)).or_insert((0.0, 0.0, Vec::new()));
        if *rate > 0.0 {
            bars.push(GanttBar::new(*since, at(change.at), "").kind(1).level(*rate / fastest));
        }
        (*since, *rate) = (at(change.at), change.rate.as_gbps_f64());
    }
    let mut chart = GanttChart::new("What runs and what is sent, over time")
        .subtitle(format!("scheme {scheme}; flows are as high as their rate"))
        .x(Axis::linear("time").unit(unit))
        .kinds(["computes", "sends"])
        .mark(at(outcome.end), "end")
        .width(900);
    let mut left = MOST_ROWS;
    for (name, bars) in hosts {
        if left > 0 {
            chart = chart.row(name, bars);
            left -= 1;
        }
    }
    let hidden = flows.len().saturating_sub(left);
    for ((work, flow), (_, _, bars)) in flows.into_iter().take(left) {
        let work = &world.works[work];
        let flow = &work.flows[flow as usize].name;
        chart =
            chart.row(if several { format!("{}: {flow}", work.name) } else { flow.clone() }, bars);
    }
    if hidden > 0 {
        chart = chart.note(format!("{hidden} more flows are not shown"));
    }
    chart.to_svg()
}
