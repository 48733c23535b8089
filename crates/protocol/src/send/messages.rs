//! Separate messages, of one or more packets each.

use std::collections::BTreeSet;

use laxity_interface::GroupId;

use super::{
    MessageOrder,
    pool::{Body, PieceState},
};
use crate::{
    slack::{Budget, LaneKind},
    wire::Runs,
};

#[derive(Clone, Debug)]
struct Message {
    group: u8,
    /// Number inside its group.
    index: u32,
    size: u64,
    first_piece: u32,
    pieces: u32,
    /// Pieces that have not arrived.
    left: u32,
    /// Pieces that are on their way.
    out: u32,
    /// Pieces that got lost and were not sent again.
    lost: u32,
    /// Lost a piece that is to be sent again, and has not arrived yet.
    hit: bool,
    /// Where to look for the next piece to send.
    cursor: u32,
}

impl Message {
    /// Whether it was begun and may still arrive whole without anything being sent again.
    fn is_under_way(&self) -> bool {
        self.left > 0 && self.lost == 0 && (self.out > 0 || self.left < self.pieces)
    }

    /// Whether it is under way and not all of it was sent.
    fn is_partial(&self) -> bool {
        self.is_under_way() && self.left > self.out
    }
}

/// All messages of one job.
#[derive(Debug)]
pub(crate) struct MessagePool {
    piece_bytes: u64,
    order: MessageOrder,
    ids: Vec<GroupId>,
    lanes: Vec<LaneKind>,
    messages: Vec<Message>,
    states: Vec<PieceState>,
    /// Which message is which number of which group.
    by_group: Vec<Vec<u32>>,
    /// Messages with something to send, best first, per lane.
    ready: [BTreeSet<(u64, u32)>; 2],
    /// Messages that lost a piece and wait until the budget needs them, per group.
    damaged: Vec<BTreeSet<(u64, u32)>>,
    out: Vec<u64>,
    /// Messages that were begun and are whole so far, per group; and those of them that are not sent to
    /// the end, per lane.
    under_way: Vec<u64>,
    partial: [BTreeSet<u32>; 2],
    repeats: u64,
    /// Messages were announced that have not come.
    expecting: bool,
}

impl MessagePool {
    pub(crate) fn new(
        piece_bytes: u64,
        order: MessageOrder,
        ids: Vec<GroupId>,
        lanes: Vec<LaneKind>,
    ) -> Self {
        Self {
            piece_bytes,
            order,
            messages: Vec::new(),
            states: Vec::new(),
            by_group: vec![Vec::new(); ids.len()],
            ready: Default::default(),
            damaged: vec![BTreeSet::new(); ids.len()],
            out: vec![0; ids.len()],
            under_way: vec![0; ids.len()],
            partial: Default::default(),
            ids,
            lanes,
            repeats: 0,
            expecting: false,
        }
    }

    /// Messages were announced that have not come, or all of them have.
    pub(crate) fn expect(&mut self, more: bool) {
        self.expecting = more;
    }

    /// Whether messages were announced that have not come.
    pub(crate) fn is_expecting(&self) -> bool {
        self.expecting
    }

    /// Appends a message. An empty one still takes a packet.
    pub(crate) fn push(&mut self, group: usize, size: u64) {
        let number = self.messages.len() as u32;
        let pieces = size.div_ceil(self.piece_bytes).max(1) as u32;
        self.messages.push(Message {
            group: group as u8,
            index: self.by_group[group].len() as u32,
            size,
            first_piece: self.states.len() as u32,
            pieces,
            left: pieces,
            out: 0,
            lost: 0,
            hit: false,
            cursor: 0,
        });
        self.states.resize(self.states.len() + pieces as usize, PieceState::Fresh);
        self.by_group[group].push(number);
        let key = self.key(number);
        self.ready[self.lanes[group] as usize].insert(key);
    }

    /// Messages so far, per group.
    pub(crate) fn counts(&self) -> impl Iterator<Item = u64> {
        self.by_group.iter().map(|messages| messages.len() as u64)
    }

    /// Packets so far.
    pub(crate) fn pieces(&self) -> u64 {
        self.states.len() as u64
    }

    /// Payload bytes so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.messages.iter().map(|message| message.size).sum()
    }

    /// Place in the order of sending: remaining bytes first, except where order was promised.
    fn key(&self, number: u32) -> (u64, u32) {
        let message = &self.messages[number as usize];
        match (self.order, self.lanes[usize::from(message.group)]) {
            (
                MessageOrder::FewestRemaining | MessageOrder::FewestRemainingOfAll,
                LaneKind::Slack,
            ) => (u64::from(message.left) * self.piece_bytes.min(message.size.max(1)), number),
            _ => (0, number),
        }
    }

    pub(crate) fn take(
        &mut self,
        lane: LaneKind,
        expected: &[u64],
        budgets: &mut [Budget],
    ) -> Option<u32> {
        for group in 0..self.ids.len() {
            if self.lanes[group] != lane || !self.repairs_now(lane) {
                continue;
            }
            while self.wants_repair(group, expected, budgets) {
                let Some((_, number)) = self.damaged[group].pop_first() else { break };
                budgets[group].damaged -= 1;
                self.revive(number);
            }
        }
        let &key = self.ready[lane as usize].first()?;
        Some(self.take_from(key, lane))
    }

    /// Has the damaged message repaired that needs least, if that is less than any other needs: who ends
    /// with enough of them need not begin a new one.
    pub(crate) fn repair_cheapest(&mut self, lane: LaneKind, budgets: &mut [Budget]) {
        let groups = (0..self.ids.len()).filter(|group| self.lanes[*group] == lane);
        let least = |group: usize| self.damaged[group].first().map(|(left, _)| (*left, group));
        let Some((left, group)) = groups.filter_map(least).min() else { return };
        if self.ready[lane as usize].first().is_some_and(|(fresh, _)| left < *fresh)
            && let Some((_, number)) = self.damaged[group].pop_first()
        {
            budgets[group].damaged -= 1;
            self.revive(number);
        }
    }

    /// Like [`take`](Self::take), but only of messages that were begun.
    pub(crate) fn take_partial(&mut self, lane: LaneKind) -> Option<u32> {
        let &number = self.partial[lane as usize].first()?;
        Some(self.take_from(self.key(number), lane))
    }

    fn take_from(&mut self, key: (u64, u32), lane: LaneKind) -> u32 {
        let number = key.1;
        let piece = self.next_piece(number).expect("ready messages have a piece to send");
        self.change(number, |message, states| {
            states[piece as usize] = PieceState::Out;
            message.out += 1;
        });
        self.out[usize::from(self.messages[number as usize].group)] += 1;
        if self.next_piece(number).is_none() {
            self.ready[lane as usize].remove(&key);
        }
        piece
    }

    /// Changes a message and keeps the books on what is under way.
    fn change(&mut self, number: u32, change: impl FnOnce(&mut Message, &mut [PieceState])) {
        let message = &mut self.messages[number as usize];
        let group = usize::from(message.group);
        let before = message.is_under_way();
        change(message, &mut self.states);
        match (before, message.is_under_way()) {
            (false, true) => self.under_way[group] += 1,
            (true, false) => self.under_way[group] -= 1,
            _ => {}
        }
        let partial = &mut self.partial[self.lanes[group] as usize];
        if message.is_partial() {
            partial.insert(number);
        } else {
            partial.remove(&number);
        }
    }

    /// Messages of a group that were begun and may arrive without more being sent again.
    pub(crate) fn under_way(&self, group: usize) -> u64 {
        self.under_way[group]
    }

    /// Whether a message was begun and not sent to its end.
    pub(crate) fn has_partial(&self, lane: LaneKind) -> bool {
        !self.partial[lane as usize].is_empty()
    }

    /// Puts a damaged message's lost pieces back among those to send.
    fn revive(&mut self, number: u32) {
        self.repeats += u64::from(self.messages[number as usize].lost);
        self.change(number, |message, states| {
            message.lost = 0;
            message.cursor = 0;
            let first = message.first_piece as usize;
            for state in &mut states[first..first + message.pieces as usize] {
                if *state == PieceState::Lost {
                    *state = PieceState::Fresh;
                }
            }
        });
        let lane = self.lanes[usize::from(self.messages[number as usize].group)];
        let key = self.key(number);
        self.ready[lane as usize].insert(key);
    }

    fn next_piece(&mut self, number: u32) -> Option<u32> {
        let message = &mut self.messages[number as usize];
        while message.cursor < message.pieces {
            let piece = message.first_piece + message.cursor;
            if self.states[piece as usize] == PieceState::Fresh {
                return Some(piece);
            }
            message.cursor += 1;
        }
        None
    }

    pub(crate) fn has(&self, lane: LaneKind, expected: &[u64], budgets: &[Budget]) -> bool {
        self.has_fresh(lane)
            || (0..self.ids.len()).any(|group| {
                self.lanes[group] == lane && self.wants_repair(group, expected, budgets)
            })
    }

    /// Whether damaged messages may be repaired at this point of the job.
    fn repairs_now(&self, lane: LaneKind) -> bool {
        self.order != MessageOrder::LostLast || !self.has_fresh(lane)
    }

    /// Whether a damaged message of a group has to be repaired.
    fn wants_repair(&self, group: usize, expected: &[u64], budgets: &[Budget]) -> bool {
        match self.order {
            MessageOrder::LostLast => !self.expecting && budgets[group].damaged > 0,
            // What was lost is among what is ready.
            _ if self.repeats_at_once(group) => false,
            // While the next message is awaited there is nothing else to do, and every message that
            // arrives now is one less to wait for.
            _ if self.expecting && !self.has_fresh(self.lanes[group]) => budgets[group].damaged > 0,
            _ => budgets[group].needed(expected[group]) > 0,
        }
    }

    /// Whether what a group loses is to be sent again at once, in the order of all.
    fn repeats_at_once(&self, group: usize) -> bool {
        self.order == MessageOrder::FewestRemainingOfAll && self.lanes[group] == LaneKind::Slack
    }

    pub(crate) fn has_fresh(&self, lane: LaneKind) -> bool {
        !self.ready[lane as usize].is_empty()
    }

    fn message_of(&self, piece: u32) -> u32 {
        self.messages.partition_point(|message| message.first_piece <= piece) as u32 - 1
    }

    pub(crate) fn acked(&mut self, piece: u32, budgets: &mut [Budget]) {
        let number = self.message_of(piece);
        let group = usize::from(self.messages[number as usize].group);
        let lane = self.lanes[group] as usize;
        let key = self.key(number);
        let was = self.states[piece as usize];
        if was == PieceState::Acked {
            return;
        }
        // Its place in the order is about to change.
        let queued = self.ready[lane].remove(&key);
        let damaged = self.damaged[group].remove(&key);
        self.change(number, |message, states| {
            states[piece as usize] = PieceState::Acked;
            message.left -= 1;
            message.out -= u32::from(was == PieceState::Out);
            message.lost -= u32::from(was == PieceState::Lost);
        });
        self.out[group] -= u64::from(was == PieceState::Out);
        let message = &mut self.messages[number as usize];
        let (left, lost) = (message.left, message.lost);
        budgets[group].acked += u64::from(left == 0);
        if left == 0 && std::mem::take(&mut message.hit) {
            budgets[group].damaged -= 1;
        }
        if damaged {
            budgets[group].damaged -= 1;
        }
        if left == 0 {
            return;
        }
        if damaged && lost > 0 {
            budgets[group].damaged += 1;
            let key = self.key(number);
            self.damaged[group].insert(key);
        } else if (queued || damaged) && self.next_piece(number).is_some() {
            let key = self.key(number);
            self.ready[lane].insert(key);
        }
    }

    pub(crate) fn lost(&mut self, piece: u32, budgets: &mut [Budget]) {
        if self.states[piece as usize] != PieceState::Out {
            return;
        }
        let number = self.message_of(piece);
        let group = usize::from(self.messages[number as usize].group);
        let key = self.key(number);
        if self.repeats_at_once(group) {
            self.give_back(piece);
            self.repeats += 1;
            if !std::mem::replace(&mut self.messages[number as usize].hit, true) {
                budgets[group].damaged += 1;
            }
            return;
        }
        self.ready[self.lanes[group] as usize].remove(&key);
        self.out[group] -= 1;
        self.change(number, |message, states| {
            states[piece as usize] = PieceState::Lost;
            message.out -= 1;
            message.lost += 1;
        });
        if self.messages[number as usize].lost == 1 {
            // Its other pieces are not worth sending unless the budget needs the message.
            budgets[group].damaged += 1;
            self.damaged[group].insert(key);
        }
    }

    pub(crate) fn give_back(&mut self, piece: u32) {
        if self.states[piece as usize] != PieceState::Out {
            return;
        }
        let number = self.message_of(piece);
        self.change(number, |message, states| {
            states[piece as usize] = PieceState::Fresh;
            message.out -= 1;
            message.cursor = 0;
        });
        let message = &self.messages[number as usize];
        let (group, damaged) = (usize::from(message.group), message.lost > 0);
        self.out[group] -= 1;
        // A damaged message waits until the budget needs it.
        if !damaged {
            let key = self.key(number);
            self.ready[self.lanes[group] as usize].insert(key);
        }
    }

    pub(crate) fn status(&mut self, space: u16, runs: &Runs, budgets: &mut [Budget]) {
        let group = usize::from(space);
        let Some(known) = self.by_group.get(group).map(|messages| messages.len() as u64) else {
            return;
        };
        let to = runs.to.min(known);
        let mut position = runs.from.min(to);
        for &(start, end) in runs.missing.iter().chain(&[(to, to)]) {
            for index in position..start.min(to) {
                self.settle(group, index, true, budgets);
            }
            for index in start.min(to)..end.min(to) {
                self.settle(group, index, false, budgets);
            }
            position = end.min(to);
        }
    }

    fn settle(&mut self, group: usize, index: u64, arrived: bool, budgets: &mut [Budget]) {
        let number = self.by_group[group][index as usize] as usize;
        let (first, pieces) = (self.messages[number].first_piece, self.messages[number].pieces);
        for piece in first..first + pieces {
            match self.states[piece as usize] {
                PieceState::Out if !arrived => self.lost(piece, budgets),
                PieceState::Out | PieceState::Lost if arrived => self.acked(piece, budgets),
                // It was lost, as far as anybody knew, and waits to be sent again.
                PieceState::Fresh if arrived && self.repeats_at_once(group) => {
                    self.acked(piece, budgets);
                }
                _ => {}
            }
        }
    }

    pub(crate) fn body(&self, piece: u32) -> Body {
        let number = self.message_of(piece);
        let message = &self.messages[number as usize];
        let offset = u64::from(piece - message.first_piece) * self.piece_bytes;
        Body {
            group: usize::from(message.group),
            group_id: self.ids[usize::from(message.group)],
            index: u64::from(message.index),
            message: u64::from(number),
            length: message.size,
            offset,
            bytes: self.piece_bytes.min(message.size - offset) as usize,
        }
    }

    pub(crate) fn repeats(&self) -> u64 {
        self.repeats
    }

    pub(crate) fn out(&self, group: usize) -> u64 {
        self.out[group]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LANES: [LaneKind; 1] = [LaneKind::Slack];
    const CALM: &[u64] = &[0];

    fn pool(sizes: &[u64], required: u64) -> (MessagePool, Vec<Budget>) {
        let mut pool =
            MessagePool::new(100, MessageOrder::FewestRemaining, vec![GroupId(0)], LANES.to_vec());
        for &size in sizes {
            pool.push(0, size);
        }
        let total = sizes.len() as u64;
        (pool, vec![Budget { total, required, ..Budget::default() }])
    }

    fn take(pool: &mut MessagePool, budgets: &mut [Budget]) -> Option<(u64, u64)> {
        let piece = pool.take(LaneKind::Slack, CALM, budgets)?;
        let body = pool.body(piece);
        Some((body.message, body.offset))
    }

    #[test]
    fn fewest_remaining_first_even_when_it_changes() {
        let (mut pool, mut budgets) = pool(&[300, 200, 0], 2);
        assert_eq!(take(&mut pool, &mut budgets), Some((2, 0)), "the empty message");
        assert_eq!(take(&mut pool, &mut budgets), Some((1, 0)));
        assert_eq!(take(&mut pool, &mut budgets), Some((1, 100)));
        assert_eq!(take(&mut pool, &mut budgets), Some((0, 0)));
        pool.acked(0, &mut budgets);
        pool.acked(1, &mut budgets);
        assert_eq!(take(&mut pool, &mut budgets), Some((0, 200)));
        assert_eq!(take(&mut pool, &mut budgets), None);
    }

    #[test]
    fn lost_and_new_alike_where_the_paper_says_so() {
        let (mut pool, mut budgets) = pool(&[100, 200, 300], 1);
        pool.order = MessageOrder::FewestRemainingOfAll;
        assert_eq!(take(&mut pool, &mut budgets), Some((0, 0)));
        assert_eq!(take(&mut pool, &mut budgets), Some((1, 0)));
        pool.lost(0, &mut budgets);
        assert_eq!(budgets[0].damaged, 1);
        assert_eq!(take(&mut pool, &mut budgets), Some((0, 0)), "it has the least left");
        pool.lost(0, &mut budgets);
        assert_eq!(budgets[0].damaged, 1, "counted once");
        assert!(pool.has(LaneKind::Slack, CALM, &budgets));
        pool.acked(0, &mut budgets);
        assert_eq!((budgets[0].damaged, budgets[0].acked), (0, 1), "it was only late");
        assert_eq!(take(&mut pool, &mut budgets), Some((1, 100)));
        for offset in [0, 100, 200] {
            assert_eq!(take(&mut pool, &mut budgets), Some((2, offset)));
        }
        assert!(!pool.has(LaneKind::Slack, CALM, &budgets), "nothing is known to be lost");
        assert_eq!(take(&mut pool, &mut budgets), None);
    }

    #[test]
    fn a_damaged_message_is_left_alone_while_the_budget_covers_it() {
        let (mut pool, mut budgets) = pool(&[200, 300], 1);
        assert_eq!(take(&mut pool, &mut budgets), Some((0, 0)));
        pool.lost(0, &mut budgets);
        for offset in [0, 100, 200] {
            assert_eq!(take(&mut pool, &mut budgets), Some((1, offset)));
        }
        assert_eq!(take(&mut pool, &mut budgets), None);
        pool.lost(2, &mut budgets);
        assert_eq!(budgets[0].damaged, 2);
        assert_eq!(take(&mut pool, &mut budgets), Some((0, 0)), "one must be saved: the smaller");
        assert_eq!(take(&mut pool, &mut budgets), Some((0, 100)));
        pool.acked(0, &mut budgets);
        pool.acked(1, &mut budgets);
        assert_eq!((budgets[0].acked, budgets[0].damaged), (1, 1));
    }

    #[test]
    fn who_needs_only_enough_repairs_what_takes_less_than_a_new_message() {
        let (mut pool, mut budgets) = pool(&[200, 300, 100], 1);
        assert_eq!(take(&mut pool, &mut budgets), Some((2, 0)));
        assert_eq!(take(&mut pool, &mut budgets), Some((0, 0)));
        pool.lost(0, &mut budgets);
        pool.repair_cheapest(LaneKind::Slack, &mut budgets);
        assert_eq!(budgets[0].damaged, 0);
        assert_eq!(take(&mut pool, &mut budgets), Some((0, 0)), "200 are less than 300");
        pool.push(0, 100);
        pool.lost(0, &mut budgets);
        pool.repair_cheapest(LaneKind::Slack, &mut budgets);
        assert_eq!(budgets[0].damaged, 1);
        assert_eq!(take(&mut pool, &mut budgets), Some((3, 0)), "100 are less than 200");
    }

    #[test]
    fn lost_last_repairs_everything_but_only_after_the_first_pass() {
        let (mut pool, mut budgets) = pool(&[100, 100, 100], 1);
        pool.order = MessageOrder::LostLast;
        assert_eq!(take(&mut pool, &mut budgets), Some((0, 0)));
        assert_eq!(take(&mut pool, &mut budgets), Some((1, 0)));
        pool.lost(0, &mut budgets);
        assert_eq!(take(&mut pool, &mut budgets), Some((2, 0)), "the first pass goes on");
        assert_eq!(take(&mut pool, &mut budgets), Some((0, 0)), "though the budget covers it");
        assert_eq!(take(&mut pool, &mut budgets), None);
        assert!(!pool.has(LaneKind::Slack, CALM, &budgets));
    }

    #[test]
    fn what_is_under_way_is_begun_and_whole() {
        let (mut pool, mut budgets) = pool(&[300, 100, 100], 3);
        let lane = LaneKind::Slack;
        assert_eq!(take(&mut pool, &mut budgets), Some((1, 0)));
        assert_eq!((pool.under_way(0), pool.has_partial(lane)), (1, false));
        assert_eq!(take(&mut pool, &mut budgets), Some((2, 0)));
        assert_eq!(take(&mut pool, &mut budgets), Some((0, 0)));
        assert_eq!((pool.under_way(0), pool.has_partial(lane)), (3, true));
        let second = pool.take_partial(lane).expect("two pieces are left");
        pool.lost(second, &mut budgets);
        assert_eq!((pool.under_way(0), pool.has_partial(lane)), (2, false), "damaged");
        pool.acked(3, &mut budgets);
        assert_eq!(pool.under_way(0), 1, "it has arrived");
        pool.acked(second, &mut budgets);
        assert_eq!((pool.under_way(0), pool.has_partial(lane)), (2, true), "it was only late");
        assert!(pool.take_partial(lane).is_some());
        assert_eq!(pool.take_partial(lane), None);
    }

    #[test]
    fn status_by_message() {
        let (mut pool, mut budgets) = pool(&[200, 200, 200], 3);
        while take(&mut pool, &mut budgets).is_some() {}
        pool.acked(0, &mut budgets);
        pool.status(0, &Runs { from: 0, to: 3, missing: vec![(0, 1)] }, &mut budgets);
        assert_eq!((budgets[0].acked, budgets[0].damaged), (2, 1));
        assert_eq!(take(&mut pool, &mut budgets), Some((0, 100)), "only the missing half");
    }
}
