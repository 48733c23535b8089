//! Who solves the programs.

use good_lp::{Constraint, Expression, ProblemVariables, Solution, SolverModel, Variable, microlp};

/// A solver of linear and integer programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Solver {
    /// Written in Rust; nothing else is needed to build it.
    #[default]
    Microlp,
    /// HiGHS, in C++: building it needs cmake, a C++ compiler and libclang.
    #[cfg(feature = "highs")]
    Highs,
}

/// A program before its solver is known.
pub(super) struct Task {
    variables: ProblemVariables,
    objective: Expression,
    constraints: Vec<Constraint>,
}

/// The values of a solution.
pub(super) struct Values(Box<dyn Fn(Variable) -> f64>);

impl Values {
    pub(super) fn value(&self, variable: Variable) -> f64 {
        (self.0)(variable)
    }
}

impl Task {
    /// Makes an expression as small as can be.
    pub(super) const fn new(variables: ProblemVariables, objective: Expression) -> Self {
        Self { variables, objective, constraints: Vec::new() }
    }

    pub(super) fn with(mut self, constraint: Constraint) -> Self {
        self.constraints.push(constraint);
        self
    }

    /// Nothing if there is no solution.
    pub(super) fn solve(self, solver: Solver) -> Option<Values> {
        match solver {
            Solver::Microlp => self.solve_by(microlp),
            #[cfg(feature = "highs")]
            Solver::Highs => self.solve_by(good_lp::highs),
        }
    }

    fn solve_by<S: good_lp::Solver>(self, solver: S) -> Option<Values>
    where
        S::Model: SolverModel<Solution: 'static>,
    {
        let problem = self.variables.minimise(self.objective).using(solver);
        let solution = problem.with_all(self.constraints).solve().ok()?;
        Some(Values(Box::new(move |variable| solution.value(variable))))
    }
}
