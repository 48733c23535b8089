//! What round trips tell about queues.
//!
//! A queue delays everybody who waits in it, so even the luckiest packet of an epoch takes longer than
//! the path's shortest; a busy host delays some and not others. And a full queue loses packets when the
//! delay is at its longest, while a bad wire loses them at any time.

use laxity_interface::Span;

/// Round trips longer than the shortest by less than this are noise, and so is a sixteenth of it.
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

    /// Whether even the luckiest packet waited somewhere, on a path that can do `min_rtt`.
    pub(super) fn queued(&self, min_rtt: Span) -> bool {
        self.shortest.is_some_and(|rtt| waited(rtt, min_rtt))
    }

    /// Whether so many losses look like those of a full queue.
    pub(super) fn overflowed(&self, lost: u64, min_rtt: Span) -> bool {
        let (Some(shortest), Some(rtt)) = (self.shortest, self.beside_loss) else { return false };
        let range = self.longest - shortest;
        // A queue that hardly moves is full all the time; otherwise one loss may be chance.
        let standing = range * 2 < shortest.max(min_rtt) - min_rtt;
        let full = lost > 1 && rtt >= shortest + range.mul_f64(FULL);
        waited(rtt, min_rtt) && (standing || full)
    }
}

fn waited(rtt: Span, min_rtt: Span) -> bool {
    rtt > min_rtt + (min_rtt / 16).max(JITTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN: Span = Span::from_us(500);

    fn trips(us: &[(u64, bool)]) -> Trips {
        let mut trips = Trips::default();
        us.iter().for_each(|(us, losses)| trips.note(Span::from_us(*us), *losses));
        trips
    }

    #[test]
    fn a_lucky_packet_shows_that_there_is_no_queue() {
        assert!(trips(&[(900, false), (700, false)]).queued(MIN));
        assert!(!trips(&[(900, false), (510, false)]).queued(MIN));
        assert!(!Trips::default().queued(MIN));
    }

    #[test]
    fn a_full_queue_loses_when_the_wait_is_longest() {
        assert!(trips(&[(600, false), (2000, true), (1900, true)]).overflowed(2, MIN));
        assert!(
            trips(&[(2000, false), (1950, true), (2100, false)]).overflowed(2, MIN),
            "standing"
        );
        assert!(
            !trips(&[(600, false), (2000, true), (700, true)]).overflowed(2, MIN),
            "at any time"
        );
        assert!(!trips(&[(600, false), (2000, true)]).overflowed(1, MIN), "may be chance");
        assert!(!trips(&[(510, false), (520, true)]).overflowed(2, MIN), "no queue at all");
        assert!(!trips(&[(2000, false)]).overflowed(2, MIN), "nothing lost");
    }
}
