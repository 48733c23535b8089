//! Two connected endpoints, driven by a list of operations over a path that may do anything.

use arbitrary::{Arbitrary, Unstructured};
use laxity_interface::{Ecn, Finish, Fraction, GroupId, Rate, Span};
use laxity_protocol::{
    ElementType, GroupSpec, LaneKind, MessageOrder, Payload, ResetCode, SendRequest,
    wire::DataHeader,
};

use super::pair::Pair;

#[derive(Arbitrary, Debug)]
enum Step {
    Tensor {
        side: bool,
        bytes: u16,
        least: [u8; 2],
        split: u16,
        enough: bool,
        deadline: u8,
    },
    Messages {
        side: bool,
        sizes: Vec<u16>,
        least: [u8; 2],
        window: Option<u8>,
        given: bool,
    },
    Push {
        side: bool,
        job: u8,
        group: bool,
        size: u16,
    },
    CloseWindow {
        side: bool,
        job: u8,
    },
    Claim {
        side: bool,
        job: u8,
    },
    CancelSend {
        side: bool,
        job: u8,
    },
    CancelRecv {
        side: bool,
        job: u8,
    },
    Deliver {
        side: bool,
        count: u8,
        mark: bool,
    },
    Drop {
        side: bool,
        at: u8,
    },
    Repeat {
        side: bool,
        at: u8,
    },
    Swap {
        side: bool,
        at: u8,
        with: u8,
    },
    Damage {
        side: bool,
        at: u8,
        byte: u16,
        mask: u8,
    },
    Inject {
        side: bool,
        bytes: Vec<u8>,
    },
    /// Frames in a packet that is sealed as the other side would.
    Forge {
        side: bool,
        skip: u8,
        frames: Vec<u8>,
    },
    Wait {
        us: u16,
    },
    Sleep {
        ms: u16,
    },
    Assign {
        side: bool,
        slack: bool,
        kbps: u16,
    },
    Close {
        side: bool,
    },
}

/// Drives the endpoints; afterwards the path is good and everything must come to an end.
pub fn operations(data: &[u8]) {
    let mut source = Unstructured::new(data);
    let Ok(keyed) = bool::arbitrary(&mut source) else { return };
    let mut pair = Pair::new(keyed);
    let _ = pair.ends[0].connect(pair.now, pair.addresses[1]);
    pair.drain(0);
    while pair.deliver_next(1) || pair.deliver_next(0) {}
    let mut forged = 1;
    for _ in 0..200 {
        let Ok(step) = Step::arbitrary(&mut source) else { break };
        apply(&mut pair, step, &mut forged);
        pair.check_bounds();
    }
    pair.settle();
}

fn fraction(byte: u8) -> Fraction {
    Fraction::new(f64::from(byte) / 255.0).expect("at most one")
}

fn groups(least: [u8; 2]) -> Vec<GroupSpec> {
    let group = |(at, byte)| GroupSpec { id: GroupId(at), min_delivery: fraction(byte) };
    [0, 1].into_iter().zip(least).map(group).collect()
}

fn send(pair: &mut Pair, side: usize, request: &SendRequest) {
    if let Some(peer) = pair.peers[side]
        && let Ok(id) = pair.ends[side].send(pair.now, peer, request)
    {
        pair.sends[side].push(id);
    }
}

fn pick<T: Copy>(list: &[T], at: u8) -> Option<T> {
    (!list.is_empty()).then(|| list[usize::from(at) % list.len()])
}

fn apply(pair: &mut Pair, step: Step, forged: &mut u64) {
    let now = pair.now;
    match step {
        Step::Tensor { side, bytes, least, split, enough, deadline } => {
            let elements = u64::from(bytes) * 3;
            let ranges = vec![(0, GroupId(0)), (u64::from(split).max(1), GroupId(1))];
            let request = SendRequest {
                payload: Payload::Tensor { element: ElementType::U8, elements, groups: ranges },
                groups: groups(least),
                finish: if enough { Finish::Enough } else { Finish::FirstPass },
                deadline: (deadline > 0).then(|| Span::from_ms(u64::from(deadline))),
                ..SendRequest::messages([], Fraction::ONE)
            };
            send(pair, usize::from(side), &request);
        }
        Step::Messages { side, sizes, least, window, given } => {
            let group = |at: usize| GroupId((at % 2) as u16);
            let sizes = sizes.iter().take(40).enumerate();
            let sizes = sizes.map(|(at, size)| (group(at), u64::from(*size) % 9000)).collect();
            let estimate = window.map_or(Vec::new(), |n| vec![u64::from(n), u64::from(n / 2)]);
            let request = SendRequest {
                payload: Payload::Messages { sizes, estimate, max_message: 9000 },
                groups: groups(least),
                order: if given { MessageOrder::Given } else { MessageOrder::FewestRemaining },
                ..SendRequest::messages([], Fraction::ONE)
            };
            send(pair, usize::from(side), &request);
        }
        Step::Push { side, job, group, size } => {
            let side = usize::from(side);
            if let Some(id) = pick(&pair.sends[side], job) {
                let _ = pair.ends[side].push(id, GroupId(u16::from(group)), u64::from(size));
            }
        }
        Step::CloseWindow { side, job } => {
            let side = usize::from(side);
            if let Some(id) = pick(&pair.sends[side], job) {
                let _ = pair.ends[side].close_window(id);
            }
        }
        Step::Claim { side, job } => {
            let side = usize::from(side);
            if let Some(id) = pick(&pair.recvs[side], job) {
                pair.ends[side].claim(now, id);
            }
        }
        Step::CancelSend { side, job } => {
            let side = usize::from(side);
            if let Some(id) = pick(&pair.sends[side], job) {
                pair.ends[side].cancel_send(id);
            }
        }
        Step::CancelRecv { side, job } => {
            let side = usize::from(side);
            if let Some(id) = pick(&pair.recvs[side], job) {
                pair.ends[side].cancel_recv(now, id, ResetCode::Cancelled);
            }
        }
        Step::Assign { side, slack, kbps } => {
            let side = usize::from(side);
            if let Some(peer) = pair.peers[side] {
                let lane = if slack { LaneKind::Slack } else { LaneKind::Exact };
                pair.ends[side].assign_rate(peer, lane, Rate::bps(u64::from(kbps) * 1000));
            }
        }
        Step::Close { side } => {
            let side = usize::from(side);
            if let Some(peer) = pair.peers[side].take() {
                pair.ends[side].close(now, peer);
            }
        }
        Step::Wait { us } => pair.advance(Span::from_us(u64::from(us))),
        Step::Sleep { ms } => pair.advance(Span::from_ms(u64::from(ms) % 8000)),
        network => disturb(pair, network, forged),
    }
    for side in 0..2 {
        pair.drain(side);
    }
}

/// What the network does.
fn disturb(pair: &mut Pair, step: Step, forged: &mut u64) {
    let place = |pair: &Pair, to: usize, at: u8| {
        let length = pair.wire[to].len();
        (length > 0).then(|| usize::from(at) % length)
    };
    match step {
        Step::Deliver { side, count, mark } => {
            for _ in 0..count {
                let to = usize::from(side);
                if let Some((ecn, _)) = pair.wire[to].first_mut()
                    && mark
                {
                    *ecn = ecn.marked();
                }
                if !pair.deliver_next(to) {
                    break;
                }
            }
        }
        Step::Drop { side, at } => {
            let to = usize::from(side);
            if let Some(at) = place(pair, to, at) {
                pair.wire[to].remove(at);
            }
        }
        Step::Repeat { side, at } => {
            let to = usize::from(side);
            if let Some(at) = place(pair, to, at) {
                let copy = pair.wire[to][at].clone();
                pair.wire[to].push(copy);
            }
        }
        Step::Swap { side, at, with } => {
            let to = usize::from(side);
            if let (Some(at), Some(with)) = (place(pair, to, at), place(pair, to, with)) {
                pair.wire[to].swap(at, with);
            }
        }
        Step::Damage { side, at, byte, mask } => {
            let to = usize::from(side);
            if let Some(at) = place(pair, to, at) {
                let bytes = &mut pair.wire[to][at].1;
                let byte = usize::from(byte) % bytes.len();
                bytes[byte] ^= mask;
            }
        }
        Step::Inject { side, bytes } => {
            let to = usize::from(side);
            pair.deliver(to, pair.addresses[1 - to], Ecn::NotEct, bytes);
        }
        Step::Forge { side, skip, frames } => {
            let to = usize::from(side);
            let Some((client, server)) = pair.ids else { return };
            *forged += u64::from(skip);
            let destination = if to == 0 { client } else { server };
            let mut packet = DataHeader { destination, number: *forged as u32 }.encode().to_vec();
            packet.extend_from_slice(&frames);
            let salt = client ^ server.rotate_left(16);
            let salt = if to == 1 { salt } else { !salt };
            let mut hasher = crc32fast::Hasher::new_with_initial(salt);
            hasher.update(&packet);
            packet.extend_from_slice(&hasher.finalize().to_be_bytes());
            pair.deliver(to, pair.addresses[1 - to], Ecn::NotEct, packet);
        }
        _ => {}
    }
}
