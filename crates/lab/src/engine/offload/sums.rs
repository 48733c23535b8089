//! The Internet checksum (RFC 1071, RFC 1624).

use super::{ipv4, set_word, word};

/// Adds in ones' complement.
pub(super) fn add(one: u16, other: u16) -> u16 {
    let (sum, carry) = one.overflowing_add(other);
    sum + u16::from(carry)
}

/// What a sum becomes when one of its numbers changes.
pub(super) fn replace(sum: u16, old: u16, new: u16) -> u16 {
    add(add(sum, !old), new)
}

/// The sum of the 16-bit numbers in `bytes`; a last odd byte is the high one of its number.
pub(super) fn sum(bytes: &[u8]) -> u16 {
    let pairs = bytes.chunks(2);
    pairs.fold(0, |sum, pair| add(sum, u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)])))
}

/// The sum of the pseudo-header that TCP's and UDP's checksums begin with, over IPv4.
pub(super) fn pseudo_ipv4(header: &[u8], length: u16) -> u16 {
    let addresses = sum(&header[ipv4::ADDRESSES..ipv4::HEADER]);
    add(add(addresses, u16::from(header[ipv4::PROTOCOL])), length)
}

/// Writes the checksum of an IPv4 header.
pub(super) fn seal_ipv4(header: &mut [u8]) {
    set_word(header, ipv4::CHECKSUM, 0);
    let checksum = !sum(header);
    set_word(header, ipv4::CHECKSUM, checksum);
}

/// The place of an open checksum gets the pseudo-header's sum for another length.
pub(super) fn set_length(transport: &mut [u8], offset: u16, old: u16, new: u16) {
    let at = usize::from(offset);
    let sum = replace(word(transport, at), old, new);
    set_word(transport, at, sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(sum(&bytes), 0xddf2);
        assert_eq!(sum(&[0x12]), 0x1200);
        assert_eq!(replace(0xddf2, 0xf203, 0x0001), sum(&[0, 1, 0, 1, 0xf4, 0xf5, 0xf6, 0xf7]));
    }
}
