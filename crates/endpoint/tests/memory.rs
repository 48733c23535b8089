//! Memory stays where it was promised. One test per process part that measures: they run in turn.

mod common;

use std::{sync::Mutex, thread};

use common::{bind, keyed, resident, within};
use laxity_endpoint::Outgoing;

/// Resident memory belongs to the whole process, so measurements must not overlap.
static ALONE: Mutex<()> = Mutex::new(());

const MIB: u64 = 1 << 20;

#[test]
fn a_thousand_idle_peers_take_less_than_20_mib() {
    let _alone = ALONE.lock();
    within(60, || {
        let (client, server) = (bind(keyed()), bind(keyed()));
        let to = server.local_addr();
        // Buffers and threads of the endpoints themselves are there before the first peer counts.
        let warm = client.connect(to).unwrap();
        let before = resident();
        let peers: Vec<_> = (0..1000).map(|_| client.connect(to).unwrap()).collect();
        let used = resident().saturating_sub(before);
        println!("1,000 connections, both sides: {:.1} MiB", used as f64 / MIB as f64);
        assert!(used < 20 * MIB, "{used} bytes for both sides");
        drop((warm, peers));
    });
}

#[test]
fn a_transfer_of_1_gib_adds_less_than_64_mib() {
    let _alone = ALONE.lock();
    within(120, || {
        let size = 1usize << 30;
        let (sender, receiver) = (bind(keyed()), bind(keyed()));
        let to = receiver.local_addr();
        let (data, mut buffer) = (vec![1u8; size], vec![2u8; size]);
        let thread = thread::spawn(move || {
            receiver.recv_into(&mut buffer).unwrap();
            assert!(buffer.iter().all(|byte| *byte == 1));
        });
        let peer = sender.connect(to).unwrap();
        let before = resident();
        let handle = thread::spawn(move || {
            peer.send(Outgoing::bytes(&data)).unwrap();
            data
        });
        let mut peak = 0;
        while !handle.is_finished() {
            peak = peak.max(resident());
            thread::sleep(std::time::Duration::from_millis(2));
        }
        let added = peak.saturating_sub(before);
        println!("1 GiB, both sides: {:.1} MiB", added as f64 / MIB as f64);
        assert!(added < 64 * MIB, "{added} bytes for both sides");
        drop(handle.join().unwrap());
        thread.join().unwrap();
    });
}
