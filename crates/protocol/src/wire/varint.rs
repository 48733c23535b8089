//! Variable-length integers as in RFC 9000 §16: two bits of length, then 6, 14, 30 or 62 bits.
//!
//! Longer forms than necessary are legal. Chunk frames rely on that: all of a job's chunks use the
//! width of its largest index, so that their packets have one size and GSO can cut them.

use super::{Cursor, DecodeError};

/// The largest value a varint can carry.
pub const MAX: u64 = (1 << 62) - 1;

/// How many bytes `value` takes in its shortest form.
pub fn width(value: u64) -> usize {
    match value {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    }
}

/// Appends `value` in its shortest form.
///
/// # Panics
/// If `value` exceeds [`MAX`]; callers bound their numbers long before that.
pub fn put(out: &mut Vec<u8>, value: u64) {
    put_wide(out, value, width(value));
}

/// Appends `value` in exactly `width` bytes (1, 2, 4 or 8).
pub fn put_wide(out: &mut Vec<u8>, value: u64, width: usize) {
    assert!(value <= MAX, "varint out of range");
    debug_assert!(width >= self::width(value));
    match width {
        1 => out.push(value as u8),
        2 => out.extend_from_slice(&(0x4000 | value as u16).to_be_bytes()),
        4 => out.extend_from_slice(&(0x8000_0000 | value as u32).to_be_bytes()),
        _ => out.extend_from_slice(&((0b11 << 62) | value).to_be_bytes()),
    }
}

/// Reads one.
pub fn get(cursor: &mut Cursor<'_>) -> Result<u64, DecodeError> {
    let first = cursor.u8()?;
    let more = (1usize << (first >> 6)) - 1;
    let rest = cursor.take(more)?;
    Ok(rest.iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_change_where_the_rfc_says() {
        for (value, expect) in [
            (0, 1),
            (63, 1),
            (64, 2),
            (16383, 2),
            (16384, 4),
            ((1 << 30) - 1, 4),
            (1 << 30, 8),
            (MAX, 8),
        ] {
            assert_eq!(width(value), expect);
            for wide in [1, 2, 4, 8].into_iter().filter(|w| *w >= expect) {
                let mut out = Vec::new();
                put_wide(&mut out, value, wide);
                assert_eq!(out.len(), wide);
                assert_eq!(get(&mut Cursor::new(&out)), Ok(value));
            }
        }
    }

    #[test]
    fn the_rfc_example() {
        let mut out = Vec::new();
        put(&mut out, 494_878_333);
        assert_eq!(out, [0x9d, 0x7f, 0x3e, 0x7d]);
    }

    #[test]
    fn truncated_is_an_error() {
        assert_eq!(get(&mut Cursor::new(&[0x9d, 0x7f])), Err(DecodeError::Truncated));
        assert_eq!(get(&mut Cursor::new(&[])), Err(DecodeError::Truncated));
    }
}
