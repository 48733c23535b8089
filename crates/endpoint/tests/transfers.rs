//! Jobs of every kind between real sockets on loopback.

mod common;

use std::{thread, time::Duration};

use bytes::Bytes;
use common::{bind, block_on, fraction, keyed, pair, within};
use half::{bf16, f16};
use laxity_endpoint::{
    Element, Endpoint, Finish, GroupId, GroupSpec, JobError, MessageOrder, Missing, Outgoing,
    RecvError, ResetCode, SendError,
};

fn round_trip<T: Element + PartialEq + std::fmt::Debug>(numbers: Vec<T>) {
    within(20, move || {
        let (sender, receiver) = pair();
        let to = receiver.local_addr();
        let expect = numbers.clone();
        let thread = thread::spawn(move || receiver.recv().unwrap());
        let peer = sender.connect(to).unwrap();
        let sent = peer.send(Outgoing::tensor(&numbers).label("gradients")).unwrap();
        let received = thread.join().unwrap();
        assert_eq!(received.label, b"gradients");
        assert_eq!(received.tensor::<T>().unwrap(), expect);
        assert!(received.tensor::<u8>().is_none() || size_of::<T>() == 1);
        assert_eq!(sent.groups, received.report.groups);
        assert!(sent.missing.is_empty() && received.report.missing.is_empty());
    });
}

#[test]
fn tensors_of_every_element_type() {
    round_trip::<u8>((0..70_001u32).map(|n| n as u8).collect());
    round_trip::<i8>((0..1000i32).map(|n| n as i8).collect());
    round_trip::<i16>((0..50_000i32).map(|n| n as i16).collect());
    round_trip::<i32>((-5..50_000).collect());
    round_trip::<i64>((-5..50_000).collect());
    round_trip::<f16>((0..9999u16).map(|n| f16::from_f32(f32::from(n))).collect());
    round_trip::<bf16>((0..9999u16).map(|n| bf16::from_f32(f32::from(n))).collect());
    round_trip::<f32>((0..300_000u32).map(|n| n as f32).collect());
    round_trip::<f64>((0..100_000u32).map(f64::from).collect());
    round_trip::<f32>(Vec::new());
}

#[test]
fn a_large_tensor_goes_straight_into_a_posted_buffer() {
    within(30, || {
        let (sender, receiver) = pair();
        let to = receiver.local_addr();
        // Larger than what is received unasked: only the posted buffer lets it in.
        let numbers: Vec<i64> = (0..6_000_000).collect();
        let expect = numbers.clone();
        let thread = thread::spawn(move || {
            let mut buffer = vec![-1i64; 6_000_100];
            let report = receiver.recv_into(&mut buffer).unwrap();
            assert_eq!(&buffer[..6_000_000], expect);
            assert!(buffer[6_000_000..].iter().all(|n| *n == -1), "the rest is untouched");
            report
        });
        let peer = sender.connect(to).unwrap();
        let sent = peer.send(Outgoing::tensor(&numbers)).unwrap();
        assert_eq!(sent.groups, thread.join().unwrap().groups);
    });
}

#[test]
fn a_buffer_that_does_not_fit_is_an_error_and_the_job_stays_on_offer() {
    within(20, || {
        let (sender, receiver) = pair();
        let to = receiver.local_addr();
        let thread = thread::spawn(move || {
            let error = receiver.recv_into(&mut [0f32; 10]).unwrap_err();
            assert!(matches!(error, RecvError::Buffer { needed: 80, given: 40, .. }), "{error}");
            let error = receiver.recv_into(&mut [0i32; 20]).unwrap_err();
            assert!(error.to_string().contains("f32"), "{error}");
            receiver.recv().unwrap()
        });
        let peer = sender.connect(to).unwrap();
        peer.send(Outgoing::tensor(&[1.5f32; 20])).unwrap();
        assert_eq!(thread.join().unwrap().tensor::<f32>().unwrap(), [1.5; 20]);
    });
}

#[test]
fn messages_whole_and_exact_groups_in_order() {
    within(20, || {
        let (sender, receiver) = pair();
        let to = receiver.local_addr();
        let messages: Vec<Bytes> = (0..200usize)
            .map(|n| Bytes::from(vec![n as u8; [0, 10, 700, 40_000][n % 4]]))
            .collect();
        let expect = messages.clone();
        let thread = thread::spawn(move || receiver.recv().unwrap());
        let groups = [
            GroupSpec { id: GroupId(1), min_delivery: fraction(1.0) },
            GroupSpec { id: GroupId(9), min_delivery: fraction(0.5) },
        ];
        let assignment = (0..200).map(|n| (n, GroupId(if n % 2 == 0 { 1 } else { 9 })));
        let job = Outgoing::messages(&messages)
            .groups(groups, assignment)
            .order(MessageOrder::FewestRemaining);
        let report = sender.connect(to).unwrap().send(job).unwrap();
        let received = thread.join().unwrap();
        assert_eq!(report.groups, received.report.groups);
        let exact: Vec<_> = received.messages().iter().filter(|m| m.group == GroupId(1)).collect();
        assert_eq!(exact.len(), 100);
        assert!(exact.is_sorted_by_key(|m| m.index));
        for message in received.messages() {
            let half = usize::from(message.group == GroupId(9));
            assert_eq!(message.bytes, expect[message.index as usize * 2 + half]);
        }
    });
}

#[test]
fn a_window_grows_and_is_read_as_it_comes() {
    within(20, || {
        let (sender, receiver) = pair();
        let to = receiver.local_addr();
        let thread = thread::spawn(move || {
            // The longest time that can be said is for ever, and no panic.
            let mut incoming = receiver.accept_timeout(Duration::MAX).unwrap();
            let mut count = 0;
            while let Some(message) = incoming.next_message(Some(Duration::MAX)) {
                assert_eq!(message.bytes, vec![message.index as u8; 300]);
                count += 1;
            }
            (count, incoming.receive().unwrap().report)
        });
        let peer = sender.connect(to).unwrap();
        let spec = GroupSpec { id: GroupId(0), min_delivery: fraction(0.9) };
        let window = peer.open_window(Outgoing::window([spec]), vec![1000], 4096).unwrap();
        for n in 0..50u64 {
            let index = window.push(GroupId(0), Bytes::from(vec![n as u8; 300])).unwrap();
            assert_eq!(index, n);
            thread::sleep(Duration::from_micros(200));
        }
        let sent = window.close().unwrap().wait().unwrap();
        assert_eq!((sent.groups[0].total, sent.groups[0].required), (50, 45));
        let (count, report) = thread.join().unwrap();
        assert_eq!(count, report.groups[0].received);
        assert_eq!(report.groups, sent.groups);
    });
}

#[test]
fn async_calls_need_no_particular_runtime() {
    within(20, || {
        let (sender, receiver) = pair();
        let to = receiver.local_addr();
        let thread = thread::spawn(move || {
            block_on(async {
                let mut sum = 0.0;
                for _ in 0..20 {
                    let received = receiver.accept_async().await.unwrap();
                    sum += received.receive_async().await.unwrap().tensor::<f32>().unwrap()[7];
                }
                sum
            })
        });
        block_on(async {
            let peer = sender.connect_async(to).await.unwrap();
            for n in 0..20u8 {
                let numbers = vec![f32::from(n); 5000];
                peer.send_async(&Outgoing::tensor(&numbers)).await.unwrap();
            }
        });
        assert_eq!(thread.join().unwrap(), 190.0);
    });
}

#[test]
fn many_jobs_many_peers_both_ways_at_once() {
    for io_threads in [1, 2] {
        within(60, move || {
            let server = bind(keyed().io_threads(io_threads));
            let to = server.local_addr();
            let served = thread::spawn(move || {
                let mut total = 0u64;
                for _ in 0..4 * 25 {
                    let received = server.recv().unwrap();
                    let first = received.tensor::<i32>().unwrap()[0];
                    assert!(received.tensor::<i32>().unwrap().iter().all(|n| *n == first));
                    total += first as u64;
                }
                total
            });
            let clients: Vec<_> = (0..4)
                .map(|client| {
                    thread::spawn(move || {
                        let endpoint = bind(keyed());
                        let peer = endpoint.connect(to).unwrap();
                        let handles: Vec<_> = (0..25)
                            .map(|n| {
                                let numbers = vec![client * 100 + n; 30_000];
                                let job = Outgoing::tensor(&numbers)
                                    .min_delivery(fraction(1.0))
                                    .priority(n as u32 % 3);
                                peer.start(&job).unwrap()
                            })
                            .collect();
                        for handle in handles {
                            assert!(handle.wait().unwrap().missing.is_empty());
                        }
                    })
                })
                .collect();
            for client in clients {
                client.join().unwrap();
            }
            let expect: u64 = (0..4).flat_map(|c| (0..25).map(move |n| c * 100 + n)).sum();
            assert_eq!(served.join().unwrap(), expect);
        });
    }
}

#[test]
fn enough_is_enough() {
    within(20, || {
        let (sender, receiver) = pair();
        let to = receiver.local_addr();
        let thread = thread::spawn(move || receiver.recv().unwrap());
        let numbers = vec![1.0f32; 4_000_000];
        let job = Outgoing::tensor(&numbers).min_delivery(fraction(0.5)).finish(Finish::Enough);
        let sent = sender.connect(to).unwrap().send(job).unwrap();
        let received = thread.join().unwrap();
        assert!(sent.fraction() >= 0.5);
        assert_eq!(sent.missing, received.report.missing, "both know exactly what is missing");
        let Missing::Elements(missing) = &received.report.missing else { panic!("a tensor") };
        let zeros = received.tensor::<f32>().unwrap().iter().filter(|n| **n == 0.0).count() as u64;
        assert_eq!(zeros, missing.iter().map(|(from, to)| to - from).sum::<u64>());
    });
}

#[test]
fn refusals_cancellations_and_time_limits_say_who_and_how_far() {
    within(30, || {
        let (sender, receiver) = pair();
        let peer = sender.connect(receiver.local_addr()).unwrap();
        let handle = peer.start(&Outgoing::tensor(&[1u8; 100]).label("no")).unwrap();
        let incoming = receiver.accept().unwrap();
        assert_eq!(incoming.open().label, b"no");
        // A small job may have ended before anybody could refuse it; a held one cannot.
        drop((incoming, handle));
        let large = vec![0u8; 64 << 20];
        let handle = peer.start(&Outgoing::tensor(&large)).unwrap();
        receiver.accept().unwrap().refuse(ResetCode::TooLarge);
        let error = handle.wait().unwrap_err();
        assert!(error.to_string().contains("larger than it accepts"), "{error}");

        let limit = Duration::from_millis(300);
        let started = std::time::Instant::now();
        let error = peer.send(Outgoing::tensor(&large).time_limit(limit)).unwrap_err();
        assert!(started.elapsed() < Duration::from_secs(3));
        // Both sides know the limit; whose clock runs out first is chance.
        let SendError::Job(
            JobError::TimeLimit { progress, .. }
            | JobError::Reset { code: ResetCode::TimeLimit, progress, .. },
        ) = &error
        else {
            panic!("{error}");
        };
        assert_eq!(progress.received, 0, "nobody read it");
        assert!(error.to_string().contains(&receiver.local_addr().to_string()), "{error}");
    });
}

#[test]
fn a_peer_that_shuts_down_fails_its_jobs_at_once() {
    within(20, || {
        let (sender, receiver) = pair();
        let peer = sender.connect(receiver.local_addr()).unwrap();
        let large = vec![0u8; 64 << 20];
        let handle = peer.start(&Outgoing::tensor(&large)).unwrap();
        let incoming = receiver.accept().unwrap();
        drop((incoming, receiver));
        let error = handle.wait().unwrap_err();
        assert!(matches!(error, SendError::Job(_)), "{error}");
        assert!(peer.send(Outgoing::tensor(&[1u8])).is_err());
    });
}

#[test]
fn nobody_there_wrong_key_and_no_key_are_told_apart() {
    within(30, || {
        let quick = || keyed().connect_timeout(Duration::from_millis(400));
        let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let error = bind(quick()).connect(silent.local_addr().unwrap()).unwrap_err();
        assert!(error.to_string().contains("did not answer"), "{error}");

        let server = bind(keyed());
        let other = Endpoint::builder().key(laxity_endpoint::Key::new([1; 32]));
        let error = bind(other).connect(server.local_addr()).unwrap_err();
        assert!(error.to_string().contains("does not have this key"), "{error}");
        let error = bind(Endpoint::builder().insecure()).connect(server.local_addr()).unwrap_err();
        assert!(error.to_string().contains("--insecure"), "{error}");
        let error = Endpoint::builder().bind("127.0.0.1:0".parse().unwrap()).unwrap_err();
        assert!(error.to_string().contains("no key"), "{error}");
    });
}

/// One side that insists on AES is enough; whoever has only AES can talk to those that have more.
#[test]
fn ciphers_are_agreed_on() {
    use laxity_endpoint::{Cipher, CipherChoice, Ciphers};
    let choices = [CipherChoice::Fastest, CipherChoice::Aes256Gcm];
    for (ours, theirs) in choices.into_iter().flat_map(|one| choices.map(|other| (one, other))) {
        within(20, move || {
            let (sender, receiver) = (bind(keyed().cipher(ours)), bind(keyed().cipher(theirs)));
            let to = receiver.local_addr();
            let thread = thread::spawn(move || receiver.recv().unwrap());
            let peer = sender.connect(to).unwrap();
            let fast = ours == CipherChoice::Fastest && theirs == CipherChoice::Fastest;
            let expected = if fast { Ciphers::offered(ours).best() } else { Cipher::Aes256Gcm };
            assert_eq!(peer.info().unwrap().cipher, Some(expected));
            let data: Vec<u8> = (0..100_000_u32).map(|n| n as u8).collect();
            peer.send(Outgoing::tensor(&data)).unwrap();
            assert_eq!(thread.join().unwrap().tensor::<u8>().unwrap(), data);
        });
    }
}

#[test]
fn ipv6_and_wildcard_sockets() {
    let Ok(receiver) = keyed().bind("[::]:0".parse().unwrap()) else {
        eprintln!("skipped: this machine has no IPv6");
        return;
    };
    within(20, move || {
        let port = receiver.local_addr().port();
        let thread = thread::spawn(move || (receiver.recv().unwrap(), receiver.recv().unwrap()));
        let four = bind(keyed());
        four.connect(("127.0.0.1", port)).unwrap().send(Outgoing::bytes(b"four")).unwrap();
        let six = keyed().bind("[::1]:0".parse().unwrap()).unwrap();
        six.connect(("::1", port)).unwrap().send(Outgoing::bytes(b"six")).unwrap();
        let (first, second) = thread.join().unwrap();
        assert_eq!(first.tensor::<u8>().unwrap(), b"four");
        assert_eq!(second.tensor::<u8>().unwrap(), b"six");
    });
}
