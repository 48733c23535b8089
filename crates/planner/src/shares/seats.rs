//! Where in memory a flow lies.
//!
//! Flows are fixed in nearly the same order after each change. If they lie in this order, the next one to
//! fix is beside the last, and filling does not wait for memory. So a flow's slot, which the caller knows, is
//! not its seat, and seats are given anew when half of the flows are strangers among the others.

use super::{FairShares, marks::Marks};

impl FairShares {
    /// Seats flows in the order in which they were fixed, if this is worth its time.
    pub(super) fn seat_in_order(&mut self, new: usize) {
        self.strangers += new;
        if self.len() < Marks::APART || 2 * self.strangers < self.len() {
            return;
        }
        self.strangers = 0;
        let order = self.order_of_fixing();
        let mut new_seat = vec![0; order.len()];
        for (seat, old) in order.iter().enumerate() {
            new_seat[*old as usize] = seat as u32;
        }
        for seat in &mut self.seats {
            *seat = new_seat[*seat as usize];
        }
        self.fixed_by = order.iter().map(|old| self.fixed_by[*old as usize]).collect();
        self.records.reorder(&order);
        let live = self.len();
        self.live.fill(0);
        self.members.iter_mut().for_each(Vec::clear);
        for seat in 0..live {
            self.live[seat / 64] |= 1 << (seat % 64);
            let members = &mut self.members;
            self.records.each_link(seat, |link| members[link as usize].push(seat as u32));
        }
        self.marks.reseat(&self.fixed_by[..live]);
    }

    /// Old seats: flows by the event that fixed them, flows without links, and then nobody's.
    fn order_of_fixing(&self) -> Vec<u32> {
        let (free, nobody) = (self.events.len(), self.events.len() + 1);
        let group = |seat: usize| match self.live[seat / 64] >> (seat % 64) & 1 {
            1 => (self.fixed_by[seat] as usize).min(free),
            _ => nobody,
        };
        let mut next = vec![0; nobody + 2];
        (0..self.fixed_by.len()).for_each(|seat| next[group(seat) + 1] += 1);
        for at in 1..next.len() {
            next[at] += next[at - 1];
        }
        let mut order = vec![0; self.fixed_by.len()];
        for seat in 0..self.fixed_by.len() {
            let place = &mut next[group(seat)];
            order[*place] = seat as u32;
            *place += 1;
        }
        order
    }
}
