//! What the algorithm makes of an update before it is added to the model.

use laxity_planner::updates::learning_rate;

use super::words::Member;

/// What is known about an update when it is committed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Facts<'a> {
    /// Commits before it.
    pub commits: u64,
    /// The largest number of commits between the version of a member and this commit.
    pub delay: u64,
    /// The updates in it: one, or those of a sum or of a synchronous round.
    pub members: &'a [Member],
}

/// Turns an update into what is added: u in h ← γh + u, w ← w + h.
///
/// The server keeps momentum γ itself, because the bound on a replica's distance needs it. A rule is
/// asked on the server only; replicas get the result. So a rule may have a state, but what takes over
/// after the server's death starts with a fresh one: derive it from [`Facts::commits`] where you can.
///
/// Closures are rules:
///
/// ```
/// use laxity_fabric::roles::{Facts, Rule};
/// let mut clipped = |update: &mut [f32], _: &Facts<'_>| {
///     update.iter_mut().for_each(|u| *u = -0.1 * u.clamp(-1.0, 1.0));
/// };
/// let mut update = [3.0, -0.5];
/// clipped.step(&mut update, &Facts { commits: 0, delay: 0, members: &[] });
/// assert_eq!(update, [-0.1, 0.05]);
/// ```
pub trait Rule: Send {
    /// Changes the update in place.
    fn step(&mut self, update: &mut [f32], facts: &Facts<'_>);
}

impl<F: FnMut(&mut [f32], &Facts<'_>) + Send> Rule for F {
    fn step(&mut self, update: &mut [f32], facts: &Facts<'_>) {
        self(update, facts);
    }
}

/// Updates are added as they are.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Add;

impl Rule for Add {
    fn step(&mut self, _: &mut [f32], _: &Facts<'_>) {}
}

/// Updates are gradients; descends at a constant rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sgd {
    /// The learning rate.
    pub rate: f32,
}

impl Rule for Sgd {
    fn step(&mut self, update: &mut [f32], _: &Facts<'_>) {
        update.iter_mut().for_each(|u| *u *= -self.rate);
    }
}

/// Updates are gradients; older ones count less: rate 1 / (L + c·√(t + τ)) after t commits, with a
/// delay of τ (AdaDelay).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AdaDelay {
    /// L, the smoothness of the loss.
    pub smoothness: f64,
    /// c, how fast the rate falls.
    pub c: f64,
}

impl Rule for AdaDelay {
    fn step(&mut self, update: &mut [f32], facts: &Facts<'_>) {
        let rate = learning_rate(self.smoothness, self.c, facts.commits, facts.delay) as f32;
        update.iter_mut().for_each(|u| *u *= -rate);
    }
}
