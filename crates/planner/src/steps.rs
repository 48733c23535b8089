//! Bandwidth over time: a function that changes in steps.

use laxity_interface::{Bytes, Rate, Span, Time};

/// Bits in 10⁻¹² of a bit, times the 8 of a byte: what turns bytes into rate · picoseconds.
const BYTE: u128 = 8 * 1_000_000_000_000;

/// A rate for every moment: piecewise constant, the last step lasts for ever.
///
/// ```
/// use laxity_interface::{Bytes, Rate, Span, Time};
/// use laxity_planner::Steps;
/// let at = |secs| Time::ZERO + Span::from_secs(secs);
/// let mut link = Steps::constant(Rate::from_mbps(80)); // 10 MB/s
/// link.reserve(at(1), at(3), Rate::from_mbps(80));
/// assert_eq!(link.t_end(Time::ZERO, Bytes::new(30_000_000)), Some(at(5)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps {
    /// When a rate starts; the first at time zero, times rise, neighbours differ.
    steps: Vec<(Time, Rate)>,
}

impl Steps {
    /// The same rate at all times.
    pub fn constant(rate: Rate) -> Self {
        Self { steps: vec![(Time::ZERO, rate)] }
    }

    /// Rates from given times on; before the first, nothing. Times in any order; of equal ones the
    /// last counts.
    pub fn new(changes: impl IntoIterator<Item = (Time, Rate)>) -> Self {
        let mut steps = vec![(Time::ZERO, Rate::ZERO)];
        let mut changes: Vec<_> = changes.into_iter().collect();
        changes.sort_by_key(|(at, _)| *at);
        steps.extend(changes);
        let mut made = Self { steps };
        made.tidy();
        made
    }

    /// The rate at a moment.
    pub fn at(&self, time: Time) -> Rate {
        self.steps[self.index(time)].1
    }

    /// When the rate changes next after a moment.
    pub fn next_change(&self, time: Time) -> Option<Time> {
        self.steps.get(self.index(time) + 1).map(|(at, _)| *at)
    }

    fn index(&self, time: Time) -> usize {
        self.steps.partition_point(|(at, _)| *at <= time) - 1
    }

    /// Takes `rate` away between two moments; where there is less, nothing is left.
    pub fn reserve(&mut self, from: Time, until: Time, rate: Rate) {
        if from >= until {
            return;
        }
        self.split(from);
        self.split(until);
        for (at, left) in &mut self.steps {
            if (from..until).contains(at) {
                *left = Rate::bps(left.as_bps().saturating_sub(rate.as_bps()));
            }
        }
        self.tidy();
    }

    /// Takes away what `other` takes at each moment.
    pub fn reserve_steps(&mut self, other: &Self) {
        *self = self.less(other);
    }

    /// What is left beside what `other` takes at each moment.
    #[must_use]
    pub(crate) fn less(&self, other: &Self) -> Self {
        let less = |left: Rate, taken: Rate| left.as_bps().saturating_sub(taken.as_bps());
        self.with(other, |left, taken| Rate::bps(less(left, taken)))
    }

    /// Rates from `from` to `until`, by the rate at a moment and when it can change next; nothing before
    /// and after. Moments are asked for in rising order.
    pub(crate) fn between(
        from: Time,
        until: Time,
        mut rate_and_next: impl FnMut(Time) -> (Rate, Option<Time>),
    ) -> Self {
        let mut steps = Vec::with_capacity(4);
        let mut push = |at: Time, rate: Rate| {
            if steps.last().is_none_or(|(_, last)| *last != rate) {
                steps.push((at, rate));
            }
        };
        if from > Time::ZERO || from >= until {
            push(Time::ZERO, Rate::ZERO);
        }
        let mut at = from;
        while at < until {
            let (rate, next) = rate_and_next(at);
            push(at, rate);
            at = next.unwrap_or(until).min(until);
        }
        if from < until {
            push(until, Rate::ZERO);
        }
        Self { steps }
    }

    /// Both together: what `join` makes of their rates at each moment.
    fn with(&self, other: &Self, join: impl Fn(Rate, Rate) -> Rate) -> Self {
        let mut steps: Vec<(Time, Rate)> = Vec::with_capacity(self.steps.len() + other.steps.len());
        let (mut mine, mut theirs) = (&self.steps[..], &other.steps[..]);
        let mut at = Time::ZERO;
        loop {
            let rate = join(mine[0].1, theirs[0].1);
            if steps.last().is_none_or(|last| last.1 != rate) {
                steps.push((at, rate));
            }
            let after = |pieces: &[(Time, Rate)]| pieces.get(1).map_or(Time::MAX, |step| step.0);
            let next = after(mine).min(after(theirs));
            if next == Time::MAX {
                return Self { steps };
            }
            at = next;
            mine = from_piece(mine, at);
            theirs = from_piece(theirs, at);
        }
    }

    /// The pieces from the one of a moment on.
    pub(crate) fn from(&self, time: Time) -> &[(Time, Rate)] {
        &self.steps[self.index(time)..]
    }

    /// The smaller of both at each moment.
    #[must_use]
    pub fn min(&self, other: &Self) -> Self {
        self.with(other, Rate::min)
    }

    /// When `size` bytes that may start at `from` have been sent, if ever: the smallest T with
    /// ∫ from `from` to T of the rate ≥ size, rounded up to a picosecond.
    pub fn t_end(&self, from: Time, size: Bytes) -> Option<Time> {
        let mut pieces = self.from(from);
        t_end_by(from, size, |at| {
            pieces = from_piece(pieces, at);
            (pieces[0].1, pieces.get(1).map(|(next, _)| *next))
        })
    }

    /// What is sent between two moments, in whole bytes.
    pub fn bytes_between(&self, from: Time, until: Time) -> Bytes {
        let (mut sum, mut at) = (0u128, from);
        while at < until {
            let next = self.next_change(at).unwrap_or(until).min(until);
            let span = u128::from(next.since(at).as_ps());
            sum = sum.saturating_add(u128::from(self.at(at).as_bps()) * span);
            at = next;
        }
        Bytes::new(u64::try_from(sum / BYTE).unwrap_or(u64::MAX))
    }

    /// What an update that may start at `from` and ends at `until` uses: everything between.
    #[must_use]
    pub fn used(&self, from: Time, until: Time) -> Self {
        let inside = self.pieces().filter(|(at, _)| (from..until).contains(at));
        let ends = [(from, self.at(from)), (until, Rate::ZERO)];
        let starts = ends.into_iter().take(1);
        Self::new(starts.chain(inside).chain([ends[1]]))
    }

    /// When each rate starts.
    pub fn pieces(&self) -> impl Iterator<Item = (Time, Rate)> {
        self.steps.iter().copied()
    }

    /// All later by `delay`; before that, nothing.
    #[must_use]
    pub fn later(&self, delay: Span) -> Self {
        Self::new(self.pieces().map(|(at, rate)| (at + delay, rate)))
    }

    fn split(&mut self, time: Time) {
        let at = self.index(time);
        if self.steps[at].0 != time && time != Time::MAX {
            let rate = self.steps[at].1;
            self.steps.insert(at + 1, (time, rate));
        }
    }

    /// Of equal times keeps the last, of equal neighbours the first.
    fn tidy(&mut self) {
        // In place: reservations come by the thousand.
        let mut kept = 0;
        for at in 0..self.steps.len() {
            let step = self.steps[at];
            if kept > 0 && self.steps[kept - 1].0 == step.0 {
                kept -= 1;
            }
            if kept == 0 || self.steps[kept - 1].1 != step.1 {
                self.steps[kept] = step;
                kept += 1;
            }
        }
        self.steps.truncate(kept);
    }
}

/// The pieces from the one of a moment on, where that is not far.
pub(crate) fn from_piece(mut pieces: &[(Time, Rate)], at: Time) -> &[(Time, Rate)] {
    while pieces.get(1).is_some_and(|(next, _)| *next <= at) {
        pieces = &pieces[1..];
    }
    pieces
}

/// When `size` bytes that may start at `from` have been sent, if ever, by the rate at a moment and when
/// it can change next. Moments are asked for in rising order.
pub(crate) fn t_end_by(
    from: Time,
    size: Bytes,
    mut rate_and_next: impl FnMut(Time) -> (Rate, Option<Time>),
) -> Option<Time> {
    let mut left = u128::from(size.get()) * BYTE;
    let mut at = from;
    loop {
        let (rate, next) = rate_and_next(at);
        let rate = u128::from(rate.as_bps());
        let span = next.map(|next| u128::from(next.since(at).as_ps()));
        let sent = span.map_or(u128::MAX, |span| rate.saturating_mul(span));
        if sent >= left {
            // The last step carries everything, unless its rate is zero.
            let ps = match rate {
                _ if left == 0 => 0,
                0 => return None,
                _ => left.div_ceil(rate),
            };
            let end = u128::from(at.as_ps()) + ps;
            return u64::try_from(end).ok().map(Time::from_ps);
        }
        left -= sent;
        at = next?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Time {
        Time::ZERO + Span::from_secs(secs)
    }

    const MBYTE: u64 = 1_000_000;

    /// Figure 4 (b) of seed 003: 30 MB available at 0 end at 7. The text does not give the steps of
    /// its drawing; these are ours and carry 30 MB in 7 s.
    #[test]
    fn the_worked_example_ends_at_seven() {
        let mbps = |mb: u64| Rate::from_mbps(8 * mb);
        let residual =
            Steps::new([(at(0), mbps(5)), (at(2), mbps(2)), (at(4), mbps(5)), (at(6), mbps(6))]);
        assert_eq!(residual.t_end(at(0), Bytes::new(30 * MBYTE)), Some(at(7)));
        let mut left = residual.clone();
        left.reserve_steps(&residual.used(at(0), at(7)));
        assert_eq!(left, Steps::new([(at(7), mbps(6))]));
    }

    #[test]
    fn what_never_arrives_has_no_end() {
        let dry = Steps::new([(at(0), Rate::from_mbps(8)), (at(2), Rate::ZERO)]);
        assert_eq!(dry.t_end(at(0), Bytes::new(2 * MBYTE)), Some(at(2)));
        assert_eq!(dry.t_end(at(0), Bytes::new(2 * MBYTE + 1)), None);
        assert_eq!(dry.t_end(at(5), Bytes::ZERO), Some(at(5)));
        assert_eq!(dry.bytes_between(at(1), at(9)), Bytes::new(MBYTE));
    }

    #[test]
    fn reservations_split_and_never_go_below_zero() {
        let mut link = Steps::constant(Rate::bps(10));
        link.reserve(at(2), at(4), Rate::bps(4));
        link.reserve(at(3), at(5), Rate::bps(8));
        let rates: Vec<_> = (0..6).map(|s| link.at(at(s)).as_bps()).collect();
        assert_eq!(rates, [10, 10, 6, 0, 2, 10]);
        assert_eq!(link.next_change(at(5)), None);
        assert_eq!(link.min(&Steps::constant(Rate::bps(6))).at(at(0)), Rate::bps(6));
    }
}
