//! Ranks that meet at the store: who is let in, who is not, and what the others hear.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    time::Duration,
};

use crate::common::{
    BOTH, LONG, event, eventually, loss, parcel, secret, settings, store, until, world,
};
use laxity_fabric::{
    Rank,
    carrier::{Carrier, Event},
    rendezvous::{Fabric, Identity, Member, Secret, Settings, Store, StoreServer, Transport},
};
use laxity_protocol::Key;

const PATIENCE: Duration = Duration::from_millis(300);

fn connect(server: &StoreServer, secret: &Secret) -> Result<Store, String> {
    let address = server.address().to_string();
    Store::connect(&address, secret, LONG, LONG).map_err(|error| error.to_string())
}

fn join(settings: Settings) -> String {
    Fabric::join(settings).expect_err("refused").to_string()
}

#[test]
fn values_are_shared_and_waited_for() {
    let server = store();
    let mut one = connect(&server, &secret()).expect("has the key");
    let mut two = connect(&server, &secret()).expect("has the key");
    assert_eq!(one.get("a").expect("answered"), None);
    let waiting = std::thread::spawn(move || two.wait(&["a", "b"], LONG).expect("set"));
    one.set("a", b"1").expect("room");
    assert_eq!(one.add("b", 5).expect("a number"), 5);
    assert_eq!(waiting.join().expect("no panic"), [b"1".to_vec(), b"5".to_vec()]);
    let error = one.wait(&["a", "c"], PATIENCE).expect_err("nobody sets c").to_string();
    assert!(error.contains("300ms: c"), "{error}");
    let large = vec![0; 2 << 20];
    let error = one.set("large", &large).expect_err("too large").to_string();
    assert!(error.contains("2097152 bytes"), "{error}");
    // Longer than any word: refused here, and the conversation goes on.
    let error = one.set("huge", &vec![255; 6 << 20]).expect_err("too large").to_string();
    assert!(error.contains("too long"), "{error}");
    let names: Vec<_> = (0..8).map(|at| format!("part {at}")).collect();
    let part = vec![255; 1 << 20];
    names.iter().for_each(|name| one.set(name, &part).expect("room"));
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let error = one.wait(&names, LONG).expect_err("too much for one answer").to_string();
    assert!(error.contains("8388608 bytes"), "{error}");
    assert_eq!(one.wait(&names[..2], Duration::MAX).expect("they are there").len(), 2);
}

#[test]
fn the_host_of_the_store_stays_until_everybody_has_joined() {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).expect("free");
    let host = Settings::new(Rank::new(0), 2, port.to_string(), secret());
    let host = std::thread::spawn(move || {
        let fabric = Fabric::join(host).expect("joins");
        fabric.shutdown(LONG)
    });
    let mut slow = Store::connect(&port.to_string(), &secret(), LONG, LONG).expect("there");
    let member = Member { address: port, token: Identity::new(Rank::new(1)).token() };
    slow.register(Rank::new(1), 2, member, Transport::Laxity).expect("free");
    slow.roster(LONG).expect("both are here");
    // The host has nothing to do and goes; this rank has asked for half of what it needs.
    std::thread::sleep(PATIENCE);
    slow.get("anything").expect("the store is there for those who are not done joining");
    slow.leave().expect("heard");
    assert!(host.join().expect("no panic"));
}

#[test]
fn another_key_is_refused_with_what_to_do() {
    let server = store();
    let other = Secret::Key(Key::new([1; 32]));
    let error = connect(&server, &other).expect_err("another key");
    assert!(error.contains(&server.address().to_string()), "{error}");
    assert!(error.contains("LAXITY_KEY_FILE"), "{error}");
    for transport in BOTH {
        let mut settings = settings(&server, 0, 1, transport);
        settings.secret = Secret::Insecure;
        let error = join(settings);
        assert!(error.starts_with("rank 0 cannot join"), "{error}");
    }
    // A stranger that was turned away leaves nothing behind.
    Fabric::join(settings(&server, 0, 1, Transport::Tcp)).expect("the right key").shutdown(LONG);
}

#[test]
fn who_is_missing_is_named() {
    let server = store();
    let mut late = settings(&server, 1, 4, Transport::Tcp);
    late.patience = PATIENCE;
    let error = join(late);
    assert!(error.contains("3 of 4 ranks"), "{error}");
    assert!(error.contains("ranks 0, 2, 3; there: 1 from 127.0.0.1:"), "{error}");
    let nobody = Settings {
        store: "127.0.0.1:1".into(),
        patience: PATIENCE,
        ..settings(&server, 1, 2, Transport::Tcp)
    };
    let error = join(nobody);
    assert!(error.contains("no store answered at 127.0.0.1:1"), "{error}");
}

/// Whichever came first turned the others away; if that was not rank 0, the store went with it.
#[test]
fn another_transport_than_the_stores_host_is_turned_away_and_all_hear_of_it() {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).expect("free");
    let join = |rank, transport| {
        let mut settings = Settings::new(Rank::new(rank), 3, port.to_string(), secret());
        (settings.transport, settings.patience) = (transport, PATIENCE);
        std::thread::spawn(move || Fabric::join(settings).expect_err("one is odd").to_string())
    };
    // Rank 0 comes last and is the odd one, as far as numbers go.
    let [one, two] = [1, 2].map(|rank| join(rank, Transport::Tcp));
    let errors = [join(0, Transport::Laxity), one, two].map(|one| one.join().expect("no panic"));
    for (rank, odd) in errors[1..].iter().zip(1..) {
        let said = format!("rank {odd} at 127.0.0.1:");
        assert!(rank.contains(&said), "{rank}");
        assert!(rank.contains("uses the transport tcp, the store's host at"), "{rank}");
        assert!(rank.contains("uses laxity; give all the same LAXITY_TRANSPORT"), "{rank}");
    }
    assert!(errors[0].contains("2 of 3 ranks did not come"), "{}", errors[0]);
    assert!(errors[0].contains("turned away: rank 1 at 127.0.0.1:"), "{}", errors[0]);
}

#[test]
fn a_congestion_control_that_there_is_not_is_refused_before_ranks_meet() {
    let server = store();
    let mut odd = settings(&server, 1, 2, Transport::Tcp);
    odd.tcp.congestion = Some("pigeons".to_owned());
    let error = join(odd);
    assert!(error.contains("rank 1") && error.contains("`pigeons`"), "{error}");
    assert!(error.contains("tcp_allowed_congestion_control"), "{error}");
}

#[test]
fn a_rank_taken_twice_and_another_world_are_refused() {
    let server = store();
    let mut first = connect(&server, &secret()).expect("has the key");
    let token = Identity::new(Rank::new(0)).token();
    let address = SocketAddr::from(([10, 0, 0, 3], 4000));
    let member = Member { address, token };
    first.register(Rank::new(0), 2, member, Transport::Tcp).expect("the first");
    let from = first.local_addr().expect("connected");
    let error = join(settings(&server, 1, 3, Transport::Tcp));
    assert!(error.contains("rank 1 at 127.0.0.1:"), "{error}");
    assert!(error.contains(&format!("says that there are 3 ranks, {from} said 2")), "{error}");
    let error = join(settings(&server, 0, 2, Transport::Laxity));
    let both = format!("wants to be rank 0, and so does {from} (listening at 10.0.0.3:4000)");
    assert!(error.contains(&both), "{error}");
    // One that goes before all are there makes room for another.
    drop(first);
    let waiting = settings(&server, 1, 2, Transport::Tcp);
    let waiting = std::thread::spawn(move || Fabric::join(waiting).expect("joins"));
    eventually(|| {
        let again = settings(&server, 0, 2, Transport::Tcp);
        Fabric::join(again).is_ok_and(|fabric| fabric.roster().world() == 2)
    });
    waiting.join().expect("no panic");
}

#[test]
fn rank_0_opens_the_store_and_the_others_wait_for_it() {
    for transport in BOTH {
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = free.local_addr().expect("bound");
        drop(free);
        let settings = move |rank| Settings {
            transport,
            ..Settings::new(Rank::new(rank), 2, address.to_string(), secret())
        };
        let other = std::thread::spawn(move || {
            let mut fabric = Fabric::join(settings(1)).expect("joins");
            assert_eq!(fabric.store_address(), None);
            fabric.submit(parcel(0, 1, 100));
            until(&mut fabric, |_, sent| sent == 1);
            fabric
        });
        let mut fabric = Fabric::join(settings(0)).expect("joins");
        assert_eq!(fabric.store_address(), Some(address));
        let mut own = fabric.open_store().expect("it is this process's");
        own.set("epoch", b"3").expect("room");
        until(&mut fabric, |arrivals, _| arrivals.len() == 1);
        let mut other = other.join().expect("no panic");
        // The host goes in peace, and the other, who still waits for it, hears that.
        assert!(fabric.shutdown(LONG));
        let reason = loss(&mut other, 0);
        assert!(reason.contains("goodbye"), "{reason}");
    }
}

#[test]
fn what_is_no_store_is_called_so() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // As long as a store's answer is.
            drop(stream.write_all(&[b'x'; 72]));
            drop(stream.read(&mut [0; 100]));
        }
    });
    let mut settings = Settings::new(Rank::new(0), 1, address.to_string(), secret());
    settings.patience = PATIENCE;
    let error = join(settings);
    assert!(error.contains("is not a Laxity store"), "{error}");
}

/// Everything a port scanner does: nothing, garbage, half a greeting, an endless one.
fn disturb(at: SocketAddr) -> Vec<TcpStream> {
    let mut held = Vec::new();
    for words in [
        &b""[..],
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"LAXSTOR1",
        b"LAXSTOR1................................................................................",
        b"LXFB\x01\xff\xff",
        b"LXFB\x01\x2c\x00aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        &[0xff; 100_000],
    ] {
        let mut stream = TcpStream::connect(at).expect("listens");
        // It may hang up in the middle.
        drop(stream.write_all(words));
        held.push(stream);
    }
    held
}

#[test]
fn garbage_on_every_port_does_no_harm() {
    for transport in BOTH {
        let server = store();
        let mut held = disturb(server.address());
        let ranks: Vec<_> = (0..2).map(|rank| settings(&server, rank, 2, transport)).collect();
        let joining = ranks
            .into_iter()
            .map(|settings| std::thread::spawn(move || Fabric::join(settings).expect("joins")));
        let joining: Vec<_> = joining.collect();
        let mut ranks: Vec<_> =
            joining.into_iter().map(|thread| thread.join().expect("no panic")).collect();
        let addresses: Vec<_> =
            ranks[0].roster().members.iter().map(|member| member.address).collect();
        for address in addresses {
            if transport == Transport::Tcp {
                held.extend(disturb(address));
            }
            let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
            for length in [0, 1, 20, 1200, 1452, 9000] {
                socket.send_to(&vec![0x5a; length], address).expect("sent");
            }
        }
        held.extend(disturb(server.address()));
        let mut second = ranks.pop().expect("two");
        let mut first = ranks.pop().expect("two");
        let other = std::thread::spawn(move || {
            second.submit(parcel(0, 1, 1_000_000));
            until(&mut second, |arrivals, sent| arrivals.len() == 1 && sent == 1);
            second
        });
        first.submit(parcel(1, 2, 1_000_000));
        until(&mut first, |arrivals, sent| arrivals.len() == 1 && sent == 1);
        let second = other.join().expect("no panic");
        if transport == Transport::Tcp {
            let refusals = first.carrier().refusals();
            assert!(refusals.iter().any(|why| why.contains("speak")), "{refusals:?}");
        }
        let second = std::thread::spawn(move || second.shutdown(LONG));
        first.shutdown(LONG);
        second.join().expect("no panic");
        drop(held);
    }
}

#[test]
fn a_goodbye_is_heard_by_those_who_wait_and_nothing_before_it_is_lost() {
    for transport in BOTH {
        world(3, transport, |mut fabric| match fabric.rank().get() {
            0 => {
                // Rank 1 leaves with its parcels on the way; rank 2 has never talked to anybody.
                let mut arrived = 0;
                let mut lost = Vec::new();
                while lost.len() < 2 {
                    match event(&mut fabric) {
                        Event::Arrived(_) => arrived += 1,
                        Event::Lost { peer, reason, .. } => {
                            if peer == Rank::new(1) {
                                assert_eq!(arrived, 10, "before its goodbye");
                            }
                            assert!(reason.contains("goodbye"), "{reason}");
                            lost.push(peer);
                        }
                        other => panic!("{other:?}"),
                    }
                }
                let now = fabric.now();
                assert_eq!(fabric.wait_event(Some(now)), None, "each is told once");
                fabric.submit(parcel(1, 5, 5));
                match event(&mut fabric) {
                    Event::Failed { reason, .. } => assert!(reason.contains("lost"), "{reason}"),
                    other => panic!("{other:?}"),
                }
            }
            1 => {
                for tag in 0..10 {
                    fabric.submit(parcel(0, tag, 500_000));
                }
                assert!(fabric.shutdown(LONG));
            }
            _ => assert!(fabric.shutdown(LONG)),
        });
    }
}

#[test]
fn who_goes_without_a_goodbye_is_lost() {
    for transport in BOTH {
        world(2, transport, |mut fabric| {
            if fabric.rank() == Rank::new(0) {
                until(&mut fabric, |arrivals, _| arrivals.len() == 1);
                let reason = loss(&mut fabric, 1);
                assert!(reason.contains("rank 1"), "{reason}");
                assert!(
                    reason.contains("without a goodbye") || reason.contains("reset"),
                    "{reason}"
                );
            } else {
                fabric.submit(parcel(0, 1, 10));
                until(&mut fabric, |_, sent| sent == 1);
            }
        });
    }
}
