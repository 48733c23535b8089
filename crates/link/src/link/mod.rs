//! The link itself.

mod config;
mod stats;

use std::collections::{BTreeMap, VecDeque};

use laxity_interface::{Bytes, Ecn, Rate, Span, Time};
use rand_core::Rng;
use rand_pcg::Pcg64;

use crate::{
    packet::PacketInfo,
    random::{stream, uniform},
    rule::{Rules, Verdict},
};

pub use config::LinkConfig;
pub use stats::{DropReason, LinkStats};

/// A packet that will not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("packet {sequence} was dropped by {reason}")]
pub struct Dropped {
    /// The number of the packet on this link.
    pub sequence: u64,
    /// Why.
    pub reason: DropReason,
}

/// A packet that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<P> {
    /// When it arrived.
    pub at: Time,
    /// The packet, with the mark it may have got on the way.
    pub info: PacketInfo,
    /// What was handed in.
    pub payload: P,
    /// If the packet was damaged, a random number for [`flip_bits`](crate::flip_bits): the link
    /// does not look into payloads.
    pub corrupt: Option<u64>,
    /// 0 for the packet itself, 1 for its first copy and so on.
    pub copy: u32,
}

/// One emulated one-way link.
#[derive(Debug)]
pub struct Link<P> {
    config: LinkConfig,
    rules: Rules,
    stats: LinkStats,
    /// The latest time a packet was handed in.
    now: Time,
    /// When everything handed in so far will have been sent.
    busy_until: Time,
    /// The latest arrival of a packet that no rule held back.
    last_arrival: Time,
    /// When each waiting packet will begin to be sent, and its bytes on the wire.
    waiting: VecDeque<(Time, Bytes)>,
    backlog: Bytes,
    /// By arrival, then sequence, then copy: two packets never share a key.
    in_flight: BTreeMap<(Time, u64, u32), Delivery<P>>,
    jitter: Pcg64,
    damage: Pcg64,
}

impl<P> Link<P> {
    /// A link with nothing on it.
    pub fn new(config: LinkConfig, rules: Rules) -> Self {
        let jitter = stream(config.seed, "link-jitter", config.index);
        let damage = stream(config.seed, "link-damage", config.index);
        Self {
            config,
            rules,
            stats: LinkStats::default(),
            now: Time::ZERO,
            busy_until: Time::ZERO,
            last_arrival: Time::ZERO,
            waiting: VecDeque::new(),
            backlog: Bytes::ZERO,
            in_flight: BTreeMap::new(),
            jitter,
            damage,
        }
    }

    /// When the next packet arrives; none if none is on its way.
    pub fn poll_timeout(&self) -> Option<Time> {
        let ((at, ..), _) = self.in_flight.first_key_value()?;
        // On a link of rate zero packets never arrive.
        (*at < Time::MAX).then_some(*at)
    }

    /// Takes out the next packet that has arrived by `now`: by arrival, then by sequence.
    pub fn poll_delivery(&mut self, now: Time) -> Option<Delivery<P>> {
        if self.poll_timeout()? > now {
            return None;
        }
        let (_, delivery) = self.in_flight.pop_first()?;
        self.stats.delivered += 1;
        self.stats.bytes_delivered += delivery.info.size;
        Some(delivery)
    }

    /// What it has done so far.
    pub const fn stats(&self) -> &LinkStats {
        &self.stats
    }

    /// What it is like.
    pub const fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// Bytes that wait at `now`, counted as they go over the wire.
    pub fn backlog(&self, now: Time) -> Bytes {
        self.waiting.iter().filter(|(start, _)| *start > now).map(|(_, size)| *size).sum()
    }

    /// Packets that were not taken out yet, copies included.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// When a packet handed in now has been sent completely, or that it does not fit.
    fn enqueue(&mut self, now: Time, wire: Bytes, rate: Rate) -> Result<(Time, Bytes), DropReason> {
        while let Some((start, size)) = self.waiting.front().copied()
            && start <= now
        {
            self.waiting.pop_front();
            self.backlog -= size;
        }
        let start = self.busy_until.max(now);
        let mut behind = Bytes::ZERO;
        if start > now {
            behind = self.backlog + wire;
            if behind > self.config.queue {
                return Err(DropReason::Queue);
            }
            self.waiting.push_back((start, wire));
            self.backlog = behind;
            self.stats.max_queue = self.stats.max_queue.max(behind);
        }
        self.busy_until = start + rate.time_for(wire);
        Ok((self.busy_until, behind))
    }

    /// When a packet that was sent completely at `sent` arrives.
    fn arrival(&mut self, sent: Time, extra_delay: Span) -> Time {
        let mut travel = self.config.delay;
        if !self.config.jitter.is_zero() {
            travel += self.config.jitter.mul_f64(uniform(&mut self.jitter));
        }
        // Jitter is somebody else's queue: it delays, but packets stay in line.
        let in_line = (sent + travel).max(self.last_arrival);
        if extra_delay.is_zero() {
            self.last_arrival = in_line;
        }
        in_line + extra_delay
    }
}

impl<P: Clone> Link<P> {
    /// Hands in a packet at `now`; the link sets its `sequence`.
    ///
    /// The error is for the caller's own books: on a real network nobody would tell.
    ///
    /// # Panics
    /// If `now` is earlier than in the call before.
    pub fn handle_packet(
        &mut self,
        now: Time,
        mut info: PacketInfo,
        payload: P,
    ) -> Result<(), Dropped> {
        assert!(now >= self.now, "time went backwards on a link: {now} after {}", self.now);
        self.now = now;
        info.sequence = self.stats.sent;
        self.stats.sent += 1;
        self.stats.bytes_sent += info.size;

        let (verdict, name) = self.rules.decide(now, &info);
        if verdict == Verdict::Drop {
            return Err(self.drop(info.sequence, DropReason::Rule(name)));
        }
        let (sent, behind) = match self.config.rate {
            Some(rate) => self
                .enqueue(now, info.size + self.config.overhead, rate)
                .map_err(|reason| self.drop(info.sequence, reason))?,
            None => (now, Bytes::ZERO),
        };
        let congested = self.config.ecn_threshold.is_some_and(|threshold| behind > threshold);
        if (congested || verdict == Verdict::Mark) && info.ecn.marked() != info.ecn {
            info.ecn = Ecn::Ce;
            self.stats.marked += 1;
        }

        let (extra_delay, copies, gap, corrupt) = match verdict {
            Verdict::Deliver { extra_delay } => (extra_delay, 0, Span::ZERO, None),
            Verdict::Duplicate { copies, gap } => (Span::ZERO, copies, gap, None),
            Verdict::Corrupt => (Span::ZERO, 0, Span::ZERO, Some(self.damage.next_u64())),
            Verdict::Pass | Verdict::Mark | Verdict::Drop => (Span::ZERO, 0, Span::ZERO, None),
        };
        self.stats.duplicated += u64::from(copies);
        self.stats.corrupted += u64::from(corrupt.is_some());
        let first = self.arrival(sent, extra_delay);
        let mut place = |copy, payload| {
            let at = first + gap * u64::from(copy);
            let delivery = Delivery { at, info, payload, corrupt, copy };
            self.in_flight.insert((at, info.sequence, copy), delivery);
        };
        for copy in 1..=copies {
            place(copy, payload.clone());
        }
        place(0, payload);
        Ok(())
    }

    fn drop(&mut self, sequence: u64, reason: DropReason) -> Dropped {
        *self.stats.dropped.entry(reason).or_default() += 1;
        Dropped { sequence, reason }
    }
}
