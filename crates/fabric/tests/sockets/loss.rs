//! Laxity's carrier over a network that loses packets: what is missing is known, at both sides alike.

use std::{
    net::{SocketAddr, UdpSocket},
    sync::mpsc,
    time::Duration,
};

use crate::common::{envelope, event, settings, store};
use laxity_fabric::{
    Rank,
    carrier::{Carrier, Event, Parcel, Slack},
    rendezvous::{Fabric, Transport},
};
use laxity_interface::Fraction;
use laxity_protocol::ElementType;

/// Carries datagrams between whoever calls `front` and `to`, and drops one in `drop_one_in`.
fn lossy_way(front: UdpSocket, to: SocketAddr, drop_one_in: u64) {
    let back = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    for socket in [&front, &back] {
        socket.set_read_timeout(Some(Duration::from_millis(100))).expect("a setting");
    }
    let (tell, told) = mpsc::channel();
    let (front_too, back_too) =
        (front.try_clone().expect("a handle"), back.try_clone().expect("a handle"));
    let lost = move |count: &mut u64| {
        *count += 1;
        count.is_multiple_of(drop_one_in)
    };
    std::thread::spawn(move || {
        let (mut buffer, mut count) = ([0; 65_536], 0);
        loop {
            let Ok((length, from)) = front.recv_from(&mut buffer) else { continue };
            // Nobody listens when the test is over.
            if tell.send(from).is_err() {
                return;
            }
            if !lost(&mut count) {
                drop(back.send_to(&buffer[..length], to));
            }
        }
    });
    std::thread::spawn(move || {
        let (mut buffer, mut count) = ([0; 65_536], 0);
        let Ok(caller) = told.recv() else { return };
        loop {
            while told.try_recv().is_ok() {}
            let Ok((length, _)) = back_too.recv_from(&mut buffer) else { continue };
            if !lost(&mut count) {
                drop(front_too.send_to(&buffer[..length], caller));
            }
        }
    });
}

fn numbers(tag: u64, count: usize) -> Vec<f32> {
    (0..count).map(|at| 1.0 + tag as f32 + (at % 1000) as f32).collect()
}

fn parcel(tag: u64, count: usize, least: f64) -> Parcel {
    let body: Vec<u8> =
        numbers(tag, count).iter().flat_map(|number| number.to_le_bytes()).collect();
    Parcel {
        to: Rank::new(0),
        envelope: envelope(tag, ElementType::F32, count),
        body: body.into(),
        slack: Slack::at_least(Fraction::new(least).expect("a fraction")),
    }
}

#[test]
fn what_is_missing_is_the_same_at_both_sides_and_zero() {
    const COUNT: usize = 500_000;
    const LEAST: [f64; 6] = [0.9, 1.0, 0.9, 0.5, 1.0, 0.9];
    let server = store();
    let free = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let real = free.local_addr().expect("bound");
    drop(free);
    let front = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let mut receiver = settings(&server, 0, 2, Transport::Laxity);
    (receiver.bind, receiver.advertise) = (Some(real), front.local_addr().ok());
    let sender = settings(&server, 1, 2, Transport::Laxity);
    lossy_way(front, real, 20);
    let sending = std::thread::spawn(move || {
        let mut fabric = Fabric::join(sender).expect("joins");
        for (tag, least) in LEAST.into_iter().enumerate() {
            fabric.submit(parcel(tag as u64, COUNT, least));
        }
        let mut missed = vec![None; LEAST.len()];
        while missed.iter().any(Option::is_none) {
            match event(&mut fabric) {
                Event::Sent { envelope, missing, .. } => {
                    missed[envelope.channel.sequence as usize] = Some(missing);
                }
                other => panic!("{other:?}"),
            }
        }
        fabric.shutdown(crate::common::LONG);
        missed
    });
    let mut fabric = Fabric::join(receiver).expect("joins");
    let mut missed = vec![None; LEAST.len()];
    while missed.iter().any(Option::is_none) {
        let Event::Arrived(arrival) = event(&mut fabric) else { panic!("only arrivals") };
        let tag = arrival.envelope.channel.sequence;
        let mut expected = numbers(tag, COUNT);
        for range in &arrival.missing {
            expected[range.clone()].fill(0.0);
        }
        let came: Vec<f32> = arrival
            .body
            .chunks_exact(4)
            .map(|number| f32::from_le_bytes([number[0], number[1], number[2], number[3]]))
            .collect();
        assert!(came == expected, "parcel {tag}");
        missed[tag as usize] = Some(arrival.missing);
    }
    fabric.shutdown(crate::common::LONG);
    assert_eq!(missed, sending.join().expect("no panic"), "both sides know the same");
    let mut lost = 0;
    for (ranges, least) in missed.into_iter().flatten().zip(LEAST) {
        let missing: usize = ranges.iter().map(ExactSizeIterator::len).sum();
        assert!(missing as f64 <= COUNT as f64 * (1.0 - least) + 1.0, "{missing} of {COUNT}");
        assert!(
            ranges.windows(2).all(|pair| pair[0].end < pair[1].start),
            "ascending, not touching"
        );
        lost += missing;
    }
    assert!(lost > 0, "one packet in twenty is lost and nothing is missing");
}
