//! The near future: one slot per short stretch of time, and the events of a slot in no order.

use super::event::Event;

/// A slot is 2^10 ps, about a nanosecond: a busy network of 128 hosts has a few events in each.
const SLOT_BITS: u32 = 10;
/// So many slots reach 2 µs ahead: a full packet at 10 Gbit/s and a link of half a microsecond.
const SLOTS: usize = 2048;
const WORDS: usize = SLOTS / 64;

/// No event.
const NONE: u32 = u32::MAX;

/// The slot of a time, counted from the beginning of time.
#[inline]
pub(super) fn slot_of(time: u64) -> u64 {
    time >> SLOT_BITS
}

/// Events of the next [`SLOTS`] slots. Adding one costs the same however many there are. Their
/// entries lie side by side and are used again last in, first out, so that they stay in the cache.
#[derive(Debug)]
pub(super) struct Wheel {
    /// The first entry of each slot's chain.
    heads: Box<[u32; SLOTS]>,
    /// Which slots have entries, one bit each, and which words of those have bits.
    filled: [u64; WORDS],
    words: u32,
    entries: Vec<Entry>,
    free: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    event: Event,
    next: u32,
}

impl Default for Wheel {
    fn default() -> Self {
        Self {
            heads: Box::new([NONE; SLOTS]),
            filled: [0; WORDS],
            words: 0,
            entries: Vec::new(),
            free: NONE,
        }
    }
}

impl Wheel {
    /// Whether a slot is so near to `now`, a slot before it, that it has a place of its own.
    #[inline]
    pub(super) fn reaches(now: u64, slot: u64) -> bool {
        slot - now < SLOTS as u64
    }

    /// Adds an event. Whoever calls makes sure that the wheel reaches it.
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        let place = slot_of(event.time) as usize % SLOTS;
        let entry = Entry { event, next: self.heads[place] };
        let at = self.free;
        if at == NONE {
            self.heads[place] = self.entries.len() as u32;
            self.entries.push(entry);
        } else {
            let own = &mut self.entries[at as usize];
            self.free = own.next;
            *own = entry;
            self.heads[place] = at;
        }
        self.filled[place / 64] |= 1 << (place % 64);
        self.words |= 1 << (place / 64);
    }

    /// The first slot behind `now` that has events.
    #[inline]
    pub(super) fn next(&self, now: u64) -> Option<u64> {
        if self.words == 0 {
            return None;
        }
        let from = (now as usize + 1) % SLOTS;
        let (word, bit) = (from / 64, from % 64);
        let here = self.filled[word] >> bit;
        let place = if here != 0 {
            from + here.trailing_zeros() as usize
        } else {
            // The words behind this one, and around the end back to the part of it that is before.
            let turn = (word as u32 + 1) % WORDS as u32;
            let ahead = self.words.rotate_right(turn).trailing_zeros();
            let word = (turn + ahead) as usize % WORDS;
            word * 64 + self.filled[word].trailing_zeros() as usize
        };
        let ahead = (place + SLOTS - from) % SLOTS;
        Some(now + 1 + ahead as u64)
    }

    /// Takes all events out of a slot.
    #[inline]
    pub(super) fn drain(&mut self, slot: u64, mut take: impl FnMut(Event)) {
        let place = slot as usize % SLOTS;
        let mut at = std::mem::replace(&mut self.heads[place], NONE);
        while at != NONE {
            let entry = &mut self.entries[at as usize];
            take(entry.event);
            let next = std::mem::replace(&mut entry.next, self.free);
            self.free = at;
            at = next;
        }
        let word = &mut self.filled[place / 64];
        *word &= !(1 << (place % 64));
        if *word == 0 {
            self.words &= !(1 << (place / 64));
        }
    }
}
