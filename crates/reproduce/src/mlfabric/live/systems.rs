//! Ways of training that are compared, and how their learning rates are found.

use laxity_fabric::roles::{Mode, SchedulerOptions};
use laxity_interface::{Span, Time};

use super::{
    setting::Setting,
    story::Story,
    task::Task,
    world::{System, World, ada_delay},
};
use crate::error::ReproduceError;

/// How fast AdaDelay's rate falls, for everybody.
pub(in crate::mlfabric) const FALL: f64 = 0.03;
/// The loss is looked at after so many updates.
const LOOK: u64 = 8;
/// Models that leave the server at once, where they leave in turn: a slow host does not stop the others.
const IN_TURN: usize = 2;
/// How long updates wait to be planned together while the server's link is busy.
const HOLD: Span = Span::from_secs(2);

/// A way of training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mlfabric) enum Way {
    /// A parameter server as it is used today: updates and models leave at once and share links.
    Plain,
    /// The same, but models leave in turn.
    InTurn,
    /// The scheduler also orders updates and leaves out those that are too old.
    Ordered,
    /// The scheduler also sums updates on the way.
    Fabric,
}

impl Way {
    pub(in crate::mlfabric) const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::InTurn => "models in turn",
            Self::Ordered => "models in turn, order, bound",
            Self::Fabric => "models in turn, order, bound, sums",
        }
    }

    const fn scheduled(self) -> bool {
        matches!(self, Self::Ordered | Self::Fabric)
    }

    /// Asynchronous training in this way; with a scheduler, updates older than `bound` do not count. Where models leave in
    /// turn, each reaches `relay` workers.
    pub(in crate::mlfabric) fn asynchronous(self, rate: f64, bound: u64, relay: usize) -> System {
        let staleness = self.scheduled().then_some(bound);
        System {
            mode: Mode::Async { staleness },
            scheduler: self.scheduled().then(|| self.scheduler()),
            answers: (self != Self::Plain).then_some((IN_TURN, relay)),
            replica: None,
            momentum: 0.0,
            rule: ada_delay(rate, FALL),
        }
    }

    /// Synchronous training in this way; with a scheduler, workers pass models on, and `enough` updates make a round
    /// after a grace.
    pub(in crate::mlfabric) fn synchronous(self, rate: f64, enough: (usize, Span)) -> System {
        let answers = (self != Self::Plain).then_some((IN_TURN, enough.0));
        let enough = Some(enough).filter(|_| self.scheduled());
        System { mode: Mode::Sync { enough }, answers, ..self.asynchronous(rate, 0, 1) }
    }

    fn scheduler(self) -> SchedulerOptions {
        SchedulerOptions {
            aggregate: self == Self::Fabric,
            hold: HOLD,
            patience: 4.0,
            beat: Span::from_secs(5),
            ..SchedulerOptions::default()
        }
    }
}

/// One training until the target or the limit.
pub(in crate::mlfabric) fn train(
    task: &Task,
    system: &System,
    workers: u32,
    setting: Setting,
    limit: Span,
) -> Result<Story, ReproduceError> {
    let look = match system.mode {
        Mode::Sync { .. } => u64::from(workers),
        _ => LOOK,
    };
    let mut world = World::new(task, system, workers, setting)?;
    world.train(look, Time::ZERO + limit)?;
    Ok(world.story)
}

/// Seeds that rates are found with: none of them is measured with.
pub(in crate::mlfabric) fn trials(seed: u64, count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |at| seed * 1000 + 100 * at)
}

/// The seconds of several trainings, added up: none if they do not all reach the target within `limit` together.
/// `seconds` is told which seed it is, and after how long to give up.
pub(in crate::mlfabric) fn together(
    seeds: impl Iterator<Item = u64>,
    limit: f64,
    mut seconds: impl FnMut(u64, f64) -> Result<Option<f64>, ReproduceError>,
) -> Result<Option<f64>, ReproduceError> {
    let mut sum = 0.0;
    for seed in seeds {
        let Some(found) = seconds(seed, limit - sum)? else { return Ok(None) };
        sum += found;
    }
    Ok(Some(sum))
}

/// The rate with which `seconds` are fewest: by factors of two from `start` as far as it gets better, then by
/// the root of two. `seconds` is told after how long to give up. Everybody's rate is found in this way.
pub(in crate::mlfabric) fn tuned(
    start: f64,
    most: f64,
    mut seconds: impl FnMut(f64, f64) -> Result<Option<f64>, ReproduceError>,
) -> Result<(f64, Option<f64>), ReproduceError> {
    let mut best = (start, seconds(start, most)?);
    let mut better = |rate: f64, best: &mut (f64, Option<f64>)| {
        let found = seconds(rate, best.1.unwrap_or(most))?;
        let wins = found.is_some_and(|found| best.1.is_none_or(|least| found < least));
        if wins {
            *best = (rate, found);
        }
        Ok::<_, ReproduceError>(wins)
    };
    for factor in [2.0, 0.5] {
        // Steps of six doublings at most: rates beyond are of no use to anybody.
        for _ in 0..6 {
            if !better(best.0 * factor, &mut best)? && best.1.is_some() {
                break;
            }
            if best.1.is_none() {
                best.0 *= factor;
            }
        }
        if best.1.is_none() {
            best.0 = start;
        }
    }
    let center = best.0;
    for factor in [std::f64::consts::SQRT_2, std::f64::consts::FRAC_1_SQRT_2] {
        better(center * factor, &mut best)?;
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_counts_if_all_seeds_reach_the_target_in_time() {
        let seconds = |seed: u64, limit: f64| Ok(Some(seed as f64).filter(|found| *found <= limit));
        let of = |limit: f64| together([3, 4, 5].into_iter(), limit, seconds).unwrap();
        assert_eq!(of(12.0), Some(12.0));
        assert_eq!(of(11.9), None);
        let seeds: Vec<_> = trials(7, 3).collect();
        assert_eq!(seeds, [7000, 7100, 7200]);
    }

    #[test]
    fn the_best_rate_is_found_from_either_side() {
        // Fewest at 0.08, none beyond 0.3.
        let seconds = |rate: f64, limit: f64| {
            let found = 10.0 + 20.0 * (rate / 0.08).ln().abs();
            Ok(Some(found).filter(|found| rate < 0.3 && *found <= limit))
        };
        for start in [0.01, 0.04, 0.08, 0.16, 0.64] {
            let (rate, found) = tuned(start, 1000.0, seconds).unwrap();
            assert!((rate / 0.08).ln().abs() < 0.36, "{start}: {rate}");
            assert!(found.unwrap() < 18.0, "{start}");
        }
    }
}
