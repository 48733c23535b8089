//! Optimal plans of small instances, to judge the heuristics by.
//!
//! With the feature `yardstick` or in tests only: linear and integer programs by `good_lp` with
//! `microlp`, which is exact and slow, or with the feature `highs` by HiGHS too. [`run`] plays the planner's own decisions in time, so that
//! both can be compared; it is a yardstick too, not a simulator.

mod fluid;
mod forwarding;
mod program;
mod solver;
// In the folder of tests because it prints what it finds, which code in `src` may not.
#[cfg(test)]
#[path = "../../tests/gaps/mod.rs"]
mod tests;

pub use fluid::run;
pub use forwarding::{Slots, best_forwarding, best_forwarding_by};
pub use program::{Goal, best, best_by, best_of_order};
pub use solver::Solver;
