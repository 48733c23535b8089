//! How well the engine keeps time: what makes a measurement valid.

use laxity_interface::Span;
use serde::{Deserialize, Serialize};

/// Lateness above which a run does not count; see [`Health::is_valid`].
const TOO_LATE: Span = Span::from_us(200);

/// How well the engine has kept time since it was started or since
/// [`take_health`](super::Engine::take_health).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Health {
    /// How long this covers, in seconds.
    pub seconds: f64,
    /// The part of that time that the engine's thread did something, waiting in a loop included.
    pub busy: f64,
    /// The part of that time that it waited in a loop for something near.
    pub spinning: f64,
    /// Frames that came in.
    pub received: u64,
    /// Frames that went out.
    pub sent: u64,
    /// How much later than due frames went out.
    pub lateness: Lateness,
    /// Frames that the kernel dropped because a ring was full.
    pub ring_drops: u64,
    /// Frames that were longer than the interface's MTU: a host's segmentation offload is on.
    pub oversized: u64,
    /// Frames that the kernel refused to send.
    pub refused: u64,
    /// Whether the thread has a real-time priority.
    pub realtime: bool,
}

impl Health {
    /// Whether measurements of this time count: nothing was lost beside the model, and 99 of 100
    /// frames left within 200 µs of when they were due.
    pub fn is_valid(&self) -> bool {
        self.ring_drops == 0
            && self.oversized == 0
            && self.refused == 0
            && self.lateness.p99 <= TOO_LATE
    }
}

/// How much later than due frames went out, to 3 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Lateness {
    /// Half of the frames were at most this late.
    pub p50: Span,
    /// 99 of 100 frames were at most this late.
    pub p99: Span,
    /// The latest.
    pub max: Span,
}

/// Buckets per doubling.
const STEPS: u32 = 32;

/// A histogram with relative steps of 3 %, in nanoseconds.
#[derive(Debug, Clone)]
pub(super) struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    max: Span,
}

impl Histogram {
    pub(super) fn new() -> Self {
        Self { buckets: vec![0; 40 * STEPS as usize], count: 0, max: Span::ZERO }
    }

    pub(super) fn add(&mut self, late: Span) {
        let bucket = bucket(late.as_ns()).min(self.buckets.len() - 1);
        self.buckets[bucket] += 1;
        self.count += 1;
        self.max = self.max.max(late);
    }

    pub(super) fn clear(&mut self) {
        self.buckets.fill(0);
        self.count = 0;
        self.max = Span::ZERO;
    }

    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn summary(&self) -> Lateness {
        Lateness { p50: self.percentile(50), p99: self.percentile(99), max: self.max }
    }

    /// The upper end of the bucket in which this percentile lies.
    fn percentile(&self, percent: u64) -> Span {
        let rank = (self.count * percent).div_ceil(100).max(1);
        let mut seen = 0;
        for (number, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Span::from_ns(upper(number)).min(self.max);
            }
        }
        self.max
    }
}

/// Small numbers have a bucket each; above, every doubling has [`STEPS`].
fn bucket(ns: u64) -> usize {
    let steps = u64::from(STEPS);
    if ns < steps {
        return ns as usize;
    }
    let doublings = ns.ilog2() - STEPS.ilog2();
    (u64::from(doublings) * steps + (ns >> doublings)) as usize
}

/// The largest number in a bucket.
fn upper(bucket: usize) -> u64 {
    let (bucket, steps) = (bucket as u64, u64::from(STEPS));
    if bucket < 2 * steps {
        return bucket;
    }
    let doublings = bucket / steps - 1;
    ((bucket % steps + steps + 1) << doublings) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_lies_in_its_bucket() {
        for ns in (0..5000).chain([123_456, 99_999_999, 1 << 40]) {
            let bucket = bucket(ns);
            assert!(ns <= upper(bucket), "{ns}");
            assert!(bucket == 0 || ns > upper(bucket - 1), "{ns}");
            assert!(upper(bucket) as f64 <= ns as f64 * 1.032 + 0.1, "{ns}");
        }
    }

    #[test]
    fn percentiles_are_those_of_the_numbers() {
        let mut histogram = Histogram::new();
        for us in 1..=1000 {
            histogram.add(Span::from_us(us));
        }
        let Lateness { p50, p99, max } = histogram.summary();
        assert_eq!(max, Span::from_us(1000));
        assert!((500..=516).contains(&p50.as_us()), "{p50}");
        assert!((990..=1000).contains(&p99.as_us()), "{p99}");
        histogram.clear();
        assert_eq!(histogram.summary(), Lateness::default());
    }
}
