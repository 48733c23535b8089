//! Whether a worker goes ahead: asks for its next model while its last update is still on its way.
//!
//! If N updates are between the leaving of their models and their commits, the mean delay is N − 1 commits,
//! however long each takes (Little's law). Where the way is free, going ahead lets an update travel while the next
//! one is computed, and both are committed before long. Where updates queue for a link it makes nothing faster: the
//! link is busy anyway, and all that wait for it grow old. A question that waits does not: whoever asks later gets a
//! newer model. So the age of what was committed decides.

/// An update counts for this part of the mean.
const PART: f64 = 0.125;

/// Whether a worker goes ahead, and why.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Ahead {
    /// It does: no age is set that its updates should keep.
    Unbounded,
    /// It does not: none of its updates has been committed yet.
    Unknown,
    /// It does: its updates are young enough.
    Young {
        /// How old they are when they are committed, in commits; the latest count most.
        mean: f64,
        /// How old they may be.
        most: u64,
    },
    /// It does not: its updates are too old, and more of them at once would be older.
    Old {
        /// How old they are when they are committed, in commits; the latest count most.
        mean: f64,
        /// How old they may be.
        most: u64,
    },
}

impl Ahead {
    /// Whether it does.
    pub const fn goes(self) -> bool {
        matches!(self, Self::Unbounded | Self::Young { .. })
    }
}

/// How old a worker's updates are when a server commits them.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Age {
    mean: Option<f64>,
}

impl Age {
    /// An update has been committed with this delay.
    pub(super) fn committed(&mut self, delay: u64) {
        let delay = delay as f64;
        let mean = self.mean.get_or_insert(delay);
        *mean += (delay - *mean) * PART;
    }

    /// Whether to go ahead, if updates may be `most` commits old on average.
    pub(super) fn ahead(self, most: Option<u64>) -> Ahead {
        match (most, self.mean) {
            (None, _) => Ahead::Unbounded,
            (Some(_), None) => Ahead::Unknown,
            (Some(most), Some(mean)) if mean > most as f64 => Ahead::Old { mean, most },
            (Some(most), Some(mean)) => Ahead::Young { mean, most },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_goes_ahead_while_its_updates_are_young() {
        let mut age = Age::default();
        assert_eq!(age.ahead(None), Ahead::Unbounded);
        assert_eq!(age.ahead(Some(3)), Ahead::Unknown);
        age.committed(3);
        assert_eq!(age.ahead(Some(3)), Ahead::Young { mean: 3.0, most: 3 });
        age.committed(7);
        assert_eq!(age.ahead(Some(3)), Ahead::Old { mean: 3.5, most: 3 });
        // One that is young does not make up for it, some do.
        age.committed(2);
        assert!(!age.ahead(Some(3)).goes(), "{age:?}");
        (0..3).for_each(|_| age.committed(2));
        assert!(age.ahead(Some(3)).goes(), "{age:?}");
        assert!(!age.ahead(Some(2)).goes(), "{age:?}");
    }
}
