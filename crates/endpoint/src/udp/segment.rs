//! Cutting a scatter list at segment borders.

use std::io::IoSlice;

/// A place in a scatter list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    parts: &'a [IoSlice<'a>],
    /// Bytes of the first part that are already behind us.
    offset: usize,
}

impl<'a> Cursor<'a> {
    /// The place `skip` bytes into the list.
    pub(super) fn at(parts: &'a [IoSlice<'a>], mut skip: usize) -> Self {
        let mut rest = parts;
        while let Some((first, tail)) = rest.split_first() {
            if skip < first.len() {
                break;
            }
            skip -= first.len();
            rest = tail;
        }
        Self { parts: rest, offset: if rest.is_empty() { 0 } else { skip } }
    }

    /// Writes slices that cover the next `bytes` bytes (or what is left of them) to the front of
    /// `out` and moves past them; returns how many slices. `None`, and no move, if `out` is too
    /// short.
    pub(super) fn take(&mut self, mut bytes: usize, out: &mut [IoSlice<'a>]) -> Option<usize> {
        let mut next = *self;
        let mut used = 0;
        while bytes > 0 {
            let Some((first, tail)) = next.parts.split_first() else { break };
            let rest = &first[next.offset..];
            let piece = &rest[..rest.len().min(bytes)];
            if !piece.is_empty() {
                *out.get_mut(used)? = IoSlice::new(piece);
                used += 1;
                bytes -= piece.len();
            }
            if piece.len() == rest.len() {
                next = Self { parts: tail, offset: 0 };
            } else {
                next.offset += piece.len();
            }
        }
        *self = next;
        Some(used)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn joined(slices: &[IoSlice<'_>]) -> Vec<u8> {
        slices.iter().flat_map(|slice| slice.iter().copied()).collect()
    }

    proptest! {
        #[test]
        fn every_cut_gives_the_same_bytes(
            lengths in prop::collection::vec(0_usize..40, 0..30),
            segment in 1_usize..60,
            start in 0_usize..12,
        ) {
            let total = lengths.iter().sum::<usize>();
            let data: Vec<u8> = (0..total).map(|i| i as u8).collect();
            let mut parts = Vec::new();
            let mut rest = &data[..];
            for length in lengths {
                let (head, tail) = rest.split_at(length);
                parts.push(IoSlice::new(head));
                rest = tail;
            }
            let skip = (start * segment).min(total);
            let mut cursor = Cursor::at(&parts, skip);
            let mut room = [IoSlice::new(&[]); 64];
            for expected in data[skip..].chunks(segment) {
                let used = cursor.take(segment, &mut room).unwrap();
                prop_assert_eq!(joined(&room[..used]), expected);
                prop_assert!(room[..used].iter().all(|slice| !slice.is_empty()));
            }
            prop_assert_eq!(cursor.take(segment, &mut room), Some(0));
        }
    }

    #[test]
    fn too_little_room_moves_nothing() {
        let parts = [IoSlice::new(b"ab"), IoSlice::new(b"cd"), IoSlice::new(b"ef")];
        let mut cursor = Cursor::at(&parts, 1);
        let mut room = [IoSlice::new(&[]); 2];
        assert_eq!(cursor.take(5, &mut room), None);
        assert_eq!(cursor.take(3, &mut room), Some(2));
        assert_eq!(joined(&room), b"bcd");
    }
}
