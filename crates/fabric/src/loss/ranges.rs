//! Ranges of elements: what is there where some are missing.

use std::ops::Range;

/// The parts of `whole` outside of `missing`, which is ascending.
pub(crate) fn present(
    whole: Range<usize>,
    missing: &[Range<usize>],
) -> impl Iterator<Item = Range<usize>> + '_ {
    let from = missing.partition_point(|gap| gap.end <= whole.start);
    let mut at = whole.start;
    let mut gaps = missing[from..].iter();
    let mut done = false;
    std::iter::from_fn(move || {
        while !done {
            let (end, next) = match gaps.next().filter(|gap| gap.start < whole.end) {
                Some(gap) => (gap.start.max(at), gap.end.min(whole.end)),
                None => {
                    done = true;
                    (whole.end, whole.end)
                }
            };
            let found = at..end;
            at = next;
            if !found.is_empty() {
                return Some(found);
            }
        }
        None
    })
}

/// How many elements these ranges have.
pub(crate) fn total(ranges: &[Range<usize>]) -> usize {
    ranges.iter().map(ExactSizeIterator::len).sum()
}

/// Whether these are ascending, not empty, do not overlap and end at or before `end`.
pub(crate) fn are_proper(ranges: &[Range<usize>], end: usize) -> bool {
    let mut at = 0;
    ranges.iter().all(|range| {
        let proper = range.start >= at && range.start < range.end && range.end <= end;
        at = range.end;
        proper
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_and_what_is_missing_make_the_whole() {
        let all = |whole, missing: &[_]| present(whole, missing).collect::<Vec<_>>();
        assert_eq!(all(0..10, &[]), [0..10]);
        assert_eq!(all(0..10, &[0..3, 5..6, 9..10]), [3..5, 6..9]);
        assert_eq!(all(4..8, &[0..3, 5..6, 9..10]), [4..5, 6..8]);
        assert_eq!(all(4..8, &[0..5, 7..20]), [5..7]);
        assert_eq!(all(4..8, std::slice::from_ref(&(0..20))), []);
        assert_eq!(all(4..4, &[]), []);
    }

    #[test]
    fn ranges_of_a_liar_are_found() {
        assert!(are_proper(&[0..3, 3..4], 4));
        assert!(!are_proper(&[0..3, 2..4], 4));
        assert!(!are_proper(std::slice::from_ref(&(0..5)), 4));
        assert!(!are_proper(std::slice::from_ref(&(2..2)), 4));
    }
}
