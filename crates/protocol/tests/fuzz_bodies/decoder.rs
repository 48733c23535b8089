//! Bytes into packets and frames, and back.

use laxity_protocol::wire::{
    Accept, Cursor, DataHeader, Frame, Hello, Params, Refuse, Retry, expand_packet_number,
    peek_destination,
};

/// Reads the bytes as every kind of packet and as frames; what can be read can be written and read
/// again with the same meaning.
pub fn packet_decoder(data: &[u8]) {
    let _ = peek_destination(data);
    if let Ok(header) = DataHeader::decode(data) {
        let full = expand_packet_number(header.number, u64::from(header.destination) << 13);
        assert_eq!(full as u32, header.number);
    }
    let _ = Params::decode(data);
    let mut out = Vec::new();
    if let Ok(hello) = Hello::get(data) {
        hello.put(&mut out, 0);
        assert_eq!(Hello::get(&out), Ok(hello));
    }
    if let Ok(accept) = Accept::get(data) {
        out.clear();
        accept.put(&mut out, 0);
        assert_eq!(Accept::get(&out), Ok(accept));
    }
    if let Ok(retry) = Retry::get(data) {
        out.clear();
        retry.put(&mut out);
        assert_eq!(Retry::get(&out), Ok(retry));
    }
    if let Ok(refuse) = Refuse::get(data) {
        out.clear();
        refuse.put(&mut out);
        assert_eq!(Refuse::get(&out), Ok(refuse));
    }
    let mut cursor = Cursor::new(data);
    while !cursor.is_empty() {
        let Ok(frame) = Frame::get(&mut cursor) else { break };
        if matches!(frame, Frame::Piece(..)) {
            continue;
        }
        out.clear();
        frame.put(&mut out, 64 + data.len() * 16);
        let mut again = Cursor::new(&out);
        assert_eq!(Frame::get(&mut again).as_ref(), Ok(&frame));
        assert!(again.is_empty());
    }
}
