//! What a sender knows of its packets.

use std::collections::{BTreeSet, VecDeque};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Fresh,
    Out,
    Lost,
    Home,
}

/// The packets of one flow: never sent, on the way, lost, or home.
#[derive(Clone, Debug)]
pub(crate) struct Book {
    fates: Vec<Fate>,
    /// First packet that was never sent.
    fresh: u32,
    lost: BTreeSet<u32>,
    /// Lost, and only sent again when there is nothing else.
    passed: BTreeSet<u32>,
    /// More packets will come: it is too early for what was passed over.
    open: bool,
    out: u32,
    home: u32,
    /// What left, in the order in which it did: number of the departure and packet.
    departures: VecDeque<(u64, u32)>,
    departed: u64,
    /// The latest departure that was heard of.
    heard: Option<u64>,
}

/// A packet to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Departure {
    /// Which.
    pub(crate) packet: u32,
    /// Counted over all departures of the flow; acknowledgements echo it.
    pub(crate) number: u64,
    /// It was sent before.
    pub(crate) again: bool,
}

impl Book {
    pub(crate) fn new(packets: u32) -> Self {
        Self {
            fates: vec![Fate::Fresh; packets as usize],
            fresh: 0,
            lost: BTreeSet::new(),
            passed: BTreeSet::new(),
            open: false,
            out: 0,
            home: 0,
            departures: VecDeque::new(),
            departed: 0,
            heard: None,
        }
    }

    /// There are so many packets now, if those were fewer, and more will come or not.
    pub(crate) fn grow(&mut self, packets: u32, open: bool) {
        self.open = open;
        if self.fates.len() < packets as usize {
            self.fates.resize(packets as usize, Fate::Fresh);
        }
    }

    /// Whether something can be sent.
    pub(crate) fn has_next(&self) -> bool {
        !self.lost.is_empty() || self.has_fresh() || (!self.open && !self.passed.is_empty())
    }

    /// Whether something was never sent.
    pub(crate) fn has_fresh(&self) -> bool {
        (self.fresh as usize) < self.fates.len()
    }

    /// The next packet: what was lost first, then what is new, then what was passed over, each in
    /// order.
    pub(crate) fn take(&mut self) -> Option<Departure> {
        let (packet, again) = match self.lost.pop_first() {
            Some(packet) => (packet, true),
            None if self.has_fresh() => {
                self.fresh += 1;
                (self.fresh - 1, false)
            }
            None if self.open => return None,
            None => (self.passed.pop_first()?, true),
        };
        self.fates[packet as usize] = Fate::Out;
        self.out += 1;
        let number = self.departed;
        self.departed += 1;
        self.departures.push_back((number, packet));
        Some(Departure { packet, number, again })
    }

    /// A packet is home; false if that was known.
    pub(crate) fn acknowledge(&mut self, packet: u32) -> bool {
        let Some(fate) = self.fates.get_mut(packet as usize) else { return false };
        match std::mem::replace(fate, Fate::Home) {
            Fate::Home => return false,
            Fate::Out => self.out -= 1,
            Fate::Lost => {
                if !self.lost.remove(&packet) {
                    self.passed.remove(&packet);
                }
            }
            Fate::Fresh => {}
        }
        self.home += 1;
        true
    }

    /// A packet did not arrive.
    pub(crate) fn lose(&mut self, packet: u32) -> bool {
        let Some(fate) = self.fates.get_mut(packet as usize) else { return false };
        if *fate != Fate::Out {
            return false;
        }
        *fate = Fate::Lost;
        self.out -= 1;
        self.lost.insert(packet);
        true
    }

    /// The departure of this number was heard of: those that left at least `distance` before it and
    /// are still out count as lost. Returns how many.
    pub(crate) fn hear(&mut self, number: u64, distance: u64) -> u32 {
        self.heard = self.heard.max(Some(number));
        let limit = self.heard.unwrap_or(0);
        let mut losses = 0;
        while let Some(&(left, packet)) = self.departures.front() {
            let settled = self.fates[packet as usize] != Fate::Out;
            if !settled && left + distance > limit {
                break;
            }
            self.departures.pop_front();
            // A later departure of the same packet may be out instead.
            let newer = self.departures.iter().any(|(_, other)| *other == packet);
            if !settled && !newer && self.lose(packet) {
                losses += 1;
            }
        }
        losses
    }

    /// Nothing was heard: all that is out counts as lost. Returns how many.
    pub(crate) fn lose_all(&mut self) -> u32 {
        let departures = std::mem::take(&mut self.departures);
        departures.iter().filter(|(_, packet)| self.lose(*packet)).count() as u32
    }

    /// Nothing was heard: all that is out counts as lost and is passed over, which means sent again
    /// only when everything else was sent.
    pub(crate) fn pass_over_all(&mut self) {
        for (_, packet) in std::mem::take(&mut self.departures) {
            if self.lose(packet) {
                self.lost.remove(&packet);
                self.passed.insert(packet);
            }
        }
    }

    /// Packets on the way.
    pub(crate) fn out(&self) -> u32 {
        self.out
    }

    /// Packets known to have arrived.
    pub(crate) fn home(&self) -> u32 {
        self.home
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(book: &mut Book, count: usize) -> Vec<(u32, bool)> {
        let taken = std::iter::from_fn(|| book.take()).take(count);
        taken.map(|departure| (departure.packet, departure.again)).collect()
    }

    #[test]
    fn lost_packets_leave_before_new_ones() {
        let mut book = Book::new(5);
        assert_eq!(packets(&mut book, 3), [(0, false), (1, false), (2, false)]);
        assert!(book.lose(1) && !book.lose(1));
        assert!(book.acknowledge(0) && !book.acknowledge(0));
        assert_eq!((book.out(), book.home()), (1, 1));
        assert_eq!(packets(&mut book, 9), [(1, true), (3, false), (4, false)]);
        assert!(!book.has_next());
    }

    #[test]
    fn three_later_departures_mean_a_loss() {
        let mut book = Book::new(10);
        packets(&mut book, 5);
        book.acknowledge(1);
        assert_eq!(book.hear(1, 3), 0);
        book.acknowledge(2);
        assert_eq!(book.hear(2, 3), 0);
        book.acknowledge(3);
        assert_eq!(book.hear(3, 3), 1, "packet 0 left three before");
        assert_eq!(book.take().unwrap().packet, 0);
        book.acknowledge(4);
        assert_eq!(book.hear(4, 3), 0, "its second departure is number 5");
    }

    #[test]
    fn silence_loses_everything_that_is_out() {
        let mut book = Book::new(4);
        packets(&mut book, 3);
        book.acknowledge(1);
        assert_eq!(book.lose_all(), 2);
        assert_eq!((book.out(), book.home()), (0, 1));
        assert_eq!(packets(&mut book, 9), [(0, true), (2, true), (3, false)]);
    }

    #[test]
    fn what_was_passed_over_comes_last_unless_it_arrives_late() {
        let mut book = Book::new(5);
        packets(&mut book, 3);
        book.pass_over_all();
        assert_eq!(book.out(), 0);
        assert!(book.acknowledge(1), "it was only late");
        assert_eq!(packets(&mut book, 9), [(3, false), (4, false), (0, true), (2, true)]);
        assert!(!book.has_next());
    }
}
