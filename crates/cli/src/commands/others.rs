//! Other traffic on the links of what is measured.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use laxity_interface::{Bytes, Fraction, Rate, Span};
use laxity_lab::{Lab, Status};

use crate::sys::signal;

/// What it may have under way to one host when a run begins: three times what flows of its sizes have
/// in the mean where they fill half a link of 1 Gbit/s and round trips are short.
const USUAL: Bytes = Bytes::new(2_000_000);
/// Round trips that its largest flows take while they find out how fast they can go. Where those are long,
/// most of what is under way waits for that.
const SLOW_START: u64 = 10;
/// How long a run waits for what it could not carry during the one before.
const CATCH_UP: Duration = Duration::from_secs(10);
/// How often to look.
const LOOK: Duration = Duration::from_millis(10);

/// What it may have under way to one host where it offers this part of such links.
pub(crate) fn usual(rate: Rate, rtt: Span, load: Fraction) -> Bytes {
    let begin = rate.bytes_in(rtt * SLOW_START).get() as f64 * load.get();
    USUAL.max(Bytes::new((3.0 * begin) as u64))
}

/// What it has brought home of what it was to carry, and when that was so.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Others {
    offered: Bytes,
    delivered: Bytes,
    at: Span,
}

impl Others {
    /// As the lab tells it.
    pub(crate) fn of(status: &Status) -> Self {
        let (mut offered, mut delivered) = (0, 0);
        for entry in &status.background {
            offered += entry.offered.get();
            delivered += entry.delivered.get();
        }
        let (offered, delivered) = (Bytes::new(offered), Bytes::new(delivered));
        Self { offered, delivered, at: status.up_for }
    }

    /// The part that it had of links that carry this much.
    pub(crate) fn load_until(&self, later: &Self, capacity: Rate) -> f64 {
        let bits = later.delivered.get().saturating_sub(self.delivered.get()) as f64 * 8.0;
        let could = capacity.as_bps() as f64 * (later.at - self.at).as_secs_f64();
        if could > 0.0 { bits / could } else { 0.0 }
    }

    /// Whether it has no more under way than it usually has.
    fn is_usual(&self, usual: Bytes) -> bool {
        self.offered.get().saturating_sub(self.delivered.get()) <= usual.get()
    }

    /// Waits, for a while, until it has no more under way than usual: what one scheme has kept it from
    /// carrying must not meet the scheme that is next.
    pub(crate) fn let_catch_up(lab: &Lab, usual: Bytes) -> Result<()> {
        let until = Instant::now() + CATCH_UP;
        loop {
            let status = lab.status().context("the lab does not answer")?;
            if Self::of(&status).is_usual(usual) || Instant::now() >= until {
                return Ok(());
            }
            signal::check()?;
            std::thread::sleep(LOOK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn others(mb: u64, ms: u64) -> Others {
        let delivered = Bytes::new(mb * 1_000_000);
        Others { offered: delivered, delivered, at: Span::from_ms(ms) }
    }

    #[test]
    fn load_is_what_came_over_what_could_have_come() {
        // 25 MB in half a second, of links that could have carried 1 GB a second.
        let load = others(100, 2000).load_until(&others(125, 2500), Rate::from_gbps(8));
        assert!((load - 0.05).abs() < 1e-12, "{load}");
        assert_eq!(others(1, 5).load_until(&others(1, 5), Rate::from_gbps(8)), 0.0);
    }

    #[test]
    fn more_under_way_than_usual_is_waited_for() {
        let behind = Others { offered: Bytes::new(117_000_000), ..others(100, 0) };
        let hosts = |count: u64| Bytes::new(USUAL.get() * count);
        assert!(!behind.is_usual(hosts(8)) && behind.is_usual(hosts(9)));
        assert!(others(1, 5).is_usual(hosts(1)));
    }

    #[test]
    fn where_round_trips_are_long_more_is_usual() {
        let half = Fraction::new(0.5).unwrap();
        assert_eq!(usual(Rate::from_gbps(1), Span::from_us(500), half), USUAL);
        // 62.5 MB a second for 200 ms, three times.
        assert_eq!(usual(Rate::from_gbps(1), Span::from_ms(20), half), Bytes::new(37_500_000));
    }
}
