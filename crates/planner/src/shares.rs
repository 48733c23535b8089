//! Weighted max-min shares, exact, kept up to date while flows come and go.
//!
//! Progressive filling: the level λ of all flows rises, a flow of weight w sends w·λ, and when a
//! link is full its flows stay at the level they have. Everything is whole numbers: rates in units
//! of 2⁻³² bit/s, weights in units of 2⁻²⁰, and the level at which a link is full is
//! ⌊left / weight⌋ of those. All links that are full at one level are found before their flows are
//! fixed, so the result does not depend on any order, and sums never exceed a capacity.
//!
//! A change at level λ leaves everything below λ as it is: filling would go the same way up to
//! there. So how far filling had come is marked now and then; after an arrival or departure it goes
//! on from the last mark below λ: up to λ by the old order of full links, which needs no search,
//! and from there by a new one.

mod fill;
mod marks;
mod queue;
mod records;
mod seats;
#[cfg(test)]
mod tests;

use laxity_interface::Rate;
use laxity_topology::LinkId;

use crate::weight::Weight;
use marks::{LinkState, Marks, clear_bit, set_bit};
use queue::Queue;
use records::Records;

/// Rates are counted in 2⁻³² bit/s.
const FINE: u32 = 32;
/// The level of a flow that is not fixed yet. Levels stay below.
const OPEN: u64 = u64::MAX;
/// In the place of an event: added, and not settled since.
const NEW: u32 = u32::MAX;
/// In the place of an event: no link holds it back.
const FREE: u32 = u32::MAX - 1;

/// A flow in [`FairShares`]; its number may be used again after it is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);

impl Slot {
    /// As a position in a vector: slots are dense.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A level that has an end even where a tiny weight meets a huge link.
fn whole_level(left: u128, weight: u128) -> u64 {
    u64::try_from(left / weight).unwrap_or(OPEN).min(OPEN - 1)
}

/// A link that was full, and the level at which it was.
#[derive(Debug, Clone, Copy)]
struct Event {
    level: u64,
    link: u32,
}

/// The weighted max-min rates of flows over links.
///
/// ```
/// use laxity_interface::Rate;
/// use laxity_planner::{FairShares, Weight};
/// let mut shares = FairShares::new(&[Rate::from_gbps(10), Rate::from_gbps(2)]);
/// let long = shares.add(&[0, 1].map(laxity_topology::LinkId), Weight::ONE);
/// let short = shares.add(&[laxity_topology::LinkId(0)], Weight::ONE);
/// shares.settle();
/// assert_eq!(shares.rate(long), Rate::from_gbps(2));
/// assert_eq!(shares.rate(short), Rate::from_gbps(8));
/// shares.remove(long);
/// shares.settle();
/// assert_eq!(shares.rate(short), Rate::from_gbps(10));
/// ```
#[derive(Debug, Clone)]
pub struct FairShares {
    capacity: Vec<u128>,
    /// The weights of all flows of each link.
    weights: Vec<u64>,
    /// The seats of the live flows of each link.
    members: Vec<Vec<u32>>,
    /// The seat of each slot.
    seats: Vec<u32>,
    /// Weights and links of flows, by seat.
    records: Records,
    /// A bit for each seat with a flow.
    live: Vec<u64>,
    /// The event that fixed the flow of each seat, or [`NEW`] or [`FREE`].
    fixed_by: Vec<u32>,
    /// Slots without flows.
    free: Vec<u32>,
    /// The links that were full, by rising level.
    events: Vec<Event>,
    marks: Marks,
    /// Seats of flows that came since the last time.
    added: Vec<u32>,
    /// How many flows came since seats were given.
    strangers: usize,
    /// The lowest level at which something was taken away.
    from: u64,
    changed: bool,
    /// Links and flows while they are filled, kept for the next time.
    links: Vec<LinkState>,
    open: Vec<u64>,
    queue: Queue,
    picked: Vec<(u32, u64)>,
}

impl FairShares {
    /// Links without flows.
    pub fn new(capacity: &[Rate]) -> Self {
        let links = capacity.len();
        Self {
            capacity: capacity.iter().map(|c| u128::from(c.as_bps()) << FINE).collect(),
            weights: vec![0; links],
            members: vec![Vec::new(); links],
            seats: Vec::new(),
            records: Records::default(),
            live: Vec::new(),
            fixed_by: Vec::new(),
            free: Vec::new(),
            events: Vec::new(),
            marks: Marks::default(),
            added: Vec::new(),
            strangers: 0,
            from: OPEN,
            changed: false,
            links: Vec::new(),
            open: Vec::new(),
            queue: Queue::default(),
            picked: Vec::new(),
        }
    }

    /// Adds a flow over these links; its rate is known after [`settle`](Self::settle).
    ///
    /// Panics on a link that is not there. A link that is named twice counts once.
    pub fn add(&mut self, path: &[LinkId], weight: Weight) -> Slot {
        if let Some(link) = path.iter().find(|link| link.index() >= self.capacity.len()) {
            panic!("link {link} is not there");
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.fixed_by.push(NEW);
            self.seats.push(self.seats.len() as u32);
            self.seats.len() as u32 - 1
        });
        let seat = self.seats[slot as usize];
        let at = seat as usize;
        let weight = weight.units();
        self.records.set(at, weight, path);
        self.fixed_by[at] = NEW;
        set_bit(&mut self.live, at);
        self.records.each_link(at, |link| {
            self.members[link as usize].push(seat);
            self.weights[link as usize] += weight;
        });
        self.marks.add(at, &self.records);
        self.added.push(seat);
        self.changed = true;
        Slot(slot)
    }

    /// Takes a flow away; the others have their new rates after [`settle`](Self::settle).
    ///
    /// Panics on a flow that is not there.
    pub fn remove(&mut self, slot: Slot) {
        let seat = self.seats.get(slot.index()).copied();
        let live = |seat: &u32| self.live[*seat as usize / 64] >> (seat % 64) & 1 == 1;
        let seat = seat.filter(live).unwrap_or_else(|| panic!("flow {slot:?} is not there"));
        let at = seat as usize;
        clear_bit(&mut self.live, at);
        let weight = self.records.weight(at);
        self.records.each_link(at, |link| {
            let members = &mut self.members[link as usize];
            let place = members.iter().position(|m| *m == seat).expect("a member of its links");
            members.swap_remove(place);
            self.weights[link as usize] -= weight;
        });
        match self.event(seat).copied() {
            Some(event) => self.begin_from(event.level),
            None => self.added.retain(|added| *added != seat),
        }
        self.marks.remove(at, &self.records);
        self.free.push(slot.0);
        self.changed = true;
    }

    /// Gives a link another capacity; flows have their new rates after [`settle`](Self::settle).
    pub fn set_capacity(&mut self, link: LinkId, capacity: Rate) {
        let new = u128::from(capacity.as_bps()) << FINE;
        let at = link.index();
        // A flow below the level at which the link is full, before and after, does not notice.
        let before = self.full_at(at);
        let old = std::mem::replace(&mut self.capacity[at], new);
        let after = self.full_at(at);
        self.begin_from(before.unwrap_or(OPEN).min(after.unwrap_or(OPEN)));
        self.marks.set_capacity(at, old, new);
        self.changed = true;
    }

    /// Says that nothing below a level has changed.
    fn begin_from(&mut self, level: u64) {
        self.from = self.from.min(level);
        self.marks.forget_above(self.from);
    }

    /// How a flow was fixed; nothing for one that is new, or that no link holds back.
    fn event(&self, seat: u32) -> Option<&Event> {
        let event = self.fixed_by[seat as usize];
        (event < FREE).then(|| &self.events[event as usize])
    }

    /// The rate of a flow, rounded down to whole bits per second; zero before the first
    /// [`settle`](Self::settle), without end for a flow without links.
    pub fn rate(&self, slot: Slot) -> Rate {
        let seat = self.seats[slot.index()];
        if self.fixed_by[seat as usize] == NEW {
            return Rate::ZERO;
        }
        let weight = u128::from(self.records.weight(seat as usize));
        let exact = self.event(seat).map(|event| weight * u128::from(event.level));
        exact.map_or(Rate::MAX, |exact| Rate::bps((exact >> FINE) as u64))
    }

    /// The full link that keeps a flow at its rate.
    pub fn held_by(&self, slot: Slot) -> Option<LinkId> {
        self.event(self.seats[slot.index()]).map(|event| LinkId(event.link))
    }

    /// How many flows cross a link.
    pub fn flows_on(&self, link: LinkId) -> usize {
        self.members[link.index()].len()
    }

    /// How many flows there are.
    pub fn len(&self) -> usize {
        self.fixed_by.len() - self.free.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Finds the rates after what was added and removed since the last time. Says of how many flows
    /// the rates were found anew.
    pub fn settle(&mut self) -> usize {
        if !std::mem::take(&mut self.changed) {
            return 0;
        }
        let added = std::mem::take(&mut self.added);
        if self.events.is_empty() {
            self.from = 0;
        } else {
            let mut touched = Vec::new();
            for seat in &added {
                self.records.each_link(*seat as usize, |link| touched.push(link as usize));
            }
            touched.sort_unstable();
            touched.dedup();
            let lowest = touched.into_iter().filter_map(|link| self.full_at(link)).min();
            self.from = self.from.min(lowest.unwrap_or(OPEN));
        }
        let from = std::mem::replace(&mut self.from, OPEN);
        self.return_to(from);
        let again = self.fill();
        // Flows without links never meet a full one.
        for seat in &added {
            let event = &mut self.fixed_by[*seat as usize];
            *event = if *event == NEW { FREE } else { *event };
        }
        self.seat_in_order(added.len());
        again
    }

    /// The level at which a link is full, while flows that are fixed lower stay there and all
    /// others, fixed higher or new, rise together.
    fn full_at(&self, link: usize) -> Option<u64> {
        // CORRECTNESS: before settling, levels from `from` on are those of before the changes. Flows that
        // have them are above any answer below `from`, and other answers do not matter.
        let level_and_weight = |seat: &u32| {
            let level = self.event(*seat).map_or(OPEN, |event| event.level);
            (level, u128::from(self.records.weight(*seat as usize)))
        };
        let mut flows: Vec<_> = self.members[link].iter().map(level_and_weight).collect();
        flows.sort_unstable();
        let mut weight: u128 = u128::from(self.weights[link]);
        let mut left = self.capacity[link];
        for (level, own) in flows {
            let full = whole_level(left, weight);
            if full <= level {
                return Some(full);
            }
            left -= own * u128::from(level);
            weight -= own;
        }
        None
    }
}
