//! Weighted max-min shares, exact, kept up to date while flows come and go.
//!
//! Progressive filling: the level λ of all flows rises, a flow of weight w sends w·λ, and when a
//! link is full its flows stay at the level they have. Everything is whole numbers: rates in units
//! of 2⁻⁴⁰ bit/s, weights in units of 2⁻²⁰, and the level at which a link is full is
//! ⌊left / weight⌋ of those. All links that are full at one level are found before their flows are
//! fixed, so the result does not depend on any order, and sums never exceed a capacity.
//!
//! A change at level λ leaves everything below λ as it is: filling would go the same way up to
//! there. So an arrival or departure takes back the flows above and fills again from λ; sums of
//! whole numbers can be taken back exactly.

use std::{cmp::Reverse, collections::BinaryHeap};

use laxity_interface::Rate;
use laxity_topology::LinkId;

use crate::weight::Weight;

/// Rates are counted in 2⁻⁴⁰ bit/s.
const FINE: u32 = 40;
/// The level of a flow that is not fixed yet.
const OPEN: u128 = u128::MAX;
/// The link of a flow that nothing holds back.
const NO_LINK: u32 = u32::MAX;

/// A flow in [`FairShares`]; its number may be used again after it is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);

impl Slot {
    /// As a position in a vector: slots are dense.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug, Clone)]
struct Share {
    level: u128,
    weight: u64,
    /// Its links are `paths[start..start + length]`.
    start: u32,
    length: u32,
    /// The link that was full when it was fixed.
    held_by: u32,
    live: bool,
}

#[derive(Debug, Clone, Copy)]
struct LinkState {
    /// Capacity less what fixed flows take.
    left: u128,
    /// The weights of open flows.
    open: u64,
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
    flows: Vec<Share>,
    free: Vec<u32>,
    paths: Vec<u32>,
    /// Links in `paths` that belong to nobody.
    waste: usize,
    /// Fixed flows by rising level; some may have been removed.
    order: Vec<u32>,
    added: Vec<u32>,
    /// The lowest level at which something was taken away.
    from: u128,
    changed: bool,
}

impl FairShares {
    /// Links without flows.
    pub fn new(capacity: &[Rate]) -> Self {
        let capacity: Vec<_> = capacity.iter().map(|c| u128::from(c.as_bps()) << FINE).collect();
        let links = capacity.iter().map(|left| LinkState { left: *left, open: 0 }).collect();
        Self {
            members: vec![Vec::new(); capacity.len()],
            links,
            capacity,
            flows: Vec::new(),
            free: Vec::new(),
            paths: Vec::new(),
            waste: 0,
            order: Vec::new(),
            added: Vec::new(),
            from: OPEN,
            changed: false,
        }
    }

    /// Adds a flow over these links; its rate is known after [`settle`](Self::settle).
    ///
    /// Panics on a link that is not there. A link that is named twice counts once.
    pub fn add(&mut self, path: &[LinkId], weight: Weight) -> Slot {
        let start = self.paths.len();
        for link in path {
            assert!(link.index() < self.links.len(), "link {link} is not there");
            if !self.paths[start..].contains(&link.0) {
                self.paths.push(link.0);
            }
        }
        let length = self.paths.len() - start;
        let (level, weight) = (OPEN, weight.units());
        let (start, length) = (start as u32, length as u32);
        let share = Share { level, weight, start, length, held_by: NO_LINK, live: true };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.flows[slot as usize] = share;
                slot
            }
            None => {
                self.flows.push(share);
                self.flows.len() as u32 - 1
            }
        };
        for at in start..start + length {
            let link = self.paths[at as usize] as usize;
            self.members[link].push(slot);
            self.links[link].open += weight;
        }
        self.added.push(slot);
        self.changed = true;
        Slot(slot)
    }

    /// Takes a flow away; the others have their new rates after [`settle`](Self::settle).
    ///
    /// Panics on a flow that is not there.
    pub fn remove(&mut self, slot: Slot) {
        let share = self.flows[slot.index()].clone();
        assert!(share.live, "flow {slot:?} is not there");
        for at in share.start..share.start + share.length {
            let link = self.paths[at as usize] as usize;
            let members = &mut self.members[link];
            let place = members.iter().position(|m| *m == slot.0).expect("a member of its links");
            members.swap_remove(place);
            if share.level == OPEN {
                self.links[link].open -= share.weight;
            } else {
                self.links[link].left += u128::from(share.weight) * share.level;
            }
        }
        if share.level == OPEN {
            self.added.retain(|added| *added != slot.0);
            self.free.push(slot.0);
        } else {
            // Its number stays in `order`, above `from`, until flows are fixed again.
            self.from = self.from.min(share.level);
        }
        self.flows[slot.index()].live = false;
        self.waste += share.length as usize;
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
        let fixed = self.members[link].iter().map(|m| &self.flows[*m as usize]);
        fixed.filter(|f| f.level != OPEN).map(|f| u128::from(f.weight) * f.level).sum()
    }

    /// The rate of a flow, rounded down to whole bits per second; zero before the first
    /// [`settle`](Self::settle).
    pub fn rate(&self, slot: Slot) -> Rate {
        let share = &self.flows[slot.index()];
        match share.level {
            OPEN => Rate::ZERO,
            // A flow without links is not held back by anything.
            _ if share.length == 0 => Rate::MAX,
            level => Rate::bps(((u128::from(share.weight) * level) >> FINE) as u64),
        }
    }

    /// The full link that keeps a flow at its rate.
    pub fn held_by(&self, slot: Slot) -> Option<LinkId> {
        let link = self.flows[slot.index()].held_by;
        (link != NO_LINK).then_some(LinkId(link))
    }

    /// How many flows cross a link.
    pub fn flows_on(&self, link: LinkId) -> usize {
        self.members[link.index()].len()
    }

    /// How many flows there are.
    pub fn len(&self) -> usize {
        self.flows.iter().filter(|flow| flow.live).count()
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
        let mut touched: Vec<usize> = Vec::new();
        for slot in &added {
            touched.extend(self.links_of(*slot));
        }
        if self.order.is_empty() {
            self.from = 0;
        } else {
            touched.sort_unstable();
            touched.dedup();
            for link in touched {
                self.from = self.from.min(self.full_at(link).unwrap_or(OPEN));
            }
        }
        let open = self.rewind() + added.len();
        self.from = OPEN;
        self.fill();
        // Flows without links never meet a full one.
        for slot in added {
            if self.flows[slot as usize].length == 0 {
                self.flows[slot as usize].level = 0;
            }
        }
        self.tidy();
        open
    }

    fn links_of(&self, slot: u32) -> impl Iterator<Item = usize> + use<'_> {
        let share = &self.flows[slot as usize];
        let path = &self.paths[share.start as usize..(share.start + share.length) as usize];
        path.iter().map(|link| *link as usize)
    }

    /// The level at which a link is full, while flows that are fixed lower stay there and all
    /// others, fixed higher or open, rise together.
    fn full_at(&self, link: usize) -> Option<u128> {
        let level_and_weight = |slot: &u32| {
            let flow = &self.flows[*slot as usize];
            (flow.level, u128::from(flow.weight))
        };
        let mut flows: Vec<_> = self.members[link].iter().map(level_and_weight).collect();
        flows.sort_unstable();
        let mut weight: u128 = flows.iter().map(|(_, w)| w).sum();
        let mut left = self.capacity[link];
        for (level, own) in flows {
            let full = left / weight;
            if full <= level {
                return Some(full);
            }
            left -= own * level;
            weight -= own;
        }
        None
    }

    /// Opens all flows at `from` and above; says how many.
    fn rewind(&mut self) -> usize {
        let from = self.from;
        let flows = &self.flows;
        let keep = self.order.partition_point(|slot| flows[*slot as usize].level < from);
        let mut count = 0;
        for at in keep..self.order.len() {
            let slot = self.order[at];
            let share = &mut self.flows[slot as usize];
            if !share.live {
                self.free.push(slot);
                continue;
            }
            let (weight, level) = (share.weight, std::mem::replace(&mut share.level, OPEN));
            let taken = u128::from(weight) * level;
            let path = share.start as usize..(share.start + share.length) as usize;
            for link in &self.paths[path] {
                let link = &mut self.links[*link as usize];
                link.left += taken;
                link.open += weight;
            }
            count += 1;
        }
        self.order.truncate(keep);
        count
    }

    /// Fixes all open flows.
    fn fill(&mut self) {
        let level = |link: &LinkState| link.left / u128::from(link.open);
        let busy = self.links.iter().enumerate().filter(|(_, link)| link.open > 0);
        let entries = busy.map(|(at, link)| Reverse((level(link), at as u32)));
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
                let true_level = if link.open == 0 { OPEN } else { level(link) };
                if true_level == OPEN {
                    std::collections::binary_heap::PeekMut::pop(top);
                } else if true_level > now {
                    *top = Reverse((true_level, at));
                } else {
                    full.push(at);
                    std::collections::binary_heap::PeekMut::pop(top);
                }
            }
            for at in &full {
                self.fix(*at, now);
            }
        }
    }

    /// Fixes the open flows of a full link.
    fn fix(&mut self, link: u32, level: u128) {
        for slot in &self.members[link as usize] {
            let share = &mut self.flows[*slot as usize];
            if share.level != OPEN {
                continue;
            }
            (share.level, share.held_by) = (level, link);
            self.order.push(*slot);
            let taken = u128::from(share.weight) * level;
            let path = share.start as usize..(share.start + share.length) as usize;
            for other in &self.paths[path] {
                let other = &mut self.links[*other as usize];
                other.left -= taken;
                other.open -= share.weight;
            }
        }
    }

    /// Throws away the paths of flows that are gone once they are the larger part.
    fn tidy(&mut self) {
        if self.waste < 1024 || self.waste < self.paths.len() / 2 {
            return;
        }
        let mut paths = Vec::with_capacity(self.paths.len() - self.waste);
        for share in self.flows.iter_mut().filter(|share| share.live) {
            let old = share.start as usize..(share.start + share.length) as usize;
            share.start = paths.len() as u32;
            paths.extend_from_slice(&self.paths[old]);
        }
        (self.paths, self.waste) = (paths, 0);
    }
}
