//! Contention for processors and for links, as in a cluster that others use too.
//!
//! Our copy of the paper names three settings of each kind and defines none of them. These are chosen: one
//! mild, one harsh and one lasting kind of straggler; networks that change often and much, often and a
//! little, and seldom and much.

use laxity_interface::{Span, Time};
use laxity_link::{stream, uniform};

/// How long workers compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mlfabric) enum Compute {
    /// One update in ten takes 2 to 4 times as long.
    Cs1,
    /// One update in five takes 5 to 10 times as long.
    Cs2,
    /// One worker in eight always takes 3 times as long.
    Cs3,
}

impl Compute {
    pub(in crate::mlfabric) const ALL: [Self; 3] = [Self::Cs1, Self::Cs2, Self::Cs3];

    pub(in crate::mlfabric) const fn name(self) -> &'static str {
        match self {
            Self::Cs1 => "CS1",
            Self::Cs2 => "CS2",
            Self::Cs3 => "CS3",
        }
    }

    /// How long a worker computes for one of its updates.
    pub(in crate::mlfabric) fn takes(
        self,
        usual: Span,
        worker: u32,
        update: u64,
        seed: u64,
    ) -> Span {
        let mut rng = stream(seed, "compute", u64::from(worker) << 32 | update);
        let jitter = 0.9 + 0.2 * uniform(&mut rng);
        let (drawn, how_slow) = (uniform(&mut rng), uniform(&mut rng));
        let slower = match self {
            Self::Cs1 if drawn < 0.1 => 2.0 + 2.0 * how_slow,
            Self::Cs2 if drawn < 0.2 => 5.0 + 5.0 * how_slow,
            Self::Cs3 if worker.is_multiple_of(8) => 3.0,
            _ => 1.0,
        };
        usual.mul_f64(jitter * slower)
    }
}

/// What others leave of hosts' links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mlfabric) enum Contention {
    /// All of 10 Gbit/s, a half, a quarter or a tenth, drawn anew every 5 s.
    Ns1,
    /// All or a half, drawn anew every 5 s.
    Ns2,
    /// A tenth on one host in four, other hosts every 20 s.
    Ns3,
}

impl Contention {
    pub(in crate::mlfabric) const ALL: [Self; 3] = [Self::Ns1, Self::Ns2, Self::Ns3];

    pub(in crate::mlfabric) const fn name(self) -> &'static str {
        match self {
            Self::Ns1 => "NS1",
            Self::Ns2 => "NS2",
            Self::Ns3 => "NS3",
        }
    }

    /// How long links stay as they are.
    pub(in crate::mlfabric) const fn episode(self) -> Span {
        match self {
            Self::Ns1 | Self::Ns2 => Span::from_secs(5),
            Self::Ns3 => Span::from_secs(20),
        }
    }

    /// The share of its link that a host has at a moment.
    pub(in crate::mlfabric) fn left(self, host: u32, at: Time, seed: u64) -> f64 {
        let episode = at.as_ps() / self.episode().as_ps();
        let mut rng = stream(seed, "contention", u64::from(host) << 32 | episode);
        let drawn = (uniform(&mut rng) * 4.0) as usize;
        match self {
            Self::Ns1 => [1.0, 0.5, 0.25, 0.1][drawn],
            Self::Ns2 => [1.0, 1.0, 0.5, 0.5][drawn],
            Self::Ns3 => [1.0, 1.0, 1.0, 0.1][drawn],
        }
    }
}

/// Both kinds of contention, and the chance in them.
#[derive(Debug, Clone, Copy)]
pub(in crate::mlfabric) struct Setting {
    pub(in crate::mlfabric) compute: Compute,
    pub(in crate::mlfabric) contention: Contention,
    pub(in crate::mlfabric) seed: u64,
}

impl Setting {
    /// All nine, by rows.
    pub(in crate::mlfabric) fn all() -> impl Iterator<Item = (Compute, Contention)> {
        Compute::ALL.into_iter().flat_map(|c| Contention::ALL.into_iter().map(move |n| (c, n)))
    }
}
