//! The bytes of every packet and frame: what is on the wire does not change by accident.

use laxity_interface::{Finish, GroupId};
use laxity_protocol::{
    Ciphers, Counts, ElementType, Ended, GroupOpen, JobId, JobKind, JobOpen, Piece, Refusal,
    wire::{
        Accept, Ack, Cursor, DataHeader, Frame, Hello, Params, Refuse, Retry, Runs, put_chunk,
        put_message,
    },
};

fn hex(bytes: &[u8]) -> String {
    let line = |line: &[u8]| line.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>();
    bytes.chunks(16).map(|chunk| line(chunk).join(" ")).collect::<Vec<_>>().join("\n")
}

/// The bytes, and what reading them gives; padding at the end is only counted.
fn show(bytes: &[u8], read: impl std::fmt::Debug) -> String {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
    let padding = bytes.len() - end;
    let more = if padding > 32 { format!("\n… and {padding} zeros") } else { String::new() };
    let shown = if padding > 32 { &bytes[..end] } else { bytes };
    format!("{}{more}\n\n{read:?}", hex(shown))
}

fn frame(frame: &Frame<'_>) -> String {
    let mut bytes = Vec::new();
    frame.put(&mut bytes, 1000);
    let mut cursor = Cursor::new(&bytes);
    let read = Frame::get(&mut cursor).expect("what was written can be read");
    assert!(cursor.is_empty());
    assert_eq!(read, *frame);
    show(&bytes, read)
}

fn tensor() -> JobOpen {
    JobOpen {
        kind: JobKind::Tensor { element: ElementType::F32, elements: 6_250_000 },
        bytes: 25_000_000,
        piece: 1416,
        finish: Finish::Enough,
        deadline_us: 40_000,
        limit_us: 600_000_000,
        groups: [
            GroupOpen {
                id: GroupId(0),
                counts: Counts { total: 17_000, required: 16_150 },
                ordered: false,
            },
            GroupOpen {
                id: GroupId(300),
                counts: Counts { total: 656, required: 656 },
                ordered: true,
            },
        ]
        .into_iter()
        .collect(),
        label: b"layer4.weight".to_vec(),
    }
}

macro_rules! snapshot {
    ($name:ident, $text:expr) => {
        #[test]
        fn $name() {
            insta::assert_snapshot!($text);
        }
    };
}

snapshot!(frame_padding, frame(&Frame::Padding));
snapshot!(frame_ping, frame(&Frame::Ping));
snapshot!(
    frame_ack,
    frame(&Frame::Ack(Ack {
        ranges: [(1000, 1005), (900, 990), (3, 3)].into_iter().collect(),
        delay_us: 125,
        ect0: 98,
        ce: 2,
        active_senders: 8,
        intake: 117_500,
    }))
);
snapshot!(frame_job_open_tensor, frame(&Frame::JobOpen(JobId(7), tensor())));
snapshot!(
    frame_job_open_window,
    frame(&Frame::JobOpen(
        JobId(70),
        JobOpen {
            kind: JobKind::Messages { open_window: true, max_message: 65_536 },
            bytes: 0,
            piece: 1400,
            finish: Finish::FirstPass,
            deadline_us: 0,
            limit_us: 1_000_000,
            groups: std::iter::once(GroupOpen {
                id: GroupId(1),
                counts: Counts { total: 100, required: 50 },
                ordered: false,
            })
            .collect(),
            label: Vec::new(),
        }
    ))
);
snapshot!(
    frame_window,
    frame(&Frame::Window {
        job: JobId(7),
        bytes: 123_456,
        counts: std::iter::once(Counts { total: 120, required: 60 }).collect(),
    })
);
snapshot!(frame_probe, frame(&Frame::Probe { job: JobId(7), round: 3 }));
snapshot!(
    frame_status_asks,
    frame(&Frame::Status {
        job: JobId(7),
        round: 3,
        ended: None,
        space: 0,
        received: [15_000, 656].into_iter().collect(),
        runs: Runs { from: 0, to: 17_656, missing: vec![(0, 1), (500, 600), (17_655, 17_656)] },
    })
);
snapshot!(
    frame_status_last_word,
    frame(&Frame::Status {
        job: JobId(7),
        round: 4,
        ended: Some(Ended::FirstPass),
        space: 1,
        received: std::iter::once(9).collect(),
        runs: Runs { from: 2, to: 10, missing: vec![(4, 5)] },
    })
);
snapshot!(frame_hold, frame(&Frame::Hold(JobId(7))));
snapshot!(frame_go, frame(&Frame::Go(JobId(7))));
snapshot!(frame_reset, frame(&Frame::Reset { job: JobId(7), by_receiver: true, code: 5 }));
snapshot!(frame_close, frame(&Frame::Close { code: 1 }));

fn payload(head: &[u8], body: &[u8]) -> String {
    let bytes = [head, body].concat();
    let read = Frame::get(&mut Cursor::new(&bytes)).expect("what was written can be read");
    show(&bytes, read)
}

fn chunk_head() -> Vec<u8> {
    let mut head = Vec::new();
    put_chunk(&mut head, JobId(7), GroupId(0), 350_000, 4);
    head
}

fn message_head(length: u64, offset: u64, body: usize) -> Vec<u8> {
    let mut head = Vec::new();
    let (job, group) = (JobId(7), GroupId(2));
    let piece = Piece { job, group, index: 41, length, offset, body: &[] };
    put_message(&mut head, &piece, body);
    head
}

snapshot!(frame_chunk, payload(&chunk_head(), &[0xaa, 0xbb, 0xcc, 0xdd]));
snapshot!(frame_message, payload(&message_head(3, 0, 3), &[1, 2, 3]));
snapshot!(frame_message_empty, payload(&message_head(0, 0, 0), &[]));
snapshot!(frame_part, payload(&message_head(5000, 2800, 4), &[1, 2, 3, 4]));

#[test]
fn packet_hello() {
    let params =
        Params { max_datagram: 1452, eager_bytes: 524_288, ciphers: Ciphers::from_bits(1) }
            .encode();
    let hello = Hello {
        route: 0x0102_0304,
        client: 0x0506_0708,
        key_id: Some([0x11; 8]),
        cookie: Some([0x22; 24]),
        handshake: &params,
    };
    let mut bytes = Vec::new();
    hello.put(&mut bytes, 1452);
    insta::assert_snapshot!(show(&bytes, Hello::get(&bytes).expect("readable")));
}

#[test]
fn packet_retry() {
    let mut bytes = Vec::new();
    Retry { client: 0x0506_0708, cookie: [0x22; 24] }.put(&mut bytes);
    insta::assert_snapshot!(show(&bytes, Retry::get(&bytes).expect("readable")));
}

#[test]
fn packet_accept() {
    let params =
        Params { max_datagram: 1452, eager_bytes: 524_288, ciphers: Ciphers::from_bits(1) }
            .encode();
    let accept = Accept { client: 0x0506_0708, server: 0x090a_0b0c, handshake: &params };
    let mut bytes = Vec::new();
    accept.put(&mut bytes, 1452);
    insta::assert_snapshot!(show(&bytes, Accept::get(&bytes).expect("readable")));
}

#[test]
fn packet_refuse() {
    let mut bytes = Vec::new();
    Refuse { client: 0x0506_0708, why: Refusal::UnknownKey }.put(&mut bytes);
    insta::assert_snapshot!(show(&bytes, Refuse::get(&bytes).expect("readable")));
}

#[test]
fn packet_data_header() {
    let bytes = DataHeader { destination: 0x090a_0b0c, number: 77 }.encode();
    insta::assert_snapshot!(show(&bytes, DataHeader::decode(&bytes).expect("readable")));
}

/// What a chunk packet of 1400 payload bytes carries besides, with authentication.
#[test]
fn header_overhead_is_below_two_and_a_half_per_cent() {
    const TAG: usize = 16;
    let mut head = DataHeader { destination: 1, number: 1 }.encode().to_vec();
    // The 50th job of a connection, a group of its own, a tensor of 2^29 elements.
    put_chunk(&mut head, JobId(50), GroupId(63), 1 << 29, 4);
    let overhead = head.len() + TAG;
    assert_eq!(overhead, 32);
    assert!((overhead as f64) < 0.025 * 1400.0);
}
