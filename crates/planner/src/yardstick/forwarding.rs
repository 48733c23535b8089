//! An integer program for order and forwarding together.
//!
//! Time is cut into slots of one transfer. The server and each host that sums receive one transfer
//! in a slot; a sum leaves after all its members have arrived.

use good_lp::{Expression, ProblemVariables, Variable, variable};

use super::solver::{Solver, Task};

/// Equal updates behind one switch: each transfer takes one slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slots {
    /// The slot from which each update can be sent.
    pub available: Vec<u32>,
    /// How many hosts may sum.
    pub hosts: u32,
}

/// The least sum of commit times, in slots: for each update, where it goes and when.
pub fn best_forwarding(slots: &Slots) -> Option<f64> {
    best_forwarding_by(Solver::default(), slots)
}

/// The same by a solver of choice.
pub fn best_forwarding_by(solver: Solver, slots: &Slots) -> Option<f64> {
    let updates = slots.available.len();
    let last = slots.available.iter().max().copied().unwrap_or(0);
    let times = last as usize + updates + 1;
    let mut variables = ProblemVariables::new();
    let binary = |variables: &mut ProblemVariables| variables.add(variable().binary());
    let table = |variables: &mut ProblemVariables| -> Vec<Vec<Variable>> {
        (0..updates).map(|_| (0..times).map(|_| binary(variables)).collect()).collect()
    };
    let direct = table(&mut variables);
    let to_host: Vec<_> = (0..slots.hosts).map(|_| table(&mut variables)).collect();
    let sums: Vec<Vec<_>> =
        (0..slots.hosts).map(|_| (0..times).map(|_| binary(&mut variables)).collect()).collect();
    let commits: Vec<_> = (0..updates).map(|_| variables.add(variable().min(0.0))).collect();

    let all = |row: &[Variable]| row.iter().copied().sum::<Expression>();
    let end = |row: &[Variable]| -> Expression {
        row.iter().enumerate().map(|(time, on)| (time + 1) as f64 * *on).sum()
    };
    let mut model = Task::new(variables, commits.iter().copied().sum());
    for update in 0..updates {
        let ways: Expression = to_host.iter().map(|host| all(&host[update])).sum();
        model = model.with((ways + all(&direct[update])).eq(1.0));
        for time in 0..slots.available[update] as usize {
            let early: Expression = to_host.iter().map(|host| host[update][time]).sum();
            model = model.with((early + direct[update][time]).leq(0.0));
        }
        model = model.with(end(&direct[update]).leq(commits[update]));
    }
    for time in 0..times {
        let server: Expression = direct.iter().map(|row| row[time]).sum();
        let server = server + sums.iter().map(|row| row[time]).sum::<Expression>();
        model = model.with(server.leq(1.0));
    }
    for (members, sum) in to_host.iter().zip(&sums) {
        model = model.with(all(sum).leq(1.0));
        for time in 0..times {
            let host: Expression = members.iter().map(|row| row[time]).sum();
            model = model.with(host.leq(1.0));
            for row in members {
                // What arrives in this slot leaves with a sum that is sent later.
                model = model.with(Expression::from(row[time]).leq(all(&sum[time + 1..])));
            }
        }
        for (update, row) in members.iter().enumerate() {
            // A member is committed with its sum; others do not care.
            let apart = (1.0 - all(row)) * times as f64;
            model = model.with((end(sum) - apart).leq(commits[update]));
        }
    }
    let solution = model.solve(solver)?;
    Some(commits.iter().map(|commit| solution.value(*commit)).sum())
}
