//! How late an emulator in real time was.

use laxity_interface::Span;

/// Buckets per doubling.
const STEPS: u64 = 32;
/// Doublings of [`STEPS`] nanoseconds: the last bucket begins above 4 hours.
const DOUBLINGS: u64 = 39;

/// The most that the 99th percentile of a valid measurement may be late, unless the path's own times
/// are so long that this does not matter.
pub const ALLOWED: Span = Span::from_us(200);

/// A histogram of how long after their time packets left, in buckets 3 % apart.
///
/// A machine that is busy with something else makes an emulated network late, and what is measured on
/// it then says more about the machine than about the protocol: such a measurement is taken again.
#[derive(Clone, Debug)]
pub struct Lateness {
    buckets: Box<[u64]>,
    packets: u64,
    worst: Span,
}

impl Default for Lateness {
    fn default() -> Self {
        let buckets = vec![0; (STEPS * (DOUBLINGS + 1)) as usize].into_boxed_slice();
        Self { buckets, packets: 0, worst: Span::ZERO }
    }
}

/// Small numbers have a bucket each; above, every doubling has [`STEPS`].
fn bucket(ns: u64) -> usize {
    if ns < STEPS {
        return ns as usize;
    }
    let doublings = u64::from(ns.ilog2() - STEPS.ilog2());
    (doublings * STEPS + (ns >> doublings)) as usize
}

/// The longest lateness that a bucket stands for.
fn end_of(bucket: usize) -> Span {
    let bucket = bucket as u64;
    if bucket < 2 * STEPS {
        return Span::from_ns(bucket);
    }
    let doublings = bucket / STEPS - 1;
    Span::from_ns(((bucket % STEPS + STEPS + 1) << doublings) - 1)
}

impl Lateness {
    /// A packet left so long after its time.
    pub fn note(&mut self, late: Span) {
        let bucket = bucket(late.as_ns()).min(self.buckets.len() - 1);
        self.buckets[bucket] += 1;
        self.packets += 1;
        self.worst = self.worst.max(late);
    }

    /// What was noted since `earlier`, a copy of this histogram. The worst of it is known to a bucket.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let pairs = self.buckets.iter().zip(&earlier.buckets);
        let buckets: Box<[u64]> = pairs.map(|(now, then)| now.saturating_sub(*then)).collect();
        let packets = self.packets.saturating_sub(earlier.packets);
        let top = buckets.iter().rposition(|count| *count > 0);
        let worst = top.map_or(Span::ZERO, |at| end_of(at).min(self.worst));
        Self { buckets, packets, worst }
    }

    /// Packets that left.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// The latest of all.
    pub fn worst(&self) -> Span {
        self.worst
    }

    /// What `part` of the packets (0.99 for the 99th percentile) were not later than, rounded up to a
    /// bucket's end.
    pub fn percentile(&self, part: f64) -> Span {
        let wanted = (self.packets as f64 * part.clamp(0.0, 1.0)).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (at, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted && at + 1 < self.buckets.len() {
                return end_of(at).min(self.worst);
            }
        }
        self.worst
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_lies_in_its_bucket() {
        for ns in (0..5000).chain([123_456, 99_999_999, 1 << 40]) {
            let bucket = bucket(ns);
            assert!(ns <= end_of(bucket).as_ns(), "{ns}");
            assert!(bucket == 0 || ns > end_of(bucket - 1).as_ns(), "{ns}");
            assert!(end_of(bucket).as_ns() as f64 <= ns as f64 * 1.032 + 0.1, "{ns}");
        }
    }

    #[test]
    fn percentiles_are_right_within_a_bucket() {
        let mut lateness = Lateness::default();
        for us in 1..=1000 {
            lateness.note(Span::from_us(us));
        }
        for (part, us) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = lateness.percentile(part).as_secs_f64() * 1e6;
            assert!(found >= us && found <= us * 1.032, "{part}: {found}");
        }
        assert_eq!(lateness.worst(), Span::from_us(1000));
        assert_eq!(lateness.packets(), 1000);
    }

    #[test]
    fn a_part_of_the_time_can_be_looked_at() {
        let mut lateness = Lateness::default();
        lateness.note(Span::from_ms(50));
        let earlier = lateness.clone();
        for _ in 0..99 {
            lateness.note(Span::from_us(10));
        }
        let part = lateness.since(&earlier);
        assert_eq!(part.packets(), 99);
        assert!(part.worst() < Span::from_us(11), "{}", part.worst());
    }

    #[test]
    fn nothing_is_not_late_and_an_age_fits() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.percentile(0.99), Span::ZERO);
        lateness.note(Span::from_secs(100_000));
        assert_eq!(lateness.percentile(0.5), Span::from_secs(100_000));
    }
}
