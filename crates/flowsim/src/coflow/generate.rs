//! Traces out of a seed, of the kind that clusters have: most coflows small, most bytes in few.

use laxity_interface::{Bytes, Span, Time};

use super::trace::{Coflow, Piece, Trace};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, count: u32) -> u32 {
        (self.next() % u64::from(count.max(1))) as u32
    }

    /// `count` different ports.
    fn ports(&mut self, ports: u32, count: u32) -> Vec<u32> {
        let mut all: Vec<_> = (0..ports).collect();
        for at in 0..count.min(ports) {
            let other = at + self.below(ports - at);
            all.swap(at as usize, other as usize);
        }
        all.truncate(count.min(ports) as usize);
        all
    }
}

impl Trace {
    /// A trace of coflows that arrive on average every `apart`. Half of them are narrow (up to 4
    /// mappers and reducers), the others as wide as the fabric; half are small (1 to 8 MB for each
    /// reducer), the others up to 128 times that.
    pub fn generate(seed: u64, ports: u32, coflows: u32, apart: Span) -> Self {
        let mut random = Random(seed);
        let mut now = Time::ZERO;
        let mut made = Vec::with_capacity(coflows as usize);
        for number in 0..coflows {
            let most = if random.below(2) == 0 { ports.min(4) } else { ports };
            let (mappers, reducers) = (1 + random.below(most), 1 + random.below(most));
            let (mappers, reducers) = (random.ports(ports, mappers), random.ports(ports, reducers));
            let scale = if random.below(2) == 0 { 1 } else { 1 << random.below(8) };
            let mut pieces = Vec::new();
            for to in &reducers {
                let megabytes = u64::from((1 + random.below(8)) * scale);
                let size = Bytes::new(megabytes * 1_000_000 / mappers.len() as u64);
                pieces.extend(mappers.iter().map(|from| Piece { from: *from, to: *to, size }));
            }
            made.push(Coflow { name: number.to_string(), arrives: now, pieces });
            let part = random.below(2_000_000);
            now += Span::from_ps((apart.as_ps() as u128 * u128::from(part) / 1_000_000) as u64);
        }
        Self { ports, coflows: made }
    }
}
