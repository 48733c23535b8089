//! How late an emulator in real time was.

use laxity_interface::Span;

/// Buckets per doubling of the lateness.
const STEPS: u32 = 4;
/// Doublings from one microsecond up: the last bucket begins above half a minute.
const DOUBLINGS: u32 = 25;

/// The most that the 99th percentile of a valid measurement may be late, unless the path's own times
/// are so long that this does not matter.
pub const ALLOWED: Span = Span::from_us(200);

/// A histogram of how long after their time packets left, in buckets 19 % apart.
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
        let buckets = vec![0; (STEPS * DOUBLINGS) as usize + 1].into_boxed_slice();
        Self { buckets, packets: 0, worst: Span::ZERO }
    }
}

/// The longest lateness that a bucket stands for.
fn end_of(bucket: usize) -> Span {
    Span::from_us(1).mul_f64((bucket as f64 / f64::from(STEPS)).exp2())
}

impl Lateness {
    /// A packet left so long after its time.
    pub fn note(&mut self, late: Span) {
        let us = late.as_secs_f64() * 1e6;
        let bucket = if us <= 1.0 { 0.0 } else { (us.log2() * f64::from(STEPS)).ceil() };
        let bucket = (bucket as usize).min(self.buckets.len() - 1);
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
        let wanted = (self.packets as f64 * part.clamp(0.0, 1.0)).ceil() as u64;
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
    fn percentiles_are_right_within_a_bucket() {
        let mut lateness = Lateness::default();
        for us in 1..=1000 {
            lateness.note(Span::from_us(us));
        }
        for (part, us) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = lateness.percentile(part).as_secs_f64() * 1e6;
            assert!(found >= us && found <= us * 1.19, "{part}: {found}");
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
        assert!(part.worst() < Span::from_us(13), "{}", part.worst());
    }

    #[test]
    fn nothing_is_not_late_and_an_age_fits() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.percentile(0.99), Span::ZERO);
        lateness.note(Span::from_secs(100_000));
        assert_eq!(lateness.percentile(0.5), Span::from_secs(100_000));
    }
}
