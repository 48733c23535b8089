//! Whose turn it is.

/// Round after round, every contender that still needs runs gets one. Rounds begin with another contender
/// each time, so that nobody always follows the same one.
#[derive(Clone, Debug)]
pub(in super::super) struct Schedule {
    wanted: usize,
    /// Whether invalid runs count.
    lenient: bool,
    most: usize,
    counts: Vec<Count>,
    round: usize,
    /// Turns taken in this round.
    turn: usize,
}

/// What became of a contender's runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in super::super) struct Count {
    pub(in super::super) valid: usize,
    pub(in super::super) invalid: usize,
    pub(in super::super) failed: usize,
}

impl Count {
    fn all(&self) -> usize {
        self.valid + self.invalid + self.failed
    }
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Verdict {
    Valid,
    Invalid,
    Failed,
}

impl Schedule {
    /// As many runs as wanted for each, with at most as many again (and three) that do not count. If
    /// lenient, invalid ones count too.
    pub(in super::super) fn new(contenders: usize, wanted: usize, lenient: bool) -> Self {
        let counts = vec![Count::default(); contenders];
        Self { wanted, lenient, most: 2 * wanted + 3, counts, round: 0, turn: 0 }
    }

    /// Who is next; `None` when everybody has enough, or has tried often enough.
    pub(in super::super) fn next(&mut self) -> Option<usize> {
        let all = self.counts.len();
        // A full round without anybody in need ends it.
        for _ in 0..2 * all {
            if self.turn == all {
                (self.round, self.turn) = (self.round + 1, 0);
            }
            let who = (self.round + self.turn) % all;
            self.turn += 1;
            if self.good(who) < self.wanted && self.counts[who].all() < self.most {
                return Some(who);
            }
        }
        None
    }

    pub(in super::super) fn note(&mut self, who: usize, verdict: Verdict) {
        let count = &mut self.counts[who];
        match verdict {
            Verdict::Valid => count.valid += 1,
            Verdict::Invalid => count.invalid += 1,
            Verdict::Failed => count.failed += 1,
        }
    }

    pub(in super::super) fn count(&self, who: usize) -> Count {
        self.counts[who]
    }

    /// How many runs there are that count, over all contenders.
    pub(in super::super) fn done(&self) -> usize {
        (0..self.counts.len()).map(|who| self.good(who)).sum()
    }

    fn good(&self, who: usize) -> usize {
        let count = self.counts[who];
        count.valid + if self.lenient { count.invalid } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contenders_take_turns_and_rounds_begin_with_another_each_time() {
        let mut schedule = Schedule::new(3, 3, false);
        let mut order = Vec::new();
        while let Some(who) = schedule.next() {
            order.push(who);
            schedule.note(who, Verdict::Valid);
        }
        assert_eq!(order, [0, 1, 2, 1, 2, 0, 2, 0, 1]);
        assert_eq!(schedule.done(), 9);
    }

    #[test]
    fn invalid_runs_are_repeated_but_not_for_ever() {
        let mut schedule = Schedule::new(2, 2, false);
        let mut runs = [0; 2];
        while let Some(who) = schedule.next() {
            runs[who] += 1;
            let good = who == 0 && runs[0] != 1;
            schedule.note(who, if good { Verdict::Valid } else { Verdict::Invalid });
        }
        assert_eq!(runs, [3, 7]);
        assert_eq!(schedule.count(0), Count { valid: 2, invalid: 1, failed: 0 });
        assert_eq!(schedule.count(1), Count { valid: 0, invalid: 7, failed: 0 });
    }

    #[test]
    fn whoever_is_lenient_repeats_only_what_failed() {
        let mut schedule = Schedule::new(1, 2, true);
        for verdict in [Verdict::Invalid, Verdict::Failed, Verdict::Valid] {
            assert_eq!(schedule.next(), Some(0));
            schedule.note(0, verdict);
        }
        assert_eq!((schedule.next(), schedule.done()), (None, 2));
    }

    #[test]
    fn nobody_to_serve_is_the_end() {
        assert_eq!(Schedule::new(0, 5, false).next(), None);
        assert_eq!(Schedule::new(3, 0, false).next(), None);
    }
}
