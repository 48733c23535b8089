//! Runs of one point with several seeds, as one.

use laxity_packetsim::measure::{Measured, Summary};

/// Times of all runs together; what is counted is summed up.
pub(super) fn workloads(runs: &[Vec<Measured>]) -> Vec<Measured> {
    let count = runs.first().map_or(0, Vec::len);
    (0..count).map(|at| workload(&runs.iter().map(|run| &run[at]).collect::<Vec<_>>())).collect()
}

fn workload(runs: &[&Measured]) -> Measured {
    let mut all = runs[0].clone();
    for own in &runs[1..] {
        all.flows += own.flows;
        all.unfinished_flows += own.unfinished_flows;
        all.short_flows += own.short_flows;
        all.jobs += own.jobs;
        all.unfinished_jobs += own.unfinished_jobs;
        all.messages += own.messages;
        all.delivered += own.delivered;
        all.bytes += own.bytes;
        all.took += own.took;
        all.flow_times.extend(&own.flow_times);
        all.job_times.extend(&own.job_times);
        all.slowdowns.extend(&own.slowdowns);
    }
    all.flow_s = Summary::of(&all.flow_times);
    all.job_s = Summary::of(&all.job_times);
    all.slowdown = Summary::of(&all.slowdowns);
    let indices: Vec<_> = runs.iter().filter_map(|own| own.jain).collect();
    all.jain = Summary::of(&indices).map(|summary| summary.mean);
    all
}

#[cfg(test)]
mod tests {
    use laxity_packetsim::scenario::Scenario;

    use super::*;

    #[test]
    fn times_of_all_seeds_count() {
        let scenario = Scenario::from_toml(
            "seeds = [1, 2, 3]\ntopology = { kind = 'star', hosts = 4, rate = '10Gbps' }\n\
             [[workloads]]\nkind = 'random'\nscheme = 'dctcp'\nsize = 'fbhd'\n",
        );
        let tasks = scenario.unwrap().tasks();
        let runs: Vec<_> =
            tasks.iter().map(|task| task.point.run(task.seed).unwrap().workloads).collect();
        let all = workloads(&runs).swap_remove(0);
        assert_eq!((all.flows, all.jobs), (12, 3));
        let means: f64 = runs.iter().map(|run| run[0].flow_s.unwrap().mean).sum();
        assert!((all.flow_s.unwrap().mean - means / 3.0).abs() < 1e-12);
        let most = runs.iter().map(|run| run[0].flow_s.unwrap().max).fold(0.0, f64::max);
        assert_eq!(all.flow_s.unwrap().max, most);
    }
}
