//! What round trips tell about queues.
//!
//! A queue delays everybody who waits in it, so even the luckiest packet of an epoch takes longer than
//! the path's shortest; a busy host delays some and not others. And a full queue loses packets when the
//! delay is at its longest, while a bad wire loses them at any time.

use laxity_interface::Span;

/// Round trips longer than the shortest by less than this are noise, and so is a sixteenth of it, and so
/// is as much as busy hosts usually add: packets wait for them in the kernel, too.
const JITTER: Span = Span::from_us(50);
/// Losses to a full queue come with round trips in this upper part of the epoch's range.
const FULL: f64 = 0.75;

/// The round trips of one epoch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trips {
    shortest: Option<Span>,
    longest: Span,
    /// The shortest beside a lost packet.
    beside_loss: Option<Span>,
}

impl Trips {
    /// An acknowledgement told a round trip; `losses`: it also told of losses.
    pub(super) fn note(&mut self, rtt: Span, losses: bool) {
        let least = |old: Option<Span>| Some(old.map_or(rtt, |old| old.min(rtt)));
        self.shortest = least(self.shortest);
        self.longest = self.longest.max(rtt);
        if losses {
            self.beside_loss = least(self.beside_loss);
        }
    }

    /// Whether even the luckiest packet waited in a queue worth the name.
    pub(super) fn queued(&self, queue: &Queue) -> bool {
        self.shortest.is_some_and(|rtt| rtt > queue.min_rtt + queue.noise().max(queue.depth() / 4))
    }

    /// Whether so many losses look like those of a full queue.
    fn overflowed(&self, lost: u64, queue: &Queue) -> bool {
        let (Some(shortest), Some(rtt)) = (self.shortest, self.beside_loss) else { return false };
        if rtt <= queue.min_rtt + queue.noise().max(queue.depth() / 2) {
            return false;
        }
        let range = self.longest - shortest;
        // A queue that hardly moves is full all the time; otherwise one loss may be chance.
        let standing = range * 2 < shortest.max(queue.min_rtt) - queue.min_rtt;
        standing || (lost > 1 && rtt >= shortest + range.mul_f64(FULL))
    }
}

/// What is known about the queue in front of the bottleneck.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    min_rtt: Span,
    /// What hosts usually add.
    host_delay: Span,
    /// The round trip when it is full, if it ever was.
    full: Option<Span>,
}

impl Queue {
    /// Nothing is known but the path's shortest round trip.
    pub(super) fn new(min_rtt: Span) -> Self {
        Self { min_rtt, host_delay: Span::ZERO, full: None }
    }

    /// The path's shortest round trip and what hosts usually add to it.
    pub(super) fn set_path(&mut self, min_rtt: Span, host_delay: Span) {
        (self.min_rtt, self.host_delay) = (min_rtt, host_delay);
    }

    /// The wait in it when it is full; nothing if that is not known.
    fn depth(&self) -> Span {
        self.full.map_or(Span::ZERO, |full| full.max(self.min_rtt) - self.min_rtt)
    }

    fn noise(&self) -> Span {
        (self.min_rtt / 16).max(JITTER).max(self.host_delay)
    }

    /// Whether the losses of an epoch, more than the path's own, are those of a full queue. A queue
    /// overflows at the same depth each time, so from the first time on it is known by that.
    pub(super) fn overflows(&mut self, trips: &Trips, lost: u64) -> bool {
        let overflows = trips.overflowed(lost, self);
        let seen = trips.beside_loss.unwrap_or(self.min_rtt);
        match &mut self.full {
            Some(full) if overflows => *full = (*full * 3 + seen) / 4,
            None if overflows => self.full = Some(seen),
            // Many losses in a queue that is not as deep: it may have become smaller.
            Some(full) if lost > 1 && *full > self.min_rtt => {
                *full -= (*full - self.min_rtt) / 8;
            }
            _ => {}
        }
        overflows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE: Queue = Queue { min_rtt: Span::from_us(500), host_delay: Span::ZERO, full: None };

    fn trips(us: &[(u64, bool)]) -> Trips {
        let mut trips = Trips::default();
        us.iter().for_each(|(us, losses)| trips.note(Span::from_us(*us), *losses));
        trips
    }

    #[test]
    fn a_lucky_packet_shows_that_there_is_no_queue() {
        assert!(trips(&[(900, false), (700, false)]).queued(&QUEUE));
        assert!(!trips(&[(900, false), (510, false)]).queued(&QUEUE));
        assert!(!Trips::default().queued(&QUEUE));
    }

    #[test]
    fn a_full_queue_loses_when_the_wait_is_longest() {
        let overflows = |us, lost| QUEUE.clone().overflows(&trips(us), lost);
        assert!(overflows(&[(600, false), (2000, true), (1900, true)], 2));
        assert!(overflows(&[(2000, false), (1950, true), (2100, false)], 1), "standing");
        assert!(!overflows(&[(600, false), (2000, true), (700, true)], 2), "at any time");
        assert!(!overflows(&[(600, false), (2000, true)], 1), "may be chance");
        assert!(!overflows(&[(510, false), (520, true)], 2), "no queue at all");
        assert!(!overflows(&[(2000, false)], 0), "nothing lost");
    }

    #[test]
    fn a_queue_is_known_by_its_depth() {
        let mut queue = QUEUE;
        assert!(queue.overflows(&trips(&[(2000, false), (2500, true)]), 3));
        assert!(!trips(&[(900, false)]).queued(&queue), "a busy host");
        assert!(trips(&[(1100, false)]).queued(&queue));
        assert!(queue.overflows(&trips(&[(600, false), (2400, true)]), 2), "full again");
        assert!(!queue.overflows(&trips(&[(1000, false), (1100, true)]), 1), "not full");
        // If it goes on losing many at that depth, that is its depth.
        let shallow = trips(&[(1000, false), (1100, true)]);
        assert!((0..10).any(|_| queue.overflows(&shallow, 2)));
    }
}
