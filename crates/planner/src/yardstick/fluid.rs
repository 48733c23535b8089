//! What comes of a scheme if it is asked again whenever something ends.

use laxity_interface::{Bytes, Time};

use crate::{Demand, JobView, Network, Options, PlanError, allocate};

/// Bits of a byte in 10⁻¹² of a bit.
const BYTE: u128 = 8 * 1_000_000_000_000;

/// When each flow ends if the planner is asked at the start, whenever a flow ends, and whenever a
/// plan says so. Flows that nothing moves any more end at [`Time::MAX`].
pub fn run(
    network: &Network,
    demands: &[Demand],
    jobs: &[JobView],
    options: &Options,
) -> Result<Vec<Time>, PlanError> {
    let mut left: Vec<u128> =
        demands.iter().map(|demand| u128::from(demand.remaining().get()) * BYTE).collect();
    let mut ends = vec![Time::MAX; demands.len()];
    let mut jobs = jobs.to_vec();
    let mut now = Time::ZERO;
    loop {
        let open: Vec<_> = (0..demands.len()).filter(|at| left[*at] > 0).collect();
        let view = |at: &usize| {
            let missing = Bytes::new(left[*at].div_ceil(BYTE) as u64);
            Demand { sent: demands[*at].size - missing, ..demands[*at].clone() }
        };
        let asked: Vec<_> = open.iter().map(view).collect();
        let plan = allocate(now, network, &asked, &jobs, options)?;
        let rates: Vec<_> = plan.rates().iter().map(|rate| u128::from(rate.as_bps())).collect();
        let next = open.iter().zip(&rates).filter(|(_, rate)| **rate > 0);
        let next = next.map(|(at, rate)| left[*at].div_ceil(*rate)).min();
        let until = plan.valid_until.map(|until| u128::from(until.since(now).as_ps()));
        let Some(span) = next.into_iter().chain(until).min() else { return Ok(ends) };
        now = Time::from_ps(now.as_ps() + span as u64);
        for (at, rate) in open.iter().zip(rates) {
            left[*at] = left[*at].saturating_sub(rate * span);
            if left[*at] == 0 {
                ends[*at] = now;
                let job = jobs.iter_mut().find(|job| job.key == demands[*at].job);
                if let Some(job) = job {
                    job.sent_before += demands[*at].size;
                }
            }
        }
    }
}
