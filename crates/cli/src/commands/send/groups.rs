//! `--group 0..1MiB=1`: byte ranges with a minimum of their own.

use std::{ops::Range, str::FromStr};

use anyhow::Result;
use laxity_endpoint::{ElementType, GroupId, GroupSpec};
use laxity_interface::{Bytes, Fraction};

use crate::failure::usage;

/// The most groups that a job has, the one of the rest included.
const MOST: usize = 64;

/// A range of bytes and what must arrive of it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct GroupRange {
    start: u64,
    /// `None`: the end of the data.
    end: Option<u64>,
    min_delivery: Fraction,
}

impl FromStr for GroupRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not RANGE=FRACTION; write it like `0..1MiB=1`");
        let (range, fraction) = text.rsplit_once('=').ok_or_else(wrong)?;
        let (start, end) = range.split_once("..").ok_or_else(wrong)?;
        let size = |text: &str| text.parse::<Bytes>().map(Bytes::get).map_err(|e| e.to_string());
        let start = if start.trim().is_empty() { 0 } else { size(start)? };
        let end = if end.trim().is_empty() { None } else { Some(size(end)?) };
        if end.is_some_and(|end| end <= start) {
            return Err(format!("`{range}` is empty: it ends before it starts"));
        }
        let min_delivery = fraction.parse().map_err(|error| format!("{error}"))?;
        Ok(Self { start, end, min_delivery })
    }
}

/// All groups of a transfer.
#[derive(Debug)]
pub(crate) struct Groups {
    /// The fraction of what no range covers: group 0.
    rest: Fraction,
    /// Ascending, with their numbers.
    ranges: Vec<(GroupId, GroupRange)>,
    element: u64,
}

impl Groups {
    /// Checks that the ranges go together.
    pub(crate) fn new(given: &[GroupRange], rest: Fraction, element: ElementType) -> Result<Self> {
        if given.len() >= MOST {
            return Err(usage(format!("{} groups are too many; at most 63", given.len())));
        }
        let size = element.size() as u64;
        for GroupRange { start, end, .. } in given {
            if let Some(odd) = [Some(*start), *end].into_iter().flatten().find(|at| at % size != 0)
            {
                let name = element.name();
                return Err(usage(format!(
                    "--group: byte {odd} is inside an element; with --element {name} ranges begin \
                     and end at multiples of {size}"
                )));
            }
        }
        let numbers = (1..).map(GroupId);
        let mut ranges: Vec<_> = numbers.zip(given.iter().cloned()).collect();
        ranges.sort_by_key(|(_, range)| range.start);
        for pair in ranges.windows(2) {
            let (before, after) = (&pair[0].1, &pair[1].1);
            if before.end.is_none_or(|end| end > after.start) {
                return Err(usage(format!("--group: two ranges overlap at byte {}", after.start)));
            }
        }
        Ok(Self { rest, ranges, element: size })
    }

    /// The furthest byte that any range speaks of.
    pub(crate) fn reach(&self) -> u64 {
        let ends = self.ranges.iter().map(|(_, range)| range.end.unwrap_or(range.start));
        ends.max().unwrap_or(0)
    }

    /// The groups of a job that carries these bytes of the whole: what they promise, and from which
    /// element of the job on which counts.
    pub(crate) fn of(&self, bytes: Range<u64>) -> (Vec<GroupSpec>, Vec<(u64, GroupId)>) {
        let mut groups = Vec::new();
        let mut starts: Vec<(u64, GroupId)> = Vec::new();
        let mut begin = |at: u64, id, min_delivery| {
            starts.push(((at - bytes.start) / self.element, id));
            if !groups.iter().any(|group: &GroupSpec| group.id == id) {
                groups.push(GroupSpec { id, min_delivery });
            }
        };
        let mut at = bytes.start;
        for (id, range) in &self.ranges {
            let start = range.start.max(at);
            let end = range.end.unwrap_or(bytes.end).min(bytes.end);
            if start >= end {
                continue;
            }
            if at < start {
                begin(at, GroupId(0), self.rest);
            }
            begin(start, *id, range.min_delivery);
            at = end;
        }
        if at < bytes.end || bytes.is_empty() {
            begin(at, GroupId(0), self.rest);
        }
        (groups, starts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(texts: &[&str], element: ElementType) -> Result<Groups> {
        let ranges: Vec<GroupRange> = texts.iter().map(|text| text.parse().unwrap()).collect();
        Groups::new(&ranges, Fraction::ZERO, element)
    }

    fn starts(groups: &Groups, bytes: Range<u64>) -> Vec<(u64, u16)> {
        groups.of(bytes).1.into_iter().map(|(at, id)| (at, id.0)).collect()
    }

    #[test]
    fn ranges_are_read_with_units() {
        let range: GroupRange = "1KiB..1MiB=95%".parse().unwrap();
        let min_delivery = Fraction::new(0.95).unwrap();
        assert_eq!(range, GroupRange { start: 1024, end: Some(1 << 20), min_delivery });
        assert_eq!("..4=1".parse::<GroupRange>().unwrap().start, 0);
        assert_eq!("4..=1".parse::<GroupRange>().unwrap().end, None);
        for bad in ["", "0..1", "0-1=1", "5..5=1", "1..0=1", "0..1=2", "0..1XB=1"] {
            assert!(bad.parse::<GroupRange>().is_err(), "{bad}");
        }
    }

    #[test]
    fn what_no_range_covers_is_group_0() {
        let groups = groups(&["80..=0.5", "16..32=1"], ElementType::F32).unwrap();
        assert_eq!(starts(&groups, 0..100), [(0, 0), (4, 2), (8, 0), (20, 1)]);
        assert_eq!(starts(&groups, 0..64), [(0, 0), (4, 2), (8, 0)]);
        assert_eq!(starts(&groups, 64..128), [(0, 0), (4, 1)]);
        assert_eq!(starts(&groups, 16..32), [(0, 2)], "no rest, no group 0");
        assert_eq!(groups.of(16..32).0.len(), 1);
        assert_eq!(starts(&groups, 128..128), [(0, 0)], "even nothing has a group");
    }

    #[test]
    fn ranges_that_contradict_are_refused() {
        assert!(groups(&["0..10=1", "9..20=1"], ElementType::U8).is_err());
        assert!(groups(&["0..=1", "9..20=1"], ElementType::U8).is_err());
        assert!(groups(&["0..6=1"], ElementType::F32).unwrap_err().to_string().contains("4"));
        assert!(groups(&["10..20=1", "0..10=1"], ElementType::U8).is_ok());
    }
}
