//! How much memory state takes, by a counting allocator.
#![allow(unsafe_code, reason = "a global allocator is unsafe by nature")]

mod harness;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    net::SocketAddr,
};

use harness::raw::Zeros;
use laxity_interface::{Ecn, Fraction, Span, Time};
use laxity_protocol::{Batch, Config, ElementType, Endpoint, Event, Key, SendRequest};

struct Counting;

thread_local! {
    /// Bytes this thread holds, and the most it held.
    static HELD: Cell<(i64, i64)> = const { Cell::new((0, 0)) };
}

fn count(bytes: i64) {
    // A thread that is ending may free after its counters are gone.
    let _ = HELD.try_with(|held| {
        let now = held.get().0 + bytes;
        held.set((now, held.get().1.max(now)));
    });
}

// SAFETY: every call goes to the system's allocator unchanged; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller keeps the contract of `alloc`, which is passed on as it is.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: `pointer` came from `alloc` above with this layout, hence from the system.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        // SAFETY: as for `dealloc`, and the caller vouches for `size`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn held() -> i64 {
    HELD.get().0
}

const MIB: i64 = 1 << 20;

fn address(at: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, (at >> 8) as u8, at as u8], 4000))
}

/// Packets straight from one endpoint to the other, as long as there are any.
fn exchange(now: Time, hub: &mut Endpoint, leaf: &mut Endpoint, at: usize, memory: &Zeros) -> bool {
    let (mut batch, mut moved) = (Batch::default(), false);
    while let Some(sent) = leaf.poll_transmit(now, memory, &mut batch) {
        for mut packet in batch.packets(&sent, memory) {
            hub.handle_datagram(now, address(at), Ecn::Ect0, &mut packet, &mut ());
            moved = true;
        }
    }
    while let Some(sent) = hub.poll_transmit(now, memory, &mut batch) {
        for mut packet in batch.packets(&sent, memory) {
            assert_eq!(sent.to, address(at));
            leaf.handle_datagram(now, address(5000), Ecn::Ect0, &mut packet, &mut ());
            moved = true;
        }
    }
    moved
}

#[test]
fn a_thousand_idle_peers_fit_into_20_mebibytes() {
    let memory = Zeros::default();
    for config in [Config::insecure(), Config::keyed(Key::new([6; 32]))] {
        let mut hub = Endpoint::new(config.clone(), [1; 32]);
        let (before, now) = (held(), Time::ZERO + Span::from_ms(1));
        let mut leaves = Vec::with_capacity(1000);
        for at in 0..1000 {
            let mut leaf = Endpoint::new(config.clone(), [(at % 251) as u8; 32]);
            leaf.connect(now, address(5000)).expect("room");
            let mut time = now;
            for _ in 0..50 {
                exchange(time, &mut hub, &mut leaf, at, &memory);
                time += Span::from_us(100);
                leaf.handle_timeout(time);
                hub.handle_timeout(time);
            }
            while leaf.poll_event().is_some() || hub.poll_event().is_some() {}
            leaves.push(leaf);
        }
        assert_eq!(
            hub.peers().filter(|peer| hub.peer(*peer).expect("known").connected).count(),
            1000
        );
        let all = held() - before;
        drop(leaves);
        let of_hub = held() - before;
        println!("1000 idle peers: {of_hub} bytes at the hub, {all} with the other sides");
        assert!(all < 20 * MIB, "{all}");
    }
}

/// A transfer without a network: what the two sides keep while it runs.
fn transfer(config: Config, bytes: u64, loss: u64) -> (i64, i64) {
    let memory = Zeros::default();
    let mut ends = [Endpoint::new(config.clone(), [1; 32]), Endpoint::new(config, [2; 32])];
    let addresses = [address(0), address(1)];
    let mut now = Time::ZERO + Span::from_ms(1);
    let before = held();
    let peer = ends[0].connect(now, addresses[1]).expect("room");
    // Packets travel for a tick of 100 µs.
    let mut wire: [Vec<Vec<u8>>; 2] = Default::default();
    let (mut batch, mut most, mut count) = (Batch::default(), [0; 2], 0u64);
    let mut done = 0;
    while done < 2 {
        now += Span::from_us(100);
        for side in 0..2 {
            let other = 1 - side;
            let arriving = std::mem::take(&mut wire[other]);
            let start = held();
            let freed: i64 = arriving.iter().map(|packet| packet.capacity() as i64).sum();
            for mut packet in arriving {
                count += 1;
                // Losses of payload only, so that this stays short.
                if loss == 0 || packet.len() < 1000 || count % loss != 0 {
                    let end = &mut ends[side];
                    end.handle_datagram(now, addresses[other], Ecn::Ect0, &mut packet, &mut ());
                }
            }
            ends[side].handle_timeout(now);
            let mut sent = 0;
            while let Some(transmit) = ends[side].poll_transmit(now, &memory, &mut batch) {
                let packets = batch.packets(&transmit, &memory);
                sent += packets.iter().map(|packet| packet.capacity() as i64).sum::<i64>();
                wire[side].extend(packets);
            }
            while let Some(event) = ends[side].poll_event() {
                match event {
                    Event::Connected(_) if side == 0 => {
                        let least = Fraction::new(0.95).expect("a fraction");
                        let job = SendRequest::tensor(ElementType::F32, bytes / 4, least);
                        ends[0].send(now, peer, &job).expect("room");
                    }
                    Event::Offered { id, claimed: false, .. } => {
                        ends[side].claim(now, id);
                    }
                    Event::Sent(..) | Event::Received(..) => done += 1,
                    Event::SendFailed(_, error) | Event::RecvFailed(_, error) => panic!("{error}"),
                    _ => {}
                }
            }
            // What this side holds more than before, without packets on the wire.
            most[side] += held() - start - sent + freed;
            HIGH.with(|high| {
                let mut peak = high.get();
                peak[side] = peak[side].max(most[side]);
                high.set(peak);
            });
        }
    }
    let peak = HIGH.replace([0; 2]);
    drop(wire);
    drop(ends);
    println!("{bytes} bytes: at most {peak:?} bytes of books, left over {}", held() - before);
    (peak[0], peak[1])
}

thread_local! {
    static HIGH: Cell<[i64; 2]> = const { Cell::new([0; 2]) };
}

#[test]
fn the_books_of_a_gibibyte_stay_below_64_mebibytes() {
    for loss in [0, 50] {
        let (sender, receiver) = transfer(Config::insecure(), 1 << 30, loss);
        assert!(sender < 64 * MIB && receiver < 64 * MIB, "{sender} {receiver}");
    }
}
