//! Experiments of the family `netapprox`.

mod beam;
mod breakdown;
mod coexist;
mod dynamic;
mod fairness;
mod incast;
mod merged;
mod moving;
mod overall;
mod queues;
mod setting;
mod timeline;

use crate::experiment::Experiment;

/// Those that run.
pub(crate) const EXPERIMENTS: &[&dyn Experiment] = &[
    &overall::Overall,
    &queues::Queues,
    &incast::Incast,
    &timeline::Timeline,
    &dynamic::Dynamic,
    &breakdown::Breakdown,
    &coexist::Coexist,
    &fairness::Fairness,
];

#[cfg(test)]
mod tests {
    use laxity_packetsim::scenario::Scenario;

    use super::*;
    use crate::options::Options;

    #[test]
    fn the_network_has_the_hosts_that_the_paper_says() {
        let work = "[[workloads]]\nkind = \"random\"\nscheme = \"udp\"\nsize = \"1KB\"\n";
        for (options, hosts) in [(Options::full(), 192), (Options::quick(), 24)] {
            let scenario = Scenario::from_toml(&(setting::head(&options) + work)).unwrap();
            assert_eq!(scenario.topology().hosts().len(), hosts);
        }
    }

    #[test]
    fn every_experiment_of_the_family_has_a_name_of_the_catalogue() {
        for experiment in EXPERIMENTS {
            assert_eq!(experiment.entry().family.name(), "netapprox");
        }
    }
}
