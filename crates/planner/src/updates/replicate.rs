//! How far a replica may fall behind, and how fast to learn from old updates.

use laxity_interface::Time;

use crate::error::PlanError;

/// What a server and its replica have in common, and what not.
#[derive(Debug, Clone, PartialEq)]
pub struct Replica {
    /// Momentum γ of h ← γh + u, w ← w + h.
    pub momentum: f64,
    /// The norm of h when the replica was last equal.
    pub history: f64,
    /// Norms of the updates that the server has and the replica has not, oldest first.
    pub missing: Vec<f64>,
}

/// What has to happen before a commit.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ReplicaAction {
    /// Commit: the replica stays close enough.
    Commit {
        /// How far apart they can be after it.
        apart: f64,
    },
    /// Send the replica what it lacks first; it arrives before the update does.
    SendFirst {
        /// How many updates it lacks.
        updates: usize,
        /// How far apart they could be otherwise.
        apart: f64,
    },
    /// Hold the commit until the replica has what it lacks.
    Hold {
        /// When it has.
        until: Time,
        /// How far apart they could be otherwise.
        apart: f64,
    },
}

impl std::fmt::Display for ReplicaAction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Commit { apart } => {
                write!(f, "commit: server and replica stay within {apart:.3} of each other")
            }
            Self::SendFirst { updates, apart } => write!(
                f,
                "send the replica its {updates} missing updates first: else it could be {apart:.3} away"
            ),
            Self::Hold { until, apart } => {
                write!(
                    f,
                    "hold the commit until {until}: else the replica could be {apart:.3} away"
                )
            }
        }
    }
}

/// How far server and replica can be apart: ‖h₀‖·γ(1−γᵏ)/(1−γ) + Σᵢ ‖uᵢ‖·(1−γᵏ⁻ⁱ⁺¹)/(1−γ), for k
/// updates that the server has and the replica has not.
pub fn divergence_bound(replica: &Replica) -> Result<f64, PlanError> {
    let Replica { momentum, history, missing } = replica;
    let (momentum, history) = (*momentum, *history);
    if !(0.0..1.0).contains(&momentum) {
        return Err(PlanError::Momentum { given: momentum.to_string() });
    }
    let bad = |norm: &f64| !(norm.is_finite() && *norm >= 0.0);
    for (update, norm) in missing.iter().chain([&history]).enumerate() {
        if bad(norm) {
            return Err(PlanError::Norm { update, given: norm.to_string() });
        }
    }
    let k = missing.len() as i32;
    let rest = 1.0 - momentum;
    let old = history * momentum * (1.0 - momentum.powi(k)) / rest;
    let moved = |(i, norm): (usize, &f64)| norm * (1.0 - momentum.powi(k - i as i32)) / rest;
    Ok(old + missing.iter().enumerate().map(moved).sum::<f64>())
}

/// What to do with the next update, which arrives at `arrives` and has this norm, so that the
/// bound `most` is kept. `replica_ready` is when the replica could have all that it lacks, over the
/// bandwidth that is left.
pub fn replicate(
    state: &Replica,
    norm: f64,
    arrives: Time,
    replica_ready: Time,
    most: f64,
) -> Result<ReplicaAction, PlanError> {
    let mut after = state.clone();
    after.missing.push(norm);
    let apart = divergence_bound(&after)?;
    Ok(if apart <= most {
        ReplicaAction::Commit { apart }
    } else if replica_ready <= arrives {
        ReplicaAction::SendFirst { updates: state.missing.len(), apart }
    } else {
        ReplicaAction::Hold { until: replica_ready, apart }
    })
}

/// The learning rate of AdaDelay for step `t` and delay `tau`: 1 / (L + c·√(t + τ)).
pub fn learning_rate(smoothness: f64, c: f64, t: u64, tau: u64) -> f64 {
    1.0 / (smoothness + c * ((t + tau) as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use laxity_interface::Span;

    use super::*;

    /// Runs server and replica in one dimension, where norms add up when signs agree: the bound is
    /// then what happens.
    #[test]
    fn the_bound_is_reached_by_the_worst_case() {
        for (momentum, history, norms) in
            [(0.9, 2.0, vec![1.0, 0.5, 3.0]), (0.0, 7.0, vec![1.0, 2.0]), (0.5, 0.0, vec![4.0])]
        {
            let (mut h, mut moved) = (history, 0.0);
            for norm in &norms {
                h = momentum * h + norm;
                moved += h;
            }
            let bound = divergence_bound(&Replica { momentum, history, missing: norms }).unwrap();
            assert!((bound - moved).abs() < 1e-9, "{bound} for {moved}");
        }
    }

    #[test]
    fn a_commit_waits_for_the_replica_when_it_would_pass_the_bound() {
        let state = Replica { momentum: 0.0, history: 0.0, missing: vec![1.0, 1.0] };
        let at = |secs| Time::ZERO + Span::from_secs(secs);
        let act = |most, ready| replicate(&state, 1.0, at(5), ready, most).unwrap();
        assert_eq!(act(3.0, at(9)), ReplicaAction::Commit { apart: 3.0 });
        assert_eq!(act(2.5, at(5)), ReplicaAction::SendFirst { updates: 2, apart: 3.0 });
        assert_eq!(act(2.5, at(9)), ReplicaAction::Hold { until: at(9), apart: 3.0 });
    }

    #[test]
    fn numbers_that_are_none_are_named() {
        let state = |momentum, norm| Replica { momentum, history: 0.0, missing: vec![norm] };
        let said = |state| divergence_bound(&state).unwrap_err().to_string();
        assert!(said(state(1.0, 1.0)).contains("momentum is 1"));
        assert!(said(state(0.9, f64::NAN)).contains("norm NaN"));
        assert!(said(state(0.9, -1.0)).contains("norm -1"));
    }

    #[test]
    fn old_updates_count_less() {
        assert_eq!(learning_rate(1.0, 1.0, 9, 0), 0.25);
        assert!(learning_rate(1.0, 1.0, 9, 7) < 0.25);
    }
}
