//! Figure 7: topics of documents, asynchronous and synchronous.

use laxity_interface::Span;
use laxity_report::{Row, stats};

use super::{
    asynchronous::{Size, one},
    live::{
        many::each,
        setting::{Compute, Contention},
        systems::Way,
        task::Task,
    },
    synchronous::{chart, measure, ratios, row},
};
use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

#[derive(Debug)]
pub(super) struct Lda;

/// One setting of each row and column of the nine.
const SETTINGS: [(Compute, Contention); 3] = [
    (Compute::Cs1, Contention::Ns2),
    (Compute::Cs2, Contention::Ns1),
    (Compute::Cs3, Contention::Ns3),
];

impl Experiment for Lda {
    fn name(&self) -> &'static str {
        "mlfabric-lda"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        let task =
            Task::topics(options.pick(400, 1500), options.pick(200, 600), options.pick(4.6, 5.2));
        let (workers, seeds) = (options.pick(12, 30), options.pick(2, 5));
        let size = Size { workers, seeds, limit: Span::from_secs(600) };
        let mut findings = Findings::new();
        let cases: Vec<_> = SETTINGS
            .into_iter()
            .flat_map(|setting| [Way::Plain, Way::Fabric].map(|way| (setting, way)))
            .collect();
        let cells = each(options, "asynchronous topics", &cases, |(setting, way)| {
            one(options.seed, &task, &size, *setting, *way)
        })?;
        let mut speedups = Vec::new();
        for pair in cells.chunks_exact(2) {
            let [plain, fabric] = pair else { continue };
            speedups.push(plain.mean() / fabric.mean());
            let each = plain.seconds.iter().zip(&fabric.seconds).map(|(a, b)| a / b);
            let each: Vec<_> = each.collect();
            findings.row(
                Row::new()
                    .with("mode", "asynchronous")
                    .with("compute", plain.compute.name())
                    .with("network", plain.contention.name())
                    .with("plain_s", plain.mean())
                    .with("ours_s", fabric.mean())
                    .with("speedup_over_plain", plain.mean() / fabric.mean())
                    .with("least_speedup_over_plain", stats::min(&each))
                    .with("most_speedup_over_plain", stats::max(&each)),
            );
        }
        let found = measure(options, &task, workers, options.pick(1, 3), &SETTINGS)?;
        for ((compute, contention), seconds) in SETTINGS.iter().zip(&found) {
            findings
                .row(row(compute.name(), contention.name(), seconds).with("mode", "synchronous"));
        }
        let over_plain = ratios(&found, 0);
        let over_ring = ratios(&found, 1);
        for (claim, ratios) in [
            ("asynchronous topics: faster than a plain parameter server", &speedups),
            ("synchronous topics: faster than a plain parameter server", &over_plain),
            ("synchronous topics: faster than ring all-reduce", &over_ring),
        ] {
            let ours: Vec<_> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
            findings.claim(
                claim,
                "faster",
                format!("{} times", ours.join(", ")),
                ratios.iter().all(|ratio| *ratio > 1.0),
            );
        }
        findings.chose(format!(
            "10 topics by online variational inference, {} documents that are made from a seed; one setting of each row and \
             column of mlfabric-async; {workers} workers; a model of 80 ms over a whole link and 100 ms of computing; target: \
             {} nats for each held-out word",
            task.model.examples(),
            task.target
        ));
        findings.chose("ways, rates and seeds as in mlfabric-async and mlfabric-sync");
        findings.differs("the paper trains on the NY Times set, which our copies of data lack");
        findings.chart("synchronous", chart("Topics, synchronous", &SETTINGS, &found));
        Ok(findings)
    }
}
