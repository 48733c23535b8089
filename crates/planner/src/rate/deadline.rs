//! Deadlines: earliest first, at the least rates, and what to do when not all can be met.

use laxity_interface::{Objective, Span, Time};

use super::{fair, round::Round};
use crate::{plan::Pace, reason::Reason, weight::Weight};

/// `deadline`: flows with one, earliest first; then the others share what is left.
pub(super) fn deadline(round: &mut Round<'_>, flows: &[usize]) {
    let (due, rest): (Vec<_>, Vec<_>) =
        flows.iter().copied().partition(|at| round.demands[*at].deadline.is_some());
    earliest_first(round, due);
    if !rest.is_empty() {
        round.share(&rest, |_| Weight::ONE, |_, link, _| Reason::LeftByDeadlines { link });
    }
}

/// `combined`: deadlines first, then what is left by priority, inside a level by weight. Sizes are
/// what must be delivered.
pub(super) fn combined(round: &mut Round<'_>, flows: &[usize]) {
    let due = flows.iter().copied().filter(|at| round.demands[*at].deadline.is_some()).collect();
    earliest_first(round, due);
    fair::by_level(round, flows, |demand| demand.weight);
}

/// A flow with its place in the order.
#[derive(Debug, Clone, Copy)]
struct Due {
    at: usize,
    deadline: Time,
    /// How late it is if flows go one after the other by deadline.
    own: Span,
    /// How late anybody on its links is.
    worst: Span,
}

/// Gives flows rates by their deadlines.
///
/// A flow whose links can meet all their deadlines gets the least rate that does: what it needs
/// over the time it has. On a link that cannot meet them, flows go one after the other: by deadline
/// if the largest lateness counts (no other order has a smaller one on a single link), by modified
/// due date, the later of the deadline and the earliest possible end, if the sum counts.
fn earliest_first(round: &mut Round<'_>, flows: Vec<usize>) {
    let mut due = look_ahead(round, flows);
    due.sort_by_key(|one| (place(round, one), round.demands[one.at].priority, one.at));
    for one in due {
        let Due { at, deadline, own, worst } = one;
        let least = round.rate_for(at, deadline.since(round.now));
        let room = round.room(at);
        let full = round.options.pace == Pace::Full || !worst.is_zero();
        let rate = if full { room } else { least.min(room) };
        round.give(at, rate);
        let least = laxity_interface::Rate::bps(least);
        round.reasons[at] = if !own.is_zero() {
            Reason::Late { deadline, by: own }
        } else if rate >= least.as_bps() {
            Reason::MeetsDeadline { deadline, least }
        } else {
            Reason::AfterEarlier { deadline, least }
        };
    }
}

/// What a flow is sorted by.
fn place(round: &Round<'_>, one: &Due) -> Time {
    let job = &round.jobs[&round.demands[one.at].job];
    let sum = job.objective == Objective::SumLateness;
    if sum && !one.worst.is_zero() {
        one.deadline.max(round.now + round.time_at(one.at, round.room(one.at)))
    } else {
        one.deadline
    }
}

/// How late flows will be: on each link, those with earlier deadlines go first.
fn look_ahead(round: &Round<'_>, flows: Vec<usize>) -> Vec<Due> {
    let deadline = |at: usize| round.demands[at].deadline.unwrap_or(Time::MAX);
    let mut flows = flows;
    flows.sort_by_key(|at| (deadline(*at), *at));
    let mut bits = vec![0u128; round.left.len()];
    let mut worst = vec![Span::ZERO; round.left.len()];
    let mut due = Vec::with_capacity(flows.len());
    for at in flows {
        let time = deadline(at).since(round.now);
        let mut own = Span::ZERO;
        for link in round.demands[at].path.iter() {
            let bits = &mut bits[link.index()];
            *bits += round.bits(at);
            let ends = (*bits * 1_000_000_000_000).checked_div(round.left[link.index()].into());
            let ends = ends.and_then(|ps| u64::try_from(ps).ok()).map_or(Span::MAX, Span::from_ps);
            let late = ends - time;
            own = own.max(late);
            worst[link.index()] = worst[link.index()].max(late);
        }
        // A deadline that has passed is missed by at least that much.
        let passed = round.now.since(deadline(at));
        due.push(Due { at, deadline: deadline(at), own: own + passed, worst: passed });
    }
    for one in &mut due {
        for link in round.demands[one.at].path.iter() {
            one.worst = one.worst.max(worst[link.index()]);
        }
    }
    due
}
