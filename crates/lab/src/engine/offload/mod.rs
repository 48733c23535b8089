//! What network cards do for hosts: cut large frames into those of the wire, join received ones.
//!
//! A kernel that sends 64 KB hands them to its card in one piece, with one header and the size of the
//! packets to make of it; a card that receives packets of one flow hands them up in one piece again.
//! For both sides the work per packet becomes work per piece. The switch is the card here: [`cut`]
//! makes the packets of the wire, which meet queues, loss, marks and delay one by one, and [`join`]
//! puts together what arrives at one host at one time.
//!
//! Checksums are left open all the way, as between any two virtual machines of one host: nothing here
//! damages a frame. [`virtio`] is the form in which packet sockets tell all this.
//!
//! Pure functions of bytes: whatever a host sends, nothing here panics.

pub(super) mod cut;
pub(super) mod join;
mod sums;
#[cfg(test)]
mod tests;
pub(super) mod virtio;

/// The Ethernet header.
const ETHERNET: usize = 14;
const TYPE_IPV4: [u8; 2] = [0x08, 0x00];
const TYPE_IPV6: [u8; 2] = [0x86, 0xdd];

/// Where the length, the checksum and so on lie, from the beginning of an IP header.
mod ipv4 {
    pub(super) const HEADER: usize = 20;
    pub(super) const LENGTH: usize = 2;
    pub(super) const ID: usize = 4;
    pub(super) const FRAGMENT: usize = 6;
    pub(super) const PROTOCOL: usize = 9;
    pub(super) const CHECKSUM: usize = 10;
    pub(super) const ADDRESSES: usize = 12;
}

mod ipv6 {
    pub(super) const HEADER: usize = 40;
    pub(super) const LENGTH: usize = 4;
}

mod udp {
    pub(super) const HEADER: usize = 8;
    pub(super) const LENGTH: usize = 4;
    pub(super) const CHECKSUM: u16 = 6;
}

mod tcp {
    pub(super) const HEADER: usize = 20;
    pub(super) const SEQUENCE: usize = 4;
    pub(super) const ACKNOWLEDGED: usize = 8;
    pub(super) const OFFSET: usize = 12;
    pub(super) const FLAGS: usize = 13;
    pub(super) const WINDOW: usize = 14;
    pub(super) const CHECKSUM: u16 = 16;
    pub(super) const URGENT: usize = 18;

    pub(super) const FIN: u8 = 0x01;
    pub(super) const SYN: u8 = 0x02;
    pub(super) const RST: u8 = 0x04;
    pub(super) const PSH: u8 = 0x08;
    pub(super) const URG: u8 = 0x20;
    pub(super) const CWR: u8 = 0x80;
}

/// A 16-bit number of a header.
fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn set_word(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// A 32-bit number of a header.
fn long(bytes: &[u8], at: usize) -> u32 {
    u32::from(word(bytes, at)) << 16 | u32::from(word(bytes, at + 2))
}
