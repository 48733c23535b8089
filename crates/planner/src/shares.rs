//! Weighted max-min shares, exact, kept up to date while flows come and go.
//!
//! Progressive filling: the level λ of all flows rises, a flow of weight w sends w·λ, and when a
//! link is full its flows stay at the level they have. Everything is whole numbers: rates in units
//! of 2⁻³² bit/s, weights in units of 2⁻²⁰, and the level at which a link is full is
//! ⌊left / weight⌋ of those. All links that are full at one level are found before their flows are
//! fixed, so the result does not depend on any order, and sums never exceed a capacity.
//!
//! A change at level λ leaves everything below λ as it is: filling would go the same way up to
//! there. So an arrival or departure takes back the flows above and fills again from λ; sums of
//! whole numbers can be taken back exactly. How the flows above were fixed is kept in a trail that
//! is read from front to back: with 100,000 flows, waiting for memory is what takes time.

mod records;

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
    ops::Range,
};

use laxity_interface::Rate;
use laxity_topology::LinkId;

use crate::weight::Weight;
use records::Records;

/// Rates are counted in 2⁻³² bit/s.
const FINE: u32 = 32;
/// The level of a flow that is not fixed yet. Levels stay below.
const OPEN: u64 = u64::MAX;
/// The place of a flow that has not been fixed yet.
const NOWHERE: u32 = u32::MAX;

/// A flow in [`FairShares`]; its number may be used again after it is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);

impl Slot {
    /// As a position in a vector: slots are dense.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug, Clone, Copy)]
struct LinkState {
    /// Capacity less what fixed flows take.
    left: u128,
    /// The weights of open flows.
    open: u64,
    /// The weights of all flows.
    all: u64,
}

impl LinkState {
    /// The level at which it is full.
    fn level(&self) -> u64 {
        whole_level(self.left, self.open.into())
    }
}

/// A level that has an end even where a tiny weight meets a huge link.
fn whole_level(left: u128, weight: u128) -> u64 {
    u64::try_from(left / weight).unwrap_or(OPEN).min(OPEN - 1)
}

/// One entry of the trail: a flow that was fixed.
#[derive(Debug, Clone, Copy)]
struct Fixed {
    slot: u32,
    /// The link that was full.
    held_by: u32,
    level: u64,
    /// Whether it has been removed since.
    gone: bool,
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
    links: Vec<LinkState>,
    /// The live flows of each link.
    members: Vec<Vec<u32>>,
    /// Of each slot: where in the trail it is fixed, or while it is open, where in `taken_back`.
    places: Vec<u32>,
    live: Vec<bool>,
    /// A bit for each slot whose flow is not fixed.
    open: Vec<u64>,
    /// Weights and links of flows, by slot.
    records: Records,
    free: Vec<u32>,
    /// Fixed flows by rising level.
    trail: Vec<Fixed>,
    /// Their weights and links, in the same order.
    trail_records: Records,
    /// Records of flows that were fixed and are open again, in the order of the trail: they will be
    /// fixed in nearly that order again, so the next record to read lies beside the last.
    taken_back: Records,
    added: Vec<u32>,
    /// The lowest level at which something was taken away.
    from: u64,
    changed: bool,
}

impl FairShares {
    /// Links without flows.
    pub fn new(capacity: &[Rate]) -> Self {
        let capacity: Vec<_> = capacity.iter().map(|c| u128::from(c.as_bps()) << FINE).collect();
        let links =
            capacity.iter().map(|left| LinkState { left: *left, open: 0, all: 0 }).collect();
        Self {
            members: vec![Vec::new(); capacity.len()],
            links,
            capacity,
            places: Vec::new(),
            live: Vec::new(),
            open: Vec::new(),
            records: Records::default(),
            free: Vec::new(),
            trail: Vec::new(),
            trail_records: Records::default(),
            taken_back: Records::default(),
            added: Vec::new(),
            from: OPEN,
            changed: false,
        }
    }

    /// Adds a flow over these links; its rate is known after [`settle`](Self::settle).
    ///
    /// Panics on a link that is not there. A link that is named twice counts once.
    pub fn add(&mut self, path: &[LinkId], weight: Weight) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.places.push(NOWHERE);
            self.live.push(false);
            self.open.resize(self.live.len().div_ceil(64), 0);
            self.live.len() as u32 - 1
        });
        let at = slot as usize;
        let weight = weight.units();
        self.trail_records.widen(path.len());
        self.taken_back.widen(path.len());
        self.records.set(at, weight, path);
        (self.places[at], self.live[at]) = (NOWHERE, true);
        self.open[at / 64] |= 1 << (at % 64);
        for link in self.records.links(at) {
            assert!((*link as usize) < self.links.len(), "link {link} is not there");
            self.members[*link as usize].push(slot);
            self.links[*link as usize].open += weight;
            self.links[*link as usize].all += weight;
        }
        self.added.push(slot);
        self.changed = true;
        Slot(slot)
    }

    /// Takes a flow away; the others have their new rates after [`settle`](Self::settle).
    ///
    /// Panics on a flow that is not there.
    pub fn remove(&mut self, slot: Slot) {
        let at = slot.index();
        assert!(std::mem::take(&mut self.live[at]), "flow {slot:?} is not there");
        let weight = self.records.weight(at);
        let fixed = self.fixed(slot.0).copied();
        for link in self.records.links(at) {
            let members = &mut self.members[*link as usize];
            let place = members.iter().position(|m| *m == slot.0).expect("a member of its links");
            members.swap_remove(place);
            let link = &mut self.links[*link as usize];
            link.all -= weight;
            match fixed {
                Some(fixed) => link.left += u128::from(weight) * u128::from(fixed.level),
                None => link.open -= weight,
            }
        }
        self.open[at / 64] &= !(1 << (at % 64));
        if let Some(fixed) = fixed {
            self.trail[self.places[at] as usize].gone = true;
            self.from = self.from.min(fixed.level);
        }
        self.added.retain(|added| *added != slot.0);
        self.free.push(slot.0);
        self.changed = true;
    }

    /// Gives a link another capacity.
    pub fn set_capacity(&mut self, link: LinkId, capacity: Rate) {
        let new = u128::from(capacity.as_bps()) << FINE;
        let at = link.index();
        // A flow below the level at which the link is full, before and after, does not notice.
        let before = self.full_at(at);
        self.capacity[at] = new;
        let after = self.full_at(at);
        self.from = self.from.min(before.unwrap_or(OPEN)).min(after.unwrap_or(OPEN));
        self.rewind();
        // CORRECTNESS: what is still fixed lies below the new level, so it fits.
        self.links[at].left = new - self.taken(at);
        self.changed = true;
    }

    /// What fixed flows take of a link.
    fn taken(&self, link: usize) -> u128 {
        let fixed = self.members[link].iter().filter_map(|slot| self.fixed(*slot));
        let weight = |slot: u32| u128::from(self.records.weight(slot as usize));
        fixed.map(|fixed| weight(fixed.slot) * u128::from(fixed.level)).sum()
    }

    /// How a flow was fixed; nothing for one that is open, or that no link holds back.
    fn fixed(&self, slot: u32) -> Option<&Fixed> {
        let place = self.places[slot as usize];
        if self.is_open(slot) || place == NOWHERE {
            return None;
        }
        Some(&self.trail[place as usize])
    }

    fn is_open(&self, slot: u32) -> bool {
        self.open[slot as usize / 64] >> (slot % 64) & 1 == 1
    }

    /// The rate of a flow, rounded down to whole bits per second; zero before the first
    /// [`settle`](Self::settle), without end for a flow without links.
    pub fn rate(&self, slot: Slot) -> Rate {
        if self.is_open(slot.0) {
            return Rate::ZERO;
        }
        let weight = u128::from(self.records.weight(slot.index()));
        let exact = self.fixed(slot.0).map(|fixed| weight * u128::from(fixed.level));
        exact.map_or(Rate::MAX, |exact| Rate::bps((exact >> FINE) as u64))
    }

    /// The full link that keeps a flow at its rate.
    pub fn held_by(&self, slot: Slot) -> Option<LinkId> {
        self.fixed(slot.0).map(|fixed| LinkId(fixed.held_by))
    }

    /// How many flows cross a link.
    pub fn flows_on(&self, link: LinkId) -> usize {
        self.members[link.index()].len()
    }

    /// How many flows there are.
    pub fn len(&self) -> usize {
        self.live.len() - self.free.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Finds the rates after what was added and removed since the last time. Says how many flows
    /// were looked at again.
    pub fn settle(&mut self) -> usize {
        if !std::mem::take(&mut self.changed) {
            return 0;
        }
        let added = std::mem::take(&mut self.added);
        if self.trail.is_empty() {
            self.from = 0;
        } else {
            let links = added.iter().flat_map(|slot| self.records.links(*slot as usize));
            let mut touched: Vec<_> = links.map(|link| *link as usize).collect();
            touched.sort_unstable();
            touched.dedup();
            let lowest = touched.into_iter().filter_map(|link| self.full_at(link)).min();
            self.from = self.from.min(lowest.unwrap_or(OPEN));
        }
        self.rewind();
        let kept = self.trail.len();
        self.from = OPEN;
        self.fill();
        self.taken_back.truncate(0);
        // Flows without links never meet a full one.
        for slot in added {
            self.open[slot as usize / 64] &= !(1 << (slot % 64));
        }
        self.trail.len() - kept
    }

    /// The level at which a link is full, while flows that are fixed lower stay there and all
    /// others, fixed higher or open, rise together.
    fn full_at(&self, link: usize) -> Option<u64> {
        let level_and_weight = |slot: &u32| {
            let level = self.fixed(*slot).map_or(OPEN, |fixed| fixed.level);
            (level, u128::from(self.records.weight(*slot as usize)))
        };
        let mut flows: Vec<_> = self.members[link].iter().map(level_and_weight).collect();
        flows.sort_unstable();
        let mut weight: u128 = flows.iter().map(|(_, w)| w).sum();
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

    /// Opens all flows at `from` and above.
    fn rewind(&mut self) {
        let from = self.from;
        let keep = self.trail.partition_point(|fixed| fixed.level < from);
        let most = keep < self.trail.len() / 2;
        // Where the records of the trail begin in what is taken back. If that is most of it, the rest is
        // copied instead.
        let start = if most && self.taken_back.is_empty() {
            std::mem::swap(&mut self.taken_back, &mut self.trail_records);
            self.trail_records.append_first(&self.taken_back, keep);
            0
        } else {
            self.taken_back.append_tail(&self.trail_records, keep) as isize - keep as isize
        };
        for (at, fixed) in self.trail.iter().enumerate().skip(keep) {
            if !fixed.gone {
                self.places[fixed.slot as usize] = (start + at as isize) as u32;
                self.open[fixed.slot as usize / 64] |= 1 << (fixed.slot % 64);
            }
        }
        // Sums are exact, so links can be counted from either end: what is taken back, or what is kept.
        if most {
            for (link, capacity) in self.links.iter_mut().zip(&self.capacity) {
                (link.left, link.open) = (*capacity, link.all);
            }
            self.count(0..keep, |link, taken, weight| {
                link.left -= taken;
                link.open -= weight;
            });
        } else {
            self.count(keep..self.trail.len(), |link, taken, weight| {
                link.left += taken;
                link.open += weight;
            });
        }
        self.trail.truncate(keep);
        self.trail_records.truncate(keep);
    }

    /// Applies what flows of a part of the trail take to each of their links.
    fn count(&mut self, part: Range<usize>, apply: impl Fn(&mut LinkState, u128, u64)) {
        for at in part {
            let fixed = &self.trail[at];
            if fixed.gone {
                continue;
            }
            let weight = self.trail_records.weight(at);
            let taken = u128::from(weight) * u128::from(fixed.level);
            for link in self.trail_records.links(at) {
                apply(&mut self.links[*link as usize], taken, weight);
            }
        }
    }

    /// Fixes all open flows.
    fn fill(&mut self) {
        let busy = self.links.iter().enumerate().filter(|(_, link)| link.open > 0);
        let entries = busy.map(|(at, link)| Reverse((link.level(), at as u32)));
        let mut heap: BinaryHeap<_> = entries.collect();
        let mut full = Vec::new();
        while let Some(Reverse((lowest, _))) = heap.peek() {
            // Levels in the heap may be too low, never too high: fixing a flow at a level below a
            // link's own raises the link's.
            let now = *lowest;
            full.clear();
            while let Some(mut top) = heap.peek_mut() {
                let Reverse((key, at)) = *top;
                if key > now {
                    break;
                }
                let link = &self.links[at as usize];
                if link.open > 0 && link.level() > now {
                    *top = Reverse((link.level(), at));
                    continue;
                }
                if link.open > 0 {
                    full.push(at);
                }
                PeekMut::pop(top);
            }
            for at in &full {
                self.fix(*at, now);
            }
        }
    }

    /// Fixes the open flows of a full link.
    ///
    /// In three passes, so that the memory accesses of many flows are under way at once.
    fn fix(&mut self, link: u32, level: u64) {
        let first = self.trail.len();
        for slot in &self.members[link as usize] {
            let at = *slot as usize;
            let (word, bit) = (&mut self.open[at / 64], 1 << (at % 64));
            if *word & bit != 0 {
                *word &= !bit;
                self.trail.push(Fixed { slot: *slot, held_by: link, level, gone: false });
            }
        }
        for (at, fixed) in self.trail.iter().enumerate().skip(first) {
            let place = std::mem::replace(&mut self.places[fixed.slot as usize], at as u32);
            match place {
                NOWHERE => self.trail_records.push_from(&self.records, fixed.slot as usize),
                place => self.trail_records.push_from(&self.taken_back, place as usize),
            }
        }
        for at in first..self.trail.len() {
            let weight = self.trail_records.weight(at);
            let taken = u128::from(weight) * u128::from(level);
            for other in self.trail_records.links(at) {
                let other = &mut self.links[*other as usize];
                other.left -= taken;
                other.open -= weight;
            }
        }
    }
}
