//! Whose fault losses are.
//!
//! Losses without a queue are the path's own. Losses that come with a queue are taken for congestion,
//! and less is put on the way; if they go on as before although there is less, it was not congestion
//! that caused them (a busy host makes round trips long, and the path loses packets by itself): then
//! the cut is taken back and the losses are remembered as the path's. A cut is also taken back, however
//! long ago, when losses without a queue have shown that its own were nothing but what the path loses.

/// More than this is never believed to be the path's own while there is a queue.
const BELIEVABLE: f64 = 0.05;
/// Between these rates, the path's losses explain earlier cuts: a queue that others fill and empty looks
/// like a path that loses a little by itself, and much more loss hides what queues lose.
const EXPLAINING: std::ops::Range<f64> = 0.005..0.02;
/// After a cut so many packets are looked at that this many losses would be among them if nothing had
/// changed.
const EXPECTED: f64 = 6.0;
/// If at least this part of those is seen, nothing has changed.
const PERSISTS: f64 = 0.5;

/// The path's own loss rate, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(super) struct PathLoss {
    rate: f64,
    watch: Option<Watch>,
    /// The worst epoch that caused any of the cuts that stand: packets lost, of how many.
    cause: Option<(u64, u64)>,
}

/// What is seen after a cut.
#[derive(Clone, Copy, Debug)]
struct Watch {
    /// The first epoch still shows what happened before the cut.
    settled: bool,
    packets: u64,
    lost: u64,
    /// Loss rate of the epoch that caused it.
    cause: f64,
}

impl PathLoss {
    /// The part of packets that the path loses whatever is sent.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// An epoch without a sign of congestion.
    pub(super) fn learn(&mut self, loss: f64) {
        self.rate += (loss - self.rate) / 8.0;
    }

    /// An epoch with signs of congestion: what was believed becomes a little doubtful.
    pub(super) fn doubt(&mut self) {
        self.rate *= 0.99;
    }

    /// Whether so many losses among so many packets are more than the path's own, chance included.
    pub(super) fn exceeded(&self, lost: u64, packets: u64) -> bool {
        lost as f64 > self.usual(packets, 3.0)
    }

    /// Losses of the path among so many packets, with so many standard deviations.
    fn usual(&self, packets: u64, deviations: f64) -> f64 {
        let mean = self.rate * packets as f64;
        mean + deviations * mean.sqrt()
    }

    /// Less is put on the way from now on because of an epoch that lost so many of so many packets.
    /// False if that is part of a series of cuts under watch.
    pub(super) fn on_cut(&mut self, lost: u64, packets: u64) -> bool {
        let first = self.watch.is_none();
        let cause = lost as f64 / packets as f64;
        self.watch.get_or_insert(Watch { settled: false, packets: 0, lost: 0, cause });
        if self.cause.is_none_or(|(most, _)| lost > most) {
            self.cause = Some((lost, packets));
        }
        first
    }

    /// Whether what is known by now about the path explains all cuts that stand; says so once.
    pub(super) fn explains(&mut self) -> bool {
        let explained = EXPLAINING.contains(&self.rate)
            && self.cause.is_some_and(|(lost, of)| lost as f64 <= self.usual(of, 2.0));
        if explained {
            (self.watch, self.cause) = (None, None);
        }
        explained
    }

    /// Counts an epoch; true if the cuts under watch have turned out to be a mistake.
    pub(super) fn regrets(&mut self, lost: u64, packets: u64) -> bool {
        let Some(watch) = &mut self.watch else { return false };
        if !watch.settled {
            watch.settled = true;
            return false;
        }
        (watch.packets, watch.lost) = (watch.packets + packets, watch.lost + lost);
        if (watch.packets as f64) * watch.cause < EXPECTED {
            return false;
        }
        let seen = watch.lost as f64 / watch.packets as f64;
        let regrets = seen >= watch.cause * PERSISTS && seen < BELIEVABLE;
        if regrets {
            self.rate = self.rate.max(seen);
        }
        self.watch = None;
        regrets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_that_go_on_after_a_cut_are_the_paths_own() {
        let mut losses = PathLoss::default();
        assert!(losses.exceeded(1, 100));
        assert!(losses.on_cut(1, 100));
        assert!(!losses.regrets(5, 100), "still from before");
        assert!(!losses.regrets(4, 300));
        assert!(!losses.on_cut(1, 100), "one series");
        assert!(losses.regrets(5, 300));
        assert_eq!(losses.rate(), 0.015);
        assert!(!losses.exceeded(3, 200), "that is what it loses");
        assert!(losses.exceeded(9, 200));
    }

    #[test]
    fn losses_that_stop_were_congestion() {
        let mut losses = PathLoss::default();
        assert!(losses.on_cut(1, 100));
        for _ in 0..10 {
            assert!(!losses.regrets(0, 100));
        }
        assert_eq!(losses.rate(), 0.0);
        assert!(losses.on_cut(1, 100), "the watch is over");
    }

    #[test]
    fn a_cut_is_taken_back_when_losses_without_a_queue_explain_it() {
        let mut losses = PathLoss::default();
        assert!(losses.on_cut(3, 125));
        assert!(!losses.explains(), "nothing is known yet");
        (0..24).for_each(|_| losses.learn(0.01));
        assert!(losses.explains() && !losses.explains(), "three of 125 are usual at 1 %");
        assert!(losses.on_cut(30, 125), "a new series");
        assert!(!losses.on_cut(2, 125));
        (0..24).for_each(|_| losses.learn(0.01));
        assert!(!losses.explains(), "thirty are not");
    }

    #[test]
    fn a_storm_is_not_the_paths_own() {
        let mut losses = PathLoss::default();
        assert!(losses.on_cut(30, 100));
        for _ in 0..10 {
            assert!(!losses.regrets(25, 100));
        }
    }
}
