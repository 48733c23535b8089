//! What arrived of a shard, as its owner tells everybody.

use std::ops::Range;

/// Elements of a result that fewer contributions reached than took part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thin {
    /// Which elements of the result.
    pub elements: Range<usize>,
    /// How many contributions went into them.
    pub contributions: u32,
}

/// What arrived of one contribution, in elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Share {
    /// What went into the result.
    pub(crate) here: u64,
    /// All of the parts that it was not left out of.
    pub(crate) counted: u64,
    /// All.
    pub(crate) all: u64,
}

impl Share {
    /// A part of which `here` elements of `all` arrived.
    pub(crate) fn of(here: u64, all: u64) -> Self {
        Self { here, counted: all, all }
    }

    /// A part of which nothing was waited for.
    pub(crate) fn left_out(all: u64) -> Self {
        Self { all, ..Self::default() }
    }

    /// Both together.
    pub(crate) fn and(self, other: &Self) -> Self {
        Self {
            here: self.here + other.here,
            counted: self.counted + other.counted,
            all: self.all + other.all,
        }
    }

    /// The part that arrived.
    pub(crate) fn arrived(&self) -> f64 {
        part(self.here, self.all)
    }

    /// The part that arrived where it was not left out.
    pub(crate) fn arrived_of_counted(&self) -> f64 {
        part(self.here, self.counted)
    }
}

/// Of nothing, everything is here.
fn part(here: u64, all: u64) -> f64 {
    if all == 0 { 1.0 } else { here as f64 / all as f64 }
}

/// What went into one shard.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Account {
    /// Elements that arrived from each position; `None`: left out.
    pub(crate) delivered: Vec<Option<u64>>,
    /// Where something is missing, in elements of the shard, ascending.
    pub(crate) thin: Vec<Thin>,
}

impl Account {
    /// As bytes: a word per position, then three words per thin range.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.delivered.len() * 8 + self.thin.len() * 20);
        for delivered in &self.delivered {
            bytes.extend_from_slice(&delivered.unwrap_or(u64::MAX).to_le_bytes());
        }
        for thin in &self.thin {
            bytes.extend_from_slice(&(thin.elements.start as u64).to_le_bytes());
            bytes.extend_from_slice(&(thin.elements.end as u64).to_le_bytes());
            bytes.extend_from_slice(&thin.contributions.to_le_bytes());
        }
        bytes
    }

    /// From bytes, for a group of this size and a shard of this many elements. `None`: nonsense.
    pub(crate) fn decode(bytes: &[u8], size: usize, count: usize) -> Option<Self> {
        let (delivered, thin) = bytes.split_at_checked(size * 8)?;
        let (thin, rest) = thin.as_chunks::<20>();
        let u64_at =
            |word: &[u8], at: usize| u64::from_le_bytes(std::array::from_fn(|i| word[at + i]));
        let delivered = delivered.chunks_exact(8).map(|word| u64_at(word, 0));
        let delivered: Vec<_> = delivered.map(|word| (word != u64::MAX).then_some(word)).collect();
        let thin: Vec<_> = thin
            .iter()
            .map(|word| Thin {
                elements: u64_at(word, 0) as usize..u64_at(word, 8) as usize,
                contributions: u32::from_le_bytes([word[16], word[17], word[18], word[19]]),
            })
            .collect();
        let ranges: Vec<_> = thin.iter().map(|thin| thin.elements.clone()).collect();
        let boasts = |word: &Option<u64>| word.is_some_and(|word| word > count as u64);
        let proper = rest.is_empty()
            && super::ranges::are_proper(&ranges, count)
            && !delivered.iter().any(boasts);
        proper.then_some(Self { delivered, thin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_survives_the_wire() {
        let account = Account {
            delivered: vec![Some(10), None, Some(7)],
            thin: vec![Thin { elements: 0..3, contributions: 1 }],
        };
        assert_eq!(Account::decode(&account.encode(), 3, 10), Some(account.clone()));
        assert_eq!(Account::decode(&account.encode(), 3, 2), None, "beyond the shard");
        assert_eq!(Account::decode(&account.encode()[..43], 3, 10), None);
        let boast = Account { delivered: vec![Some(11), None, None], thin: Vec::new() };
        assert_eq!(Account::decode(&boast.encode(), 3, 10), None, "more than there is");
    }
}
