//! Bottleneck-select-scale-iterate, the order of Sincronia.

use std::collections::BTreeMap;

use super::loads;
use crate::{demand::JobKey, rate::round::Round};

/// Coflows, first to last. From the last place forward: on the link with the most work, the coflow
/// with the least weight for its work there goes last, and the weights of the others there are
/// scaled down by what it would have paid.
pub(super) fn bssi(round: &Round<'_>, coflows: &BTreeMap<JobKey, Vec<usize>>) -> Vec<JobKey> {
    // Seconds of each coflow on each link.
    let mut columns: BTreeMap<u32, usize> = BTreeMap::new();
    let mut rows = Vec::new();
    for (job, flows) in coflows {
        let mut row = Vec::new();
        for (link, bits, _) in loads(round, flows) {
            let next = columns.len();
            let column = *columns.entry(link.0).or_insert(next);
            let rate = round.capacity[link.index()].max(1);
            row.push((column, bits as f64 / rate as f64));
        }
        let weight = round.jobs[job].weight.get();
        rows.push((*job, weight, row));
    }
    let mut work = vec![0.0f64; columns.len()];
    for (column, seconds) in rows.iter().flat_map(|(_, _, row)| row) {
        work[*column] += seconds;
    }

    let mut order = Vec::with_capacity(rows.len());
    while !rows.is_empty() {
        let most = (0..work.len()).max_by(|a, b| work[*a].total_cmp(&work[*b]).then(b.cmp(a)));
        let most = most.expect("every coflow has work");
        let there = |row: &[(usize, f64)]| {
            row.iter().find(|(column, _)| *column == most).map_or(0.0, |(_, seconds)| *seconds)
        };
        // Only those with work there: a weight that was scaled down to nothing over no work is no number.
        let costs = rows.iter().enumerate().filter_map(|(at, (_, weight, row))| {
            let work = there(row);
            (work > 0.0).then(|| (at, weight / work))
        });
        // Rounding may leave work on a link that nobody is on; then any may go last.
        let last = costs.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(at, _)| at);
        let (job, weight, row) = rows.swap_remove(last);
        let own = there(&row);
        if own > 0.0 {
            for (_, other, row) in &mut rows {
                *other = (*other - weight * there(row) / own).max(0.0);
            }
        }
        for (column, seconds) in row {
            work[column] = (work[column] - seconds).max(0.0);
        }
        order.push(job);
    }
    order.reverse();
    order
}
