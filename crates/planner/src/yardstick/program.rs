//! Linear programs for completion and lateness.
//!
//! If it is known in which order jobs end, the best rates are a linear program: between two ends
//! the network carries no more than its links allow, and only jobs that have not ended. The best
//! over all orders is the optimum.

use std::collections::BTreeMap;

use good_lp::{Expression, ProblemVariables, Variable, variable};

use super::solver::{Solver, Task};
use crate::{Demand, JobKey, Network};
use laxity_interface::Time;

/// What is to be small. Every job ends with its last flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Goal {
    /// The mean of the jobs' ends.
    MeanCompletion,
    /// The largest lateness of a job, at least zero.
    MaxLateness,
    /// The sum of the jobs' lateness.
    SumLateness,
}

/// The least value of a goal, in seconds, over all orders. All flows may start at once, links have
/// the rates of time zero. Only for a handful of jobs.
pub fn best(network: &Network, demands: &[Demand], goal: Goal) -> Option<f64> {
    best_by(Solver::default(), network, demands, goal)
}

/// The same by a solver of choice.
pub fn best_by(solver: Solver, network: &Network, demands: &[Demand], goal: Goal) -> Option<f64> {
    let mut jobs: Vec<_> = demands.iter().map(|demand| demand.job).collect();
    jobs.sort_unstable();
    jobs.dedup();
    if goal == Goal::MaxLateness {
        // Ending by deadline is never worse: what ends too early can swap with what ends too late.
        jobs.sort_by_key(|job| due(demands, *job));
        return best_of_order(solver, network, demands, &jobs, goal);
    }
    let mut least: Option<f64> = None;
    permute(&mut jobs, 0, &mut |order| {
        let value = best_of_order(solver, network, demands, order, goal);
        least = [least, value].into_iter().flatten().reduce(f64::min);
    });
    least
}

fn permute(jobs: &mut [JobKey], from: usize, visit: &mut impl FnMut(&[JobKey])) {
    if from + 1 >= jobs.len() {
        return visit(jobs);
    }
    for at in from..jobs.len() {
        jobs.swap(from, at);
        permute(jobs, from + 1, visit);
        jobs.swap(from, at);
    }
}

/// When a job is due, in seconds: with the earliest of its flows.
fn due(demands: &[Demand], job: JobKey) -> Option<Time> {
    demands.iter().filter(|demand| demand.job == job).filter_map(|demand| demand.deadline).min()
}

/// The least value of a goal, in seconds, if jobs end in this order.
pub fn best_of_order(
    solver: Solver,
    network: &Network,
    demands: &[Demand],
    order: &[JobKey],
    goal: Goal,
) -> Option<f64> {
    let mut variables = ProblemVariables::new();
    let ends: Vec<_> = order.iter().map(|_| variables.add(variable().min(0.0))).collect();
    // Gigabits that a flow sends between two ends; Gbit and seconds keep numbers near one.
    let mut sent: Vec<Vec<Variable>> = Vec::new();
    for demand in demands {
        let place = order.iter().position(|job| *job == demand.job)?;
        sent.push((0..=place).map(|_| variables.add(variable().min(0.0))).collect());
    }
    let late: Vec<_> = order.iter().map(|_| variables.add(variable().min(0.0))).collect();
    let worst = variables.add(variable().min(0.0));

    let count = order.len() as f64;
    let objective: Expression = match goal {
        Goal::MeanCompletion => ends.iter().map(|end| *end / count).sum(),
        Goal::MaxLateness => worst.into(),
        Goal::SumLateness => late.iter().copied().sum(),
    };
    let mut model = Task::new(variables, objective);
    for pair in ends.windows(2) {
        model = model.with(Expression::from(pair[0]).leq(pair[1]));
    }
    for (demand, parts) in demands.iter().zip(&sent) {
        let gigabits = demand.remaining().get() as f64 * 8e-9;
        model = model.with(parts.iter().copied().sum::<Expression>().eq(gigabits));
    }
    let rates = network.left(Time::ZERO);
    for place in 0..order.len() {
        let mut load: BTreeMap<usize, Expression> = BTreeMap::new();
        for (demand, parts) in demands.iter().zip(&sent) {
            for (link, part) in
                demand.path.iter().flat_map(|link| parts.get(place).map(|p| (link, p)))
            {
                *load.entry(link.index()).or_default() += *part;
            }
        }
        for (link, load) in load {
            let before = if place == 0 { Expression::from(0.0) } else { ends[place - 1].into() };
            let room = (ends[place] - before) * rates[link].as_gbps_f64();
            model = model.with(load.leq(room));
        }
    }
    for (place, job) in order.iter().enumerate() {
        if let Some(due) = due(demands, *job) {
            let due = due.since(Time::ZERO).as_secs_f64();
            model = model.with((ends[place] - late[place]).leq(due));
            model = model.with((ends[place] - worst).leq(due));
        }
    }
    let solution = model.solve(solver)?;
    let value = |variable: &Variable| solution.value(*variable);
    Some(match goal {
        Goal::MeanCompletion => ends.iter().map(value).sum::<f64>() / count,
        Goal::MaxLateness => value(&worst),
        Goal::SumLateness => late.iter().map(value).sum(),
    })
}
