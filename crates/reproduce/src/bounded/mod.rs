//! Experiments of the family `bounded`.

mod alternatives;
mod bounds;
mod learned;
mod model;
mod setting;
mod speedup;
mod tail;
mod tolerance;
mod training;

use crate::experiment::Experiment;

pub(crate) use training::{Run, TrainingKey};

/// Those that run.
pub(crate) const EXPERIMENTS: &[&dyn Experiment] = &[
    &tail::Tail,
    &tolerance::Tolerances,
    &bounds::Bounds,
    &alternatives::Alternatives,
    &speedup::Speedup,
];

#[cfg(test)]
mod tests {
    use super::{
        setting::{Layout, Size},
        *,
    };
    use crate::options::Options;

    /// Seconds, not minutes: two racks, small models, one or two iterations.
    const TINY: Size = Size { racks: 2, smaller: 40, iterations: 2, warm_us: 50, seeds: 1 };

    #[test]
    fn every_training_ends_and_keeps_its_bound() {
        let schemes =
            ["dctcp-plain", "dctcp-plain-ss", "bounded", "laxity", "laxity-behind", "udp"];
        let layouts = [Layout::Servers, Layout::Halves, Layout::Ring];
        let cases = setting::cases(&layouts, &schemes);
        let runs = training::run(&Options::full(), &TINY, &cases).unwrap();
        assert_eq!(runs.len(), 4 * 3 * 6);
        for run in &runs {
            let (case, flows) = (run.case, run.flows.unwrap().n);
            let expected = match case.layout {
                Layout::Servers => 2 * 2 * 14 * 2,
                Layout::Halves => 2 * 2 * 8 * 8,
                Layout::Ring => 2 * 16 * 30,
            };
            assert_eq!((flows, run.unfinished), (expected, 0), "{case:?}");
            assert!(run.network_ms.unwrap() > 0.0 && run.loss <= run.worst_loss + 1e-9, "{case:?}");
            match case.scheme {
                "udp" => assert_eq!(run.short > 0.0, run.worst_loss > case.model.bound, "{case:?}"),
                "dctcp-plain" => assert_eq!(run.worst_loss, 0.0, "{case:?}"),
                _ => assert!(run.worst_loss <= case.model.bound + 1e-9, "{case:?}: {run:?}"),
            }
            // The slowest flow of one step cannot be faster than the mean of all.
            let least = run.flows.unwrap().mean * 1e3 * f64::from(case.layout.steps(&TINY));
            assert!(2.0 * run.network_ms.unwrap() >= least * 0.999, "{case:?}: {run:?}");
        }
    }

    #[test]
    fn the_same_seed_finds_the_same() {
        let find = |seed| tail::find_out(&Options::full().seed(seed), &TINY).unwrap();
        assert_eq!(find(3), find(3));
        assert_ne!(find(3).rows, find(4).rows);
    }

    #[test]
    fn a_memory_changes_nothing_but_the_time() {
        let together = Options::full();
        assert!(!tail::find_out(&together, &TINY).unwrap().rows.is_empty());
        let own = |options: &Options| speedup::find_out(options, &TINY).unwrap();
        assert_eq!(own(&together), own(&Options::full()));
        // The layouts that both look at, with TCP: 8 of the 12 and 34.
        assert_eq!(format!("{:?}", together.memory), "Memory of 38 trainings");
        let other = together.clone().seed(2);
        assert_ne!(own(&other).rows, own(&together).rows, "another seed is another training");
    }

    #[test]
    fn findings_have_rows_claims_and_charts() {
        let options = Options::full();
        for (findings, rows, claims, charts) in [
            (tail::find_out(&options, &TINY), 12, 5, 1),
            (alternatives::find_out(&options, &TINY), 24, 4, 1),
            (speedup::find_out(&options, &TINY), 34, 5, 2),
        ] {
            let found = findings.unwrap();
            let counts = (found.rows.len(), found.claims.len(), found.charts.len());
            assert_eq!(counts, (rows, claims, charts));
            assert!(found.columns.iter().all(|column| found.rows[0].get(column).is_some()));
        }
    }

    #[test]
    fn the_quick_size_says_so() {
        let mut quick = crate::findings::Findings::new();
        setting::open(&mut quick, &Size::of(&Options::quick()));
        assert!(quick.chosen.iter().any(|line| line.starts_with("Quick")));
        let mut full = crate::findings::Findings::new();
        setting::open(&mut full, &Size::of(&Options::full()));
        assert_eq!(full.chosen.len() + 1, quick.chosen.len());
    }
}
