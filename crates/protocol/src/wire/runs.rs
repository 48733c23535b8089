//! Which of many things are missing, as alternating run lengths.
//!
//! This is the papers' bitmap, run-length coded: two bytes per hole and nothing for what arrived. Up to
//! six per cent of random loss that is less than one bit per item, and one packet covers thousands.

use super::{Cursor, DecodeError, varint};

/// A statement about the items `from..to`: these are missing, all others are there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Runs {
    /// The first item spoken of.
    pub from: u64,
    /// One past the last item spoken of.
    pub to: u64,
    /// Missing items as half-open ranges, ascending, inside `from..to`.
    pub missing: Vec<(u64, u64)>,
}

impl Runs {
    /// Appends the statement, using at most `room` bytes, and returns how far it really reaches.
    /// A statement that does not fit is cut short, never made false.
    pub(crate) fn put(&self, out: &mut Vec<u8>, room: usize) -> u64 {
        let base = out.len();
        varint::put(out, self.from);
        let reach_at = out.len();
        // Room for `to` in its longest form; it is only known at the end how far this goes.
        out.extend_from_slice(&[0; 8]);
        // Two bytes end the list.
        let limit = base + room.saturating_sub(2);
        let mut position = self.from;
        let mut reach = self.to;
        for &(start, end) in &self.missing {
            let bytes = varint::width(start - position) + varint::width(end - start);
            if out.len() + bytes > limit {
                reach = position;
                break;
            }
            varint::put(out, start - position);
            varint::put(out, end - start);
            position = end;
        }
        // Runs always come as (present, missing) pairs; an empty pair ends the list.
        varint::put(out, 0);
        varint::put(out, 0);
        let mut wide = Vec::with_capacity(8);
        varint::put_wide(&mut wide, reach, 8);
        out[reach_at..reach_at + 8].copy_from_slice(&wide);
        reach
    }

    /// Reads what [`put`](Self::put) wrote.
    pub(crate) fn get(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let from = cursor.varint()?;
        let to = cursor.varint()?;
        if to < from {
            return Err(DecodeError::Value("runs.to"));
        }
        let mut missing = Vec::new();
        let mut position = from;
        loop {
            let present = cursor.varint()?;
            let absent = cursor.varint()?;
            if absent == 0 {
                if present == 0 {
                    break;
                }
                return Err(DecodeError::Value("runs.length"));
            }
            let start = position.checked_add(present).ok_or(DecodeError::Value("runs.length"))?;
            let end = start.checked_add(absent).ok_or(DecodeError::Value("runs.length"))?;
            if end > to {
                return Err(DecodeError::Value("runs.length"));
            }
            missing.push((start, end));
            position = end;
        }
        Ok(Self { from, to, missing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(runs: &Runs, room: usize) -> Runs {
        let mut out = Vec::new();
        let reach = runs.put(&mut out, room);
        assert!(out.len() <= room, "{} > {room}", out.len());
        let mut cursor = Cursor::new(&out);
        let back = Runs::get(&mut cursor).unwrap();
        assert!(cursor.is_empty());
        assert_eq!(back.to, reach);
        back
    }

    #[test]
    fn whole_when_there_is_room() {
        let runs = Runs { from: 3, to: 5000, missing: vec![(3, 4), (10, 500), (4999, 5000)] };
        assert_eq!(round_trip(&runs, 100), runs);
        let none = Runs { from: 0, to: 9, missing: vec![] };
        assert_eq!(round_trip(&none, 20), none);
    }

    #[test]
    fn cut_short_but_true_when_there_is_not() {
        let missing: Vec<_> = (0..1000).map(|i| (i * 10, i * 10 + 1)).collect();
        let runs = Runs { from: 0, to: 10_000, missing: missing.clone() };
        for room in 20..90 {
            let back = round_trip(&runs, room);
            assert!(back.to < 10_000 && !back.missing.is_empty());
            let expect: Vec<_> = missing.iter().copied().filter(|r| r.1 <= back.to).collect();
            assert_eq!(back.missing, expect);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let mut out = Vec::new();
        for value in [0u64, 10, 5, 6, 0, 0] {
            varint::put(&mut out, value);
        }
        assert_eq!(Runs::get(&mut Cursor::new(&out)), Err(DecodeError::Value("runs.length")));
    }
}
