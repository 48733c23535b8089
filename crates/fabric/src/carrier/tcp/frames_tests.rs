//! Parcels through outbox and reader, over bytes that come in pieces of any size.

use std::io::{self, Read};

use laxity_protocol::ElementType;

use super::{
    frame::FRAME_BYTES,
    outbox::Outbox,
    reader::{Came, Reader, Rest},
};
use crate::{
    carrier::{Channel, Envelope, Lane, Parcel, Signature, Slack},
    rank::{GroupId, Rank},
};

fn parcel(sequence: u64, priority: u32, bytes: usize) -> Parcel {
    let channel = Channel { lane: Lane::Direct, group: GroupId::WORLD, sequence, step: 0, part: 0 };
    let signature = Signature { kind: 1, element: ElementType::U8, count: bytes as u64 };
    Parcel {
        to: Rank::new(1),
        envelope: Envelope { channel, signature },
        body: (0..bytes).map(|i| (i as u64 * 31 + sequence) as u8).collect::<Vec<_>>().into(),
        slack: Slack { priority, ..Slack::EXACT },
    }
}

/// Writes `most` bytes at a time and says which parcels were through.
fn write(outbox: &mut Outbox, most: usize, wire: &mut Vec<u8>) -> Vec<u64> {
    let mut left = most;
    for slice in outbox.slices() {
        let count = slice.len().min(left);
        wire.extend_from_slice(&slice[..count]);
        left -= count;
    }
    let through = outbox.wrote(most - left);
    through.iter().map(|envelope| envelope.channel.sequence).collect()
}

/// Gives bytes in pieces, with nothing in between.
struct Trickle<'a>(&'a [u8], usize, bool);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.2 = !self.2;
        if self.2 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = self.0.len().min(self.1).min(buffer.len());
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

fn read(wire: &[u8], piece: usize) -> Vec<Came> {
    let (mut reader, mut came) = (Reader::new(1 << 30), Vec::new());
    let mut source = Trickle(wire, piece, false);
    while reader.read(&mut source, usize::MAX, &mut came).expect("well-formed") != Rest::End {}
    assert!(!reader.is_busy());
    came
}

fn sequences(came: &[Came]) -> Vec<u64> {
    let sequence = |came: &Came| match came {
        Came::Parcel(envelope, _) | Came::Void(envelope) => envelope.channel.sequence,
        Came::Goodbye => u64::MAX,
    };
    came.iter().map(sequence).collect()
}

#[test]
fn parcels_of_all_sizes_survive_any_cut() {
    for piece in [1, 7, 16, 4096, 100_000, usize::MAX] {
        let sizes = [0, 1, 64, FRAME_BYTES - 1, FRAME_BYTES, FRAME_BYTES + 1, 3 * FRAME_BYTES];
        // Byte by byte the large ones would only take time.
        let sizes: Vec<_> =
            sizes.into_iter().filter(|size| *size < piece.saturating_mul(100_000)).collect();
        let (mut outbox, mut wire) = (Outbox::default(), Vec::new());
        for (sequence, size) in sizes.iter().enumerate() {
            outbox.push(parcel(sequence as u64, 0, *size));
        }
        outbox.say_goodbye();
        while !outbox.is_empty() {
            write(&mut outbox, piece.min(70_000), &mut wire);
        }
        let came = read(&wire, piece);
        assert_eq!(came.len(), sizes.len() + 1);
        assert_eq!(came.last(), Some(&Came::Goodbye));
        for (sequence, (came, size)) in came.iter().zip(sizes).enumerate() {
            let sent = parcel(sequence as u64, 0, size);
            assert_eq!(*came, Came::Parcel(sent.envelope, sent.body), "{size} bytes");
        }
    }
}

#[test]
fn an_urgent_parcel_overtakes_a_large_one_after_at_most_what_was_fixed() {
    let (mut outbox, mut wire) = (Outbox::default(), Vec::new());
    outbox.push(parcel(1, 5, 100 * FRAME_BYTES));
    assert!(write(&mut outbox, 1000, &mut wire).is_empty());
    outbox.push(parcel(2, 0, 10));
    outbox.push(parcel(3, 9, 10));
    let mut order = Vec::new();
    while !outbox.is_empty() {
        let through = write(&mut outbox, FRAME_BYTES, &mut wire);
        if through.contains(&2) {
            assert!(wire.len() < 4 * FRAME_BYTES, "after {} bytes", wire.len());
        }
        order.extend(through);
    }
    assert_eq!(order, [2, 1, 3]);
    assert_eq!(sequences(&read(&wire, usize::MAX)), [2, 1, 3]);
}

#[test]
fn what_was_taken_back_is_void_at_the_other_side() {
    let (mut outbox, mut wire) = (Outbox::default(), Vec::new());
    let large = outbox.push(parcel(1, 0, 10 * FRAME_BYTES));
    let waiting = outbox.push(parcel(2, 0, 10));
    write(&mut outbox, 1000, &mut wire);
    assert!(outbox.withdraw(large).is_some());
    assert!(outbox.withdraw(waiting).is_some());
    assert!(outbox.withdraw(waiting).is_none(), "only once");
    outbox.push(parcel(3, 0, 10));
    while !outbox.is_empty() {
        write(&mut outbox, usize::MAX, &mut wire);
    }
    let came = read(&wire, usize::MAX);
    assert!(matches!(came[..], [Came::Void(_), Came::Void(_), Came::Parcel(..)]));
    assert_eq!(sequences(&came), [1, 2, 3]);
}

#[test]
fn never_more_open_parcels_than_the_reader_takes() {
    let (mut outbox, mut wire) = (Outbox::default(), Vec::new());
    // Each is more urgent than all before it, and interrupts them.
    for sequence in 0..100 {
        outbox.push(parcel(sequence, 1000 - sequence as u32, 4 * FRAME_BYTES));
        write(&mut outbox, FRAME_BYTES, &mut wire);
    }
    while !outbox.is_empty() {
        write(&mut outbox, usize::MAX, &mut wire);
    }
    let mut came = sequences(&read(&wire, usize::MAX));
    came.sort_unstable();
    assert_eq!(came, (0..100).collect::<Vec<_>>());
}

#[test]
fn what_was_not_through_is_named() {
    let mut outbox = Outbox::default();
    for sequence in 0..3 {
        outbox.push(parcel(sequence, 0, FRAME_BYTES));
    }
    write(&mut outbox, FRAME_BYTES + 100, &mut Vec::new());
    let left: Vec<_> = outbox.drain().iter().map(|envelope| envelope.channel.sequence).collect();
    assert_eq!(left, [1, 2]);
    assert!(outbox.is_empty());
}

#[test]
fn contradictions_end_the_conversation() {
    let mut good = Vec::new();
    let mut outbox = Outbox::default();
    outbox.push(parcel(1, 0, 100));
    write(&mut outbox, usize::MAX, &mut good);
    let broken = |at: usize, value: u8| {
        let mut wire = good.clone();
        wire[at] = value;
        let (mut reader, mut came) = (Reader::new(1 << 20), Vec::new());
        let error = reader.read(&mut &wire[..], usize::MAX, &mut came).expect_err("broken");
        error.to_string()
    };
    assert!(broken(0, 77).contains("kind 77"));
    assert!(broken(0, 2).contains("not open"));
    assert!(broken(7, 1).contains("the most is"), "a frame longer than frames may be");
    assert!(broken(16, 9).contains("lane 9"));
    assert!(broken(52, 1).contains("a parcel of"), "larger than parcels may be");
    assert!(broken(49, 1).contains("a frame of 100 bytes for"));
}
