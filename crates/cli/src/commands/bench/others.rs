//! Other traffic on the links of what is measured.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use laxity_interface::{Bytes, Rate, Span};
use laxity_lab::{Lab, Status};

use crate::sys::signal;

/// What it may have under way to one host when a run begins: three times what flows of these sizes have
/// in the mean where they fill half a link.
const USUAL: Bytes = Bytes::new(2_000_000);
/// How long a run waits for what it could not carry during the one before.
const CATCH_UP: Duration = Duration::from_secs(10);
/// How often to look.
const LOOK: Duration = Duration::from_millis(10);

/// What it has brought home of what it was to carry, and when that was so.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Others {
    offered: Bytes,
    delivered: Bytes,
    at: Span,
}

impl Others {
    /// As the lab tells it.
    pub(super) fn of(status: &Status) -> Self {
        let (mut offered, mut delivered) = (0, 0);
        for entry in &status.background {
            offered += entry.offered.get();
            delivered += entry.delivered.get();
        }
        let (offered, delivered) = (Bytes::new(offered), Bytes::new(delivered));
        Self { offered, delivered, at: status.up_for }
    }

    /// The part that it had of links that carry this much.
    pub(super) fn load_until(&self, later: &Self, capacity: Rate) -> f64 {
        let bits = later.delivered.get().saturating_sub(self.delivered.get()) as f64 * 8.0;
        let could = capacity.as_bps() as f64 * (later.at - self.at).as_secs_f64();
        if could > 0.0 { bits / could } else { 0.0 }
    }

    /// Whether it has no more under way to so many hosts than it usually has.
    fn is_usual(&self, hosts: usize) -> bool {
        let under_way = self.offered.get().saturating_sub(self.delivered.get());
        under_way <= USUAL.get() * hosts as u64
    }

    /// Waits until it is as it is where nothing is measured, for a while: what one scheme has kept it from
    /// carrying must not meet the scheme that is next.
    pub(super) fn let_catch_up(lab: &Lab, hosts: usize) -> Result<()> {
        let until = Instant::now() + CATCH_UP;
        loop {
            let status = lab.status().context("the lab does not answer")?;
            if Self::of(&status).is_usual(hosts) || Instant::now() >= until {
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
        assert!(!behind.is_usual(8) && behind.is_usual(9) && others(1, 5).is_usual(1));
    }
}
