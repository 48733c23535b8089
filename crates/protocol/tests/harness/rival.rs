//! A flow of another make on a shared link: a backlogged TCP with CUBIC (RFC 9438), selective
//! acknowledgements and three duplicates, without a network of its own.

use std::collections::{BTreeMap, VecDeque};

use laxity_interface::{Bytes, Span, Time};

/// A full packet without the link's overhead, and the payload in it.
pub const PACKET: Bytes = Bytes::new(1472);
const PAYLOAD: u64 = 1448;
const BETA: f64 = 0.7;
const C: f64 = 0.4;
const REORDERING: u64 = 3;
const TIMEOUT: Span = Span::from_ms(200);

/// The sender, and its receiver's acknowledgements.
#[derive(Debug)]
pub struct Rival {
    pub started: Time,
    way_back: Span,
    window: f64,
    threshold: f64,
    /// Window before the last reduction, and when that was.
    peak: f64,
    reduced: Option<Time>,
    next: u64,
    highest: u64,
    /// When each packet on the way left.
    out: BTreeMap<u64, Time>,
    /// Packets below this were sent before the last reduction.
    recovery: u64,
    rtt: f64,
    acks: VecDeque<(Time, u64)>,
    last_heard: Time,
    pub delivered: u64,
    pub lost: u64,
}

impl Rival {
    pub fn new(started: Time, way_back: Span) -> Self {
        Self {
            started,
            way_back,
            window: 10.0,
            threshold: f64::INFINITY,
            peak: 0.0,
            reduced: None,
            next: 0,
            highest: 0,
            out: BTreeMap::new(),
            recovery: 0,
            rtt: way_back.as_secs_f64() * 2.0,
            acks: VecDeque::new(),
            last_heard: started,
            delivered: 0,
            lost: 0,
        }
    }

    /// When something happens next.
    pub fn poll_timeout(&self, now: Time) -> Option<Time> {
        if now < self.started {
            return Some(self.started);
        }
        let timer = self.last_heard + TIMEOUT;
        Some(self.acks.front().map_or(timer, |(at, _)| timer.min(*at)))
    }

    /// A packet of this flow came out of the link.
    pub fn handle_packet(&mut self, now: Time, number: u64) {
        self.acks.push_back((now + self.way_back, number));
        self.delivered += PAYLOAD;
    }

    /// Hears what is due; packets that may then be sent come from [`poll_packet`](Self::poll_packet).
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(&(at, number)) = self.acks.front()
            && at <= now
        {
            self.acks.pop_front();
            self.acknowledged(now, number);
        }
        if now >= self.last_heard + TIMEOUT && now > self.started {
            (self.threshold, self.window) = (self.window * BETA, 1.0);
            self.lost += self.out.len() as u64;
            self.out.clear();
            (self.recovery, self.last_heard) = (self.next, now);
        }
    }

    /// The number of the next packet, if one may leave.
    pub fn poll_packet(&mut self, now: Time) -> Option<u64> {
        if now < self.started || self.out.len() as f64 >= self.window {
            return None;
        }
        let number = self.next;
        self.next += 1;
        self.out.insert(number, now);
        Some(number)
    }

    fn acknowledged(&mut self, now: Time, number: u64) {
        self.last_heard = now;
        let Some(left) = self.out.remove(&number) else { return };
        self.rtt += (now.since(left).as_secs_f64() - self.rtt) / 8.0;
        self.highest = self.highest.max(number);
        let mut lost = self.out.range(..self.highest.saturating_sub(REORDERING)).peekable();
        let reduce = lost.peek().is_some_and(|(first, _)| **first >= self.recovery);
        let lost: Vec<u64> = lost.map(|(number, _)| *number).collect();
        self.lost += lost.len() as u64;
        self.out.retain(|number, _| !lost.contains(number));
        if reduce {
            // Fast convergence: who loses below its last peak gives up some of it.
            let falling = self.window < self.peak;
            self.peak = if falling { self.window * (1.0 + BETA) / 2.0 } else { self.window };
            self.window = (self.window * BETA).max(2.0);
            (self.threshold, self.reduced) = (self.window, Some(now));
            self.recovery = self.next;
        } else if number >= self.recovery {
            self.grow(now);
        }
    }

    fn grow(&mut self, now: Time) {
        if self.window < self.threshold {
            self.window += 1.0;
            return;
        }
        let since = now.since(self.reduced.unwrap_or(self.started)).as_secs_f64();
        let k = (self.peak * (1.0 - BETA) / C).cbrt();
        let cubic = C * (since + self.rtt - k).powi(3) + self.peak;
        let reno = self.peak * BETA + 3.0 * (1.0 - BETA) / (1.0 + BETA) * since / self.rtt;
        let target = cubic.max(reno).clamp(self.window, self.window * 1.5);
        self.window += (target - self.window) / self.window;
    }
}
