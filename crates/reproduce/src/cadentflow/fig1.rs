//! Figure 1: two flows, three operations.

use laxity_flowsim::{Flow, Operation, Settings, Work, World, simulate};
use laxity_interface::{Bytes, Rate, Span, Time};
use laxity_planner::{Options as PlanOptions, Scheme};
use laxity_report::{
    Row,
    chart::{Axis, BarChart, BarSeries},
};
use laxity_topology::{Topology, TopologyError};

use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

#[derive(Debug)]
pub(super) struct Fig1;

/// Who decides, and what the paper has for it.
const SCHEMES: [(Scheme, Option<f64>); 4] = [
    (Scheme::MaxMin, None),
    (Scheme::Madd, Some(2.5)),
    (Scheme::Priority, Some(2.0)),
    (Scheme::Deadline, Some(2.0)),
];

impl Experiment for Fig1 {
    fn name(&self) -> &'static str {
        "cadentflow-fig1"
    }

    fn run(&self, _: &Options) -> Result<Findings, ReproduceError> {
        let world = world()?;
        let mut findings = Findings::new();
        let mut ends = Vec::new();
        for (scheme, paper) in SCHEMES {
            let outcome = simulate(&world, &Settings::new(PlanOptions::new(scheme)))?;
            let end = outcome.end.since(Time::ZERO);
            let row = Row::new().with("scheme", scheme.name()).with("end_s", end.as_secs_f64());
            findings.row(row.with("paper_s", paper));
            ends.push(end);
        }
        let [_, coflow, priority, deadline] = ends[..] else { unreachable!("four schemes") };
        let seconds = |span: Span| format!("{} s", span.as_secs_f64());
        let exact = Span::from_ms(2500);
        findings.claim("as a coflow it takes 2.5 s", "2.5 s", seconds(coflow), coflow == exact);
        let exact = Span::from_ms(2000);
        let holds = priority == exact && deadline == exact;
        let ours = format!("{}, with deadlines {}", seconds(priority), seconds(deadline));
        findings.claim("with f1 first it takes 2 s", "2 s", ours, holds);
        findings.chose(
            "both flows come from one sender; f1 is needed by c1, f2 by c2, c3 follows c2; for \
             deadlines f1 is due at 0 and f2 at 0.5 s, the compute time before their readers",
        );
        let names = SCHEMES.map(|(scheme, _)| scheme.name());
        let chart = BarChart::new("Two flows and three operations")
            .subtitle("completion time of the application, figure 1 of the paper")
            .categories(names)
            .y(Axis::linear("completion").unit("s"))
            .series(BarSeries::new("here", ends.iter().map(|end| end.as_secs_f64())))
            .series(BarSeries::new("paper", SCHEMES.map(|(_, paper)| paper)));
        findings.chart("ends", chart.to_svg());
        Ok(findings)
    }
}

fn world() -> Result<World, TopologyError> {
    let net = Topology::star(2, Rate::from_gbps(1), Span::ZERO)?;
    let (from, to) = (net.hosts()[0], net.hosts()[1]);
    let half = Span::from_ms(500);
    let size = Bytes::new(62_500_000);
    let mut work = Work::new("figure 1");
    let f1 = work.flow(Flow::new("f1", from, to, size).priority(0).deadline(Span::ZERO));
    let f2 = work.flow(Flow::new("f2", from, to, size).priority(1).deadline(half));
    let c1 = work.operation(Operation::new("c1", half).on(to).needs([f1]));
    let c2 = work.operation(Operation::new("c2", half).on(to).needs([f2]).after([c1]));
    work.operation(Operation::new("c3", half).on(to).after([c2]));
    Ok(World::new(net).work(work))
}
