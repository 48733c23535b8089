//! Optimal plans of small instances, to judge the heuristics by.
//!
//! With the feature `yardstick` or in tests only: linear and integer programs by `good_lp` with
//! `microlp`, which is exact and slow. [`run`] plays the planner's own decisions in time, so that
//! both can be compared; it is a yardstick too, not a simulator.

mod fluid;
mod forwarding;
mod program;
// In the folder of tests because it prints what it finds, which code in `src` may not.
#[cfg(test)]
#[path = "../../tests/gaps/mod.rs"]
mod tests;

pub use fluid::run;
pub use forwarding::{Slots, best_forwarding};
pub use program::{Goal, best, best_of_order};
