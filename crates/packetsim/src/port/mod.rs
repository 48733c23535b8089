//! Output ports: what waits, who leaves next, who is lost.

mod admit;
mod ranked;

use laxity_interface::{Bytes, Rate};

use self::ranked::Ranked;
use crate::{
    kernel::{Handle, List, Pool},
    setup::{Discipline, PortSetup, QUEUES},
};

pub(crate) use admit::{Admission, Limits, Loss, Room};

/// What waits in one queue.
#[derive(Debug, Clone, Copy, Default)]
struct Queue {
    list: List,
    bytes: u32,
    packets: u32,
}

/// The queues of an output port and the line behind them. What every packet needs comes first: a
/// `Line` has it in one cache line with its own.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Port {
    /// When the line has sent the last packet that it was given.
    pub(crate) free_at: u64,
    /// Bytes in all queues.
    bytes: u64,
    /// Packets in all queues.
    packets: u32,
    /// Picoseconds per byte where that is a whole number, else 0.
    per_byte: u32,
    /// Which queues hold packets, one bit each.
    filled: u8,
    /// The queue of the last class and all beyond it.
    last: u8,
    /// Whether an event waits for `free_at`.
    pub(crate) pending: bool,
    queues: [Queue; QUEUES],
    rate: Rate,
    ranked: Option<Box<Ranked>>,
}

impl Port {
    pub(crate) fn new(rate: Rate, discipline: Discipline) -> Self {
        const BYTE: u64 = 8_000_000_000_000;
        let exact = BYTE.is_multiple_of(rate.as_bps());
        let per_byte = if exact { BYTE / rate.as_bps() } else { 0 };
        let (last, ranked) = match discipline {
            Discipline::Strict => (QUEUES as u8 - 1, None),
            Discipline::Single => (0, None),
            Discipline::Ranked => (0, Some(Box::default())),
        };
        Self {
            free_at: 0,
            bytes: 0,
            packets: 0,
            per_byte: u32::try_from(per_byte).unwrap_or(0),
            filled: 0,
            last,
            pending: false,
            queues: Default::default(),
            rate,
            ranked,
        }
    }

    /// How long a packet of this size is on the line.
    #[inline]
    pub(crate) fn time_for(&self, bytes: u32) -> u64 {
        match self.per_byte {
            0 => self.rate.time_for(Bytes::new(u64::from(bytes))).as_ps(),
            per_byte => u64::from(bytes) * u64::from(per_byte),
        }
    }

    /// Packets that wait.
    #[inline]
    pub(crate) fn packets(&self) -> u32 {
        self.packets
    }

    /// Bytes that wait.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The packet that has waited longest in the first queue that is not empty; `NONE` in queues by
    /// rank.
    #[inline]
    pub(crate) fn head(&self) -> Handle {
        self.queues[self.filled.trailing_zeros() as usize % QUEUES].list.head
    }

    /// Bytes that wait in one queue.
    pub(crate) fn queue_bytes(&self, queue: usize) -> u64 {
        match &self.ranked {
            None => u64::from(self.queues[queue].bytes),
            Some(_) => [self.bytes, 0][usize::from(queue > 0)],
        }
    }

    /// The queue of a class.
    #[inline]
    fn queue_of(&self, class: u8) -> usize {
        usize::from(class.min(self.last))
    }

    /// Puts a packet into its queue, whatever the limits say.
    #[inline]
    pub(crate) fn push(&mut self, pool: &mut Pool, handle: Handle) {
        let label = pool.label(handle);
        let (class, size) = (self.queue_of(label.class), label.size);
        self.packets += 1;
        self.bytes += u64::from(size);
        match &mut self.ranked {
            None => {
                let queue = &mut self.queues[class];
                queue.bytes += size;
                queue.packets += 1;
                pool.push(&mut queue.list, handle);
                self.filled |= 1 << class;
            }
            Some(ranked) => ranked.push(pool.get(handle), handle),
        }
    }

    /// The packet that leaves next.
    #[inline]
    pub(crate) fn pop(&mut self, pool: &Pool) -> Option<Handle> {
        let handle = match &mut self.ranked {
            None => {
                if self.filled == 0 {
                    return None;
                }
                let class = self.filled.trailing_zeros() as usize;
                let queue = &mut self.queues[class];
                let handle = pool.pop(&mut queue.list).expect("a filled queue");
                queue.packets -= 1;
                queue.bytes -= pool.label(handle).size;
                if queue.packets == 0 {
                    self.filled &= !(1 << class);
                }
                handle
            }
            Some(ranked) => ranked.pop()?,
        };
        self.packets -= 1;
        self.bytes -= u64::from(pool.label(handle).size);
        Some(handle)
    }

    /// Room for one more packet under the limits? Applies marks, trimming and pushing out.
    /// Whoever is lost is named by the answer; the packet itself is queued if it was taken.
    #[inline]
    pub(crate) fn offer(
        &mut self,
        limits: &Limits,
        room: Room,
        pool: &mut Pool,
        handle: Handle,
    ) -> Admission {
        match self.ranked {
            None => admit::strict(self, limits, room, pool, handle),
            Some(_) => admit::ranked(self, limits, room, pool, handle),
        }
    }
}

impl Limits {
    /// Limits in the form that the hot path compares with.
    pub(crate) fn new(setup: &PortSetup) -> Self {
        Self { buffer: setup.buffer.get(), queues: setup.queues.map(|queue| (&queue).into()) }
    }
}
