//! A queue: everything that happens at one endpoint, in one line.

mod common;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use bytes::Bytes;
use common::{bind, fraction, keyed, within};
use laxity_endpoint::{Arrived, Gone, Happening, Outgoing, PeerId, Queue, ReceivedData};

const ROOM: u64 = 8 << 20;

fn queue() -> Queue {
    Queue::new(bind(keyed()), ROOM)
}

fn next(queue: &Queue) -> Happening {
    queue.wait(Some(Instant::now() + Duration::from_secs(60))).expect("something happens")
}

fn connect(from: &Queue, to: &Queue) -> PeerId {
    let peer = from.connect(to.endpoint().local_addr()).expect("starts");
    assert!(matches!(next(from), Happening::Connected(up) if up == peer));
    peer
}

fn bytes(arrived: &Arrived) -> &[u8] {
    match &arrived.outcome {
        Ok((ReceivedData::Tensor { buffer, .. }, _)) => buffer.bytes(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn many_jobs_both_ways_come_out_of_one_line() {
    within(120, || {
        const JOBS: u8 = 50;
        let (one, two) = (queue(), queue());
        let peer = connect(&one, &two);
        let answering = std::thread::spawn(move || {
            let (mut ends, mut came) = (0, 0);
            while ends < JOBS {
                match next(&two) {
                    Happening::Received(arrived) => {
                        came += 1;
                        let label = arrived.open.label.clone();
                        let body = Bytes::copy_from_slice(bytes(&arrived));
                        let job = Outgoing::shared::<u8>(body).label(label);
                        two.send(arrived.id.peer, &job).expect("connected");
                    }
                    Happening::Sent(_, outcome) => {
                        outcome.expect("arrives");
                        ends += 1;
                    }
                    Happening::Connected(_) => {}
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(came, JOBS);
        });
        let mut sent = BTreeMap::new();
        for number in 0..JOBS {
            // Empty ones too.
            let body = vec![number; usize::from(number) * 5_000];
            let job =
                Outgoing::shared::<u8>(body.into()).label([number]).priority(u32::from(number % 3));
            sent.insert(one.send(peer, &job).expect("connected"), number);
        }
        let mut echoes = 0;
        while echoes < JOBS || !sent.is_empty() {
            match next(&one) {
                Happening::Sent(id, outcome) => {
                    assert!(sent.remove(&id).is_some(), "each ends once");
                    assert_eq!(outcome.expect("arrives").fraction(), 1.0);
                }
                Happening::Received(arrived) => {
                    let number = arrived.open.label[0];
                    assert!(bytes(&arrived) == vec![number; usize::from(number) * 5_000]);
                    echoes += 1;
                }
                other => panic!("{other:?}"),
            }
        }
        answering.join().expect("no panic");
    });
}

#[test]
fn who_takes_nothing_holds_the_senders() {
    within(120, || {
        const JOBS: usize = 40;
        let (one, two) = (queue(), queue());
        let peer = connect(&one, &two);
        for _ in 0..JOBS {
            let job = Outgoing::shared::<u8>(vec![7; 1 << 20].into()).min_delivery(fraction(0.9));
            one.send(peer, &job).expect("connected");
        }
        let mut ends = 0;
        while one.wait(Some(Instant::now() + Duration::from_secs(1))).is_some() {
            ends += 1;
        }
        assert!((4..=12).contains(&ends), "{ends} of {JOBS} went into {ROOM} bytes");
        let mut came = 0;
        while came < JOBS {
            match next(&two) {
                Happening::Received(arrived) => {
                    assert_eq!(bytes(&arrived).len(), 1 << 20);
                    came += 1;
                }
                Happening::Connected(_) => {}
                other => panic!("{other:?}"),
            }
        }
        // One that is larger than the room comes alone.
        let job = Outgoing::shared::<u8>(vec![7; 2 * ROOM as usize].into());
        one.send(peer, &job).expect("connected");
        match next(&two) {
            Happening::Received(arrived) => assert_eq!(bytes(&arrived).len(), 2 * ROOM as usize),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn ends_failures_and_rings_are_told() {
    within(120, || {
        let (one, two) = (queue(), queue());
        let peer = connect(&one, &two);
        let bell = one.bell();
        bell.ring();
        bell.ring();
        assert!(matches!(next(&one), Happening::Rung));
        assert!(one.wait(Some(Instant::now())).is_none(), "two rings were one");
        let ringing = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            bell.ring();
        });
        assert!(matches!(next(&one), Happening::Rung), "also one who sleeps");
        ringing.join().expect("no panic");
        drop(two);
        assert!(matches!(next(&one), Happening::Gone(gone, Gone::Closed) if gone == peer));
        assert!(one.send(peer, &Outgoing::shared::<u8>(Bytes::new())).is_err());
        let nobody = Queue::new(bind(keyed().connect_timeout(Duration::from_millis(100))), ROOM);
        let peer = nobody.connect("127.0.0.1:9").expect("starts");
        assert!(matches!(next(&nobody), Happening::ConnectFailed(failed, _) if failed == peer));
    });
}
