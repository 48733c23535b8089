//! Waiting without sleeping, as long as nobody else needs the processor.

use std::time::{Duration, Instant};

/// How long to look for packets after the last one before sleeping.
const PATIENCE: Duration = Duration::from_micros(50);
/// Giving way for longer than this means that somebody else ran.
const CONTENDED: Duration = Duration::from_micros(40);
/// How long to sleep instead of spinning after that.
const RESPECT: Duration = Duration::from_millis(10);
/// A sleep shorter than this is not worth its price, whoever waits.
const SHORTEST_SLEEP: Duration = Duration::from_micros(10);
/// Over such a time packets are counted …
const WINDOW: Duration = Duration::from_millis(1);
/// … and with so many of them the next ones are taken together.
const MANY: u64 = 8;
/// How long packets then wait for each other, …
const GATHER: Duration = Duration::from_micros(150);
/// … unless something is due within this time: then they wait for that.
const GATHER_UNTIL_DUE: Duration = Duration::from_millis(1);

/// What to do while nothing is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rest {
    /// Look again at once.
    Spin,
    /// Sleep until a packet comes or the time is up.
    Sleep(Duration),
    /// Sleep for this time, whatever comes: what comes meanwhile is taken together.
    Gather(Duration),
}

/// Decides between spinning and sleeping.
///
/// A sleep ends tens of microseconds late, so a waiting thread spins for a moment. With more spinners
/// than cores they only keep each other from working: a turn that took long shows that, and spinning
/// ends for a while. Being woken for each packet costs more than the packet then, so where many come
/// they are taken together, as network cards do it with their interrupts.
#[derive(Debug)]
pub struct Spin {
    last: Instant,
    sleep_until: Option<Instant>,
    /// Packets since when, and those of the time before.
    window: Instant,
    packets: u64,
    before: u64,
}

impl Default for Spin {
    fn default() -> Self {
        let now = Instant::now();
        Self { last: now, sleep_until: None, window: now, packets: 0, before: 0 }
    }
}

impl Spin {
    /// Something happened, so many packets came: more may follow soon.
    pub fn moved(&mut self, packets: u64) {
        self.last = Instant::now();
        self.count(packets);
    }

    /// So many packets came or left.
    pub fn count(&mut self, packets: u64) {
        if packets > 0 && self.window.elapsed() >= WINDOW {
            (self.window, self.before, self.packets) = (Instant::now(), self.packets, 0);
        }
        self.packets += packets;
    }

    /// How to wait for `time`; one turn of spinning is done here.
    pub fn rest(&mut self, time: Duration) -> Rest {
        if time < SHORTEST_SLEEP {
            std::thread::yield_now();
            return Rest::Spin;
        }
        let now = Instant::now();
        if self.sleep_until.is_some_and(|until| now < until) {
            let recent = now.duration_since(self.window) < WINDOW * 3;
            return match () {
                () if !recent || self.packets.max(self.before) < MANY => Rest::Sleep(time),
                () if time < GATHER_UNTIL_DUE => Rest::Gather(time),
                () => Rest::Gather(GATHER),
            };
        }
        let soon = now.duration_since(self.last) < PATIENCE || time < PATIENCE;
        if !soon {
            return Rest::Sleep(time);
        }
        std::thread::yield_now();
        if now.elapsed() > CONTENDED {
            self.sleep_until = Some(Instant::now() + RESPECT);
        }
        Rest::Spin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn spins_only_where_it_may_pay() {
        let mut spin = Spin::default();
        assert_eq!(spin.rest(Duration::ZERO), Rest::Spin, "too short to sleep");
        spin.last = Instant::now() - PATIENCE * 2;
        assert_eq!(spin.rest(MS), Rest::Sleep(MS), "nothing happened for long");
        spin.moved(1);
        spin.sleep_until = Some(Instant::now() + RESPECT);
        assert_eq!(spin.rest(MS), Rest::Sleep(MS), "others need the processor");
        assert_eq!(spin.rest(Duration::ZERO), Rest::Spin);
    }

    #[test]
    fn takes_packets_together_where_many_come_and_others_need_the_processor() {
        let mut spin = Spin::default();
        spin.moved(MANY);
        assert_ne!(spin.rest(MS * 5), Rest::Gather(GATHER), "nobody else is there");
        spin.sleep_until = Some(Instant::now() + RESPECT);
        assert_eq!(spin.rest(MS * 5), Rest::Gather(GATHER));
        assert_eq!(spin.rest(MS / 2), Rest::Gather(MS / 2), "something is due soon");
        spin.window = Instant::now() - WINDOW * 4;
        assert_eq!(spin.rest(MS * 5), Rest::Sleep(MS * 5), "that was long ago");
    }
}
