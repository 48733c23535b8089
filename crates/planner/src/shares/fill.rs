//! Fixing flows, link by link as they are full.

use super::{
    Event, FairShares,
    marks::{LinkState, Marks},
};

impl FairShares {
    /// Makes everything as it was when all flows below a level were fixed, and no other.
    pub(super) fn return_to(&mut self, level: u64) {
        self.marks.forget_above(level);
        let mut first = 0;
        match self.marks.last() {
            Some(mark) => {
                self.links.clone_from(&mark.links);
                self.open.clone_from(&mark.open);
                first = mark.events;
            }
            None => {
                let links = self.capacity.iter().zip(&self.weights);
                self.links.clear();
                self.links.extend(links.map(|(left, open)| LinkState { left: *left, open: *open }));
                self.open.clone_from(&self.live);
            }
        }
        let keep = self.events.partition_point(|event| event.level < level);
        for at in first..keep {
            self.fix(at);
        }
        self.events.truncate(keep);
    }

    /// Fixes all open flows; says how many.
    pub(super) fn fill(&mut self) -> usize {
        self.queue.reset(self.links.len());
        for (at, link) in self.links.iter().enumerate() {
            if let Some(level) = link.level() {
                self.queue.put(at as u32, level);
            }
        }
        let apart = Marks::apart(self.len());
        let (mut fixed, mut marked) = (0, 0);
        let mut full = Vec::new();
        while let Some(level) = self.queue.take(&mut full, |link| self.links[link as usize].level())
        {
            if fixed - marked >= apart {
                self.marks.push(level, self.events.len(), &self.links, &self.open);
                marked = fixed;
            }
            for link in &full {
                let event = self.events.len();
                self.events.push(Event { level, link: *link });
                fixed += self.fix(event);
            }
        }
        fixed
    }

    /// Fixes the open flows of the full link of an event; says how many.
    ///
    /// In three passes, so that the memory accesses of many flows are under way at once.
    fn fix(&mut self, event: usize) -> usize {
        let Event { level, link } = self.events[event];
        let members = &self.members[link as usize];
        if self.picked.len() < members.len() {
            self.picked.resize(members.len(), (0, 0));
        }
        // Without a branch: whether a flow is still open cannot be foreseen.
        let mut count = 0;
        for seat in members {
            let (word, bit) = (&mut self.open[*seat as usize / 64], seat % 64);
            self.picked[count].0 = *seat;
            count += (*word >> bit & 1) as usize;
            *word &= !(1 << bit);
        }
        let picked = &mut self.picked[..count];
        for (seat, weight) in picked.iter_mut() {
            *weight = self.records.weight(*seat as usize);
            self.fixed_by[*seat as usize] = event as u32;
        }
        for (seat, weight) in picked {
            let taken = u128::from(*weight) * u128::from(level);
            self.records.each_link(*seat as usize, |other| {
                let other = &mut self.links[other as usize];
                other.left -= taken;
                other.open -= *weight;
            });
        }
        count
    }
}
