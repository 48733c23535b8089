//! Words that ranks exchange when something went wrong, and when they agree that nothing did.

use std::collections::BTreeSet;

use laxity_interface::Span;

use crate::{outcome::OpError, rank::Rank, shape::Shape};

/// A word of the agreement. `without` is always the view: the positions that are left out.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Word {
    /// "I am in this view, and these shards I have."
    State { without: BTreeSet<usize>, holds: BTreeSet<usize> },
    /// To the coordinator: "in this view I have everything."
    Have { without: BTreeSet<usize> },
    /// From the coordinator: "in this view everybody has everything."
    Commit { without: BTreeSet<usize> },
    /// From the coordinator: "send me this shard."
    Ask { without: BTreeSet<usize>, shard: usize },
    /// From the coordinator: "nobody has this shard; send me your contribution."
    Redo { without: BTreeSet<usize>, shard: usize },
    /// "This is the shard, and this its account."
    Settle { without: BTreeSet<usize>, shard: usize, account: Vec<u8>, value: Vec<u8> },
}

/// The stage under which an error is passed on.
pub(crate) const ABORT: u16 = 0;

impl Word {
    /// The stage under which it travels.
    pub(crate) fn stage(&self) -> u16 {
        match self {
            Self::State { .. } => 1,
            Self::Have { .. } => 2,
            Self::Commit { .. } => 3,
            Self::Ask { .. } => 4,
            Self::Redo { .. } => 5,
            Self::Settle { .. } => 6,
        }
    }

    /// Its view.
    pub(crate) fn without(&self) -> &BTreeSet<usize> {
        match self {
            Self::State { without, .. }
            | Self::Have { without }
            | Self::Commit { without }
            | Self::Ask { without, .. }
            | Self::Redo { without, .. }
            | Self::Settle { without, .. } => without,
        }
    }

    /// As bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_set(&mut bytes, self.without());
        match self {
            Self::State { holds, .. } => put_set(&mut bytes, holds),
            Self::Have { .. } | Self::Commit { .. } => {}
            Self::Ask { shard, .. } | Self::Redo { shard, .. } => put(&mut bytes, *shard as u64),
            Self::Settle { shard, account, value, .. } => {
                put(&mut bytes, *shard as u64);
                put(&mut bytes, account.len() as u64);
                bytes.extend_from_slice(account);
                bytes.extend_from_slice(value);
            }
        }
        bytes
    }

    /// From the bytes that came under a stage, in a group of this size. `None`: nonsense.
    pub(crate) fn decode(stage: u16, bytes: &[u8], size: usize) -> Option<Self> {
        let mut rest = bytes;
        let without = take_set(&mut rest, size)?;
        let shard =
            |rest: &mut &[u8]| take(rest).map(|shard| shard as usize).filter(|shard| *shard < size);
        let word = match stage {
            1 => Self::State { without, holds: take_set(&mut rest, size)? },
            2 => Self::Have { without },
            3 => Self::Commit { without },
            4 => Self::Ask { without, shard: shard(&mut rest)? },
            5 => Self::Redo { without, shard: shard(&mut rest)? },
            6 => {
                let shard = shard(&mut rest)?;
                let length = usize::try_from(take(&mut rest)?).ok()?;
                let (account, value) = rest.split_at_checked(length)?;
                let (account, value) = (account.to_vec(), value.to_vec());
                rest = &[];
                Self::Settle { without, shard, account, value }
            }
            _ => return None,
        };
        rest.is_empty().then_some(word)
    }
}

fn put(bytes: &mut Vec<u8>, word: u64) {
    bytes.extend_from_slice(&word.to_le_bytes());
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (word, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*word))
}

fn put_set(bytes: &mut Vec<u8>, set: &BTreeSet<usize>) {
    put(bytes, set.len() as u64);
    set.iter().for_each(|one| bytes.extend_from_slice(&(*one as u32).to_le_bytes()));
}

fn take_set(bytes: &mut &[u8], size: usize) -> Option<BTreeSet<usize>> {
    let count = usize::try_from(take(bytes)?).ok().filter(|count| *count <= size)?;
    let (set, rest) = bytes.split_at_checked(count * 4)?;
    *bytes = rest;
    let numbers = set.as_chunks::<4>().0.iter().map(|one| u32::from_le_bytes(*one) as usize);
    let set: BTreeSet<_> = numbers.collect();
    set.iter().all(|one| *one < size).then_some(set)
}

/// Characters of a reason that are passed on.
const REASON: usize = 400;

/// An error as others are told it. `None`: it concerns this rank alone.
pub(crate) fn encode_abort(error: &OpError) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    match error {
        OpError::Lost { rank, reason, .. } => put_reason(&mut bytes, 0, *rank, reason),
        OpError::Nonsense { rank, reason, .. } => put_reason(&mut bytes, 1, *rank, reason),
        OpError::TimedOut { limit, waiting_for, .. } => {
            bytes.push(2);
            put(&mut bytes, limit.as_ps());
            for rank in waiting_for.iter().take(64) {
                bytes.extend_from_slice(&rank.get().to_le_bytes());
            }
        }
        OpError::Mismatch { one, one_does, other, other_does } => {
            bytes.push(3);
            for (rank, shape) in [(one, one_does), (other, other_does)] {
                bytes.extend_from_slice(&rank.get().to_le_bytes());
                bytes.extend_from_slice(&shape.numbers().0.to_le_bytes());
                put(&mut bytes, shape.numbers().1);
            }
        }
        OpError::TooFarBehind { rank, limit, .. } => {
            let reason = format!("its parcels passed the limit of {limit} bytes");
            put_reason(&mut bytes, 1, *rank, &reason);
        }
        OpError::LeftOut { .. } | OpError::TooFew { .. } | OpError::Refused(_) => return None,
    }
    Some(bytes)
}

fn put_reason(bytes: &mut Vec<u8>, kind: u8, rank: Rank, reason: &str) {
    bytes.push(kind);
    bytes.extend_from_slice(&rank.get().to_le_bytes());
    let short: String = reason.chars().take(REASON).collect();
    bytes.extend_from_slice(short.as_bytes());
}

/// An error that another rank passed on. `None`: nonsense.
pub(crate) fn decode_abort(bytes: &[u8], operation: &'static str, by: Rank) -> Option<OpError> {
    let (kind, mut rest) = bytes.split_first()?;
    let told_by = Some(by);
    let rank = |rest: &mut &[u8]| {
        let (word, after) = rest.split_first_chunk()?;
        *rest = after;
        Some(Rank::new(u32::from_le_bytes(*word)))
    };
    let shape = |rest: &mut &[u8]| {
        let (kind, after) = rest.split_first_chunk()?;
        *rest = after;
        Some(Shape::from_numbers(u16::from_le_bytes(*kind), take(rest)?))
    };
    match kind {
        0 | 1 => {
            let rank = rank(&mut rest)?;
            let reason = String::from_utf8_lossy(rest).into_owned();
            Some(if *kind == 0 {
                OpError::Lost { operation, rank, reason, told_by }
            } else {
                OpError::Nonsense { operation, rank, reason, told_by }
            })
        }
        2 => {
            let limit = Span::from_ps(take(&mut rest)?);
            let waiting_for = std::iter::from_fn(|| rank(&mut rest)).collect();
            Some(OpError::TimedOut { operation, limit, waiting_for, told_by })
        }
        3 => {
            let (one, one_does) = (rank(&mut rest)?, shape(&mut rest)?);
            let (other, other_does) = (rank(&mut rest)?, shape(&mut rest)?);
            Some(OpError::Mismatch { one, one_does, other, other_does })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_the_wire() {
        let without = BTreeSet::from([1, 3]);
        let words = [
            Word::State { without: without.clone(), holds: BTreeSet::from([0]) },
            Word::Have { without: BTreeSet::new() },
            Word::Commit { without: without.clone() },
            Word::Ask { without: without.clone(), shard: 3 },
            Word::Redo { without: without.clone(), shard: 1 },
            Word::Settle { without, shard: 1, account: vec![1, 2], value: vec![3] },
        ];
        for word in words {
            let bytes = word.encode();
            assert_eq!(Word::decode(word.stage(), &bytes, 4), Some(word.clone()));
            assert_eq!(
                Word::decode(word.stage(), &bytes[..bytes.len().min(9)], 4)
                    .filter(|_| bytes.len() > 9),
                None
            );
            assert_eq!(Word::decode(9, &bytes, 4), None);
        }
        let far = Word::Ask { without: BTreeSet::from([4]), shard: 0 };
        assert_eq!(Word::decode(4, &far.encode(), 4), None, "there is no position 4 of 4");
    }

    #[test]
    fn errors_survive_the_wire() {
        let (operation, rank) = ("all_reduce", Rank::new(7));
        let told_by = Some(Rank::new(2));
        let errors = [
            OpError::Lost { operation, rank, reason: "reset".to_owned(), told_by },
            OpError::Nonsense { operation, rank, reason: "é".to_owned(), told_by },
            OpError::TimedOut {
                operation,
                limit: Span::from_ms(5),
                waiting_for: vec![rank],
                told_by,
            },
            OpError::Mismatch {
                one: rank,
                one_does: Shape::from_numbers(5, 6),
                other: Rank::new(1),
                other_does: Shape::from_numbers(7, 8),
            },
        ];
        for error in errors {
            let bytes = encode_abort(&error).expect("others are told");
            assert_eq!(decode_abort(&bytes, operation, Rank::new(2)), Some(error));
        }
        assert_eq!(decode_abort(&[], operation, rank), None);
        assert_eq!(decode_abort(&[3, 0], operation, rank), None);
    }
}
