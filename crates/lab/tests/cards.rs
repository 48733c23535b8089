//! Hosts that leave cutting, joining and checksums to the engine: what they send in one piece meets the
//! switch packet by packet.

mod engine_world;

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream, UdpSocket},
    sync::Mutex,
    thread,
    time::Duration,
};

use engine_world::{
    World, address, allowed, describe,
    traffic::{PAYLOAD, Sink, Source},
};
use laxity_interface::{Bytes, Ecn, Fraction, Rate, Span};
use laxity_switch::{Limit, Loss, PortConfig, QueueLayout};

static ALONE: Mutex<()> = Mutex::new(());
/// As many packets as one call sends.
const PIECE: u32 = 43;

/// Runs a test alone, in a thread of its own: the world changes the thread's priority.
fn alone(name: &str, test: impl FnOnce() + Send) {
    let _guard = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !allowed(name) {
        return;
    }
    thread::scope(|scope| {
        scope.spawn(test).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

fn port(layout: QueueLayout) -> PortConfig {
    PortConfig::new(Rate::from_mbps(100), Span::ZERO).with_layout(layout)
}

#[test]
fn a_piece_meets_the_queue_packet_by_packet() {
    alone("limits", || {
        let world = World::star_with_cards(2, &port(QueueLayout::single(Limit::Packets(20), None)));
        let sink = Sink::new(&world.hosts[1], 5000);
        let source = Source::new(&world.hosts[0], 1, 5000, 0, Ecn::NotEct);
        source.send_together(PIECE);
        let numbers: Vec<_> =
            sink.take(Duration::from_millis(500)).iter().map(|packet| packet.number).collect();
        let (down, health) = (world.down(1), world.engine.take_health());
        println!("limits: {}", describe(&health));
        assert_eq!((health.received_pieces, health.received), (1, u64::from(PIECE)));
        // They come at one time: one is sent, twenty wait, the rest finds no place.
        assert_eq!(numbers, (0..21).collect::<Vec<_>>());
        let queue = down.queues[0];
        assert_eq!(queue.full.packets, u64::from(PIECE) - 21);
        assert_eq!(queue.max_bytes, Bytes::new(20 * 1514), "each has the size of the wire");
        assert_eq!(health.sent, 21);
    });
}

#[test]
fn marks_stay_with_their_packets() {
    alone("marks", || {
        let layout = QueueLayout::single(Limit::Packets(500), Some(Limit::Packets(20)));
        let world = World::star_with_cards(2, &port(layout));
        let sink = Sink::new(&world.hosts[1], 5000);
        let source = Source::new(&world.hosts[0], 1, 5000, 0, Ecn::Ect0);
        source.send_together(PIECE);
        let arrived = sink.take(Duration::from_millis(500));
        let marks: Vec<_> = arrived.iter().map(|packet| (packet.number, packet.ecn)).collect();
        let mark = |number| if number <= 20 { Ecn::Ect0 } else { Ecn::Ce };
        assert_eq!(marks, (0..PIECE).map(|number| (number, mark(number))).collect::<Vec<_>>());
        assert_eq!(world.down(1).queues[0].marked.packets, u64::from(PIECE) - 21);
    });
}

#[test]
fn a_socket_that_can_gets_pieces() {
    alone("pieces", || {
        // Without a rate all arrive at one time, so that they leave together.
        let world = World::star_with_cards(2, &PortConfig::default());
        let sink = Sink::new(&world.hosts[1], 5000);
        sink.takes_pieces();
        let source = Source::new(&world.hosts[0], 1, 5000, 0, Ecn::NotEct);
        source.send_together(PIECE);
        assert_eq!(sink.take_lengths(Duration::from_millis(500)), [PAYLOAD * PIECE as usize]);
        let health = world.engine.take_health();
        assert_eq!((health.sent_pieces, health.sent), (1, u64::from(PIECE)));
    });
}

#[test]
fn packets_without_checksums_pass() {
    alone("no checksum", || {
        let world = World::star_with_cards(2, &PortConfig::default());
        let sink = Sink::new(&world.hosts[1], 5000);
        let source = Source::new(&world.hosts[0], 1, 5000, 0, Ecn::NotEct).without_checksums();
        for number in 0..10 {
            source.send(number);
        }
        assert_eq!(sink.take(Duration::from_millis(500)).len(), 10);
    });
}

#[test]
fn pieces_over_ipv6_are_cut() {
    alone("IPv6", || {
        let world = World::star_with_cards(2, &PortConfig::default());
        for (number, host) in world.hosts.iter().enumerate() {
            let file = "/proc/sys/net/ipv6/conf/eth0/disable_ipv6";
            if host.inside(|| std::fs::write(file, "0")).is_err() {
                eprintln!("IPv6: skipped: this kernel has none");
                return;
            }
            host.command(&format!("ip address add fd00::{}/64 dev eth0 nodad", number + 1));
        }
        let bind = |host: usize, place: &str| {
            world.hosts[host].inside(|| UdpSocket::bind(place).expect("a socket"))
        };
        let (from, to) = (bind(0, "[fd00::1]:0"), bind(1, "[fd00::2]:5000"));
        to.set_read_timeout(Some(Duration::from_secs(2))).expect("a time above zero");
        from.connect("[fd00::2]:5000").expect("an address");
        engine_world::traffic::cut_into(&from, 1400);
        let payload: Vec<u8> = (0..20_000u32).map(|number| (number % 251) as u8).collect();
        from.send(&payload).expect("a local interface takes packets");
        let mut received: Vec<u8> = Vec::new();
        while received.len() < payload.len() {
            let mut buffer = [0; 2000];
            let length = to.recv(&mut buffer).expect("another packet");
            assert_eq!(length, 1400.min(payload.len() - received.len()));
            received.extend(&buffer[..length]);
        }
        assert!(received == payload);
    });
}

#[test]
fn tcp_survives_loss_in_the_middle_of_pieces() {
    alone("tcp", || {
        let layout = QueueLayout::single(Limit::Bytes(Bytes::from_kib(256)), None);
        let mut down = PortConfig::new(Rate::from_gbps(1), Span::from_us(100)).with_layout(layout);
        down.loss = Loss::Random(Fraction::new(0.01).expect("a part"));
        let world = World::star_with_cards(2, &down);
        let listener = world.hosts[1].inside(|| TcpListener::bind("0.0.0.0:7000").expect("a port"));
        let data: Vec<u8> =
            (0..5_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let received = thread::scope(|scope| {
            let receiver = scope.spawn(|| {
                let mut all = Vec::new();
                let (mut stream, _) = listener.accept().expect("a caller");
                stream.read_to_end(&mut all).expect("everything");
                all
            });
            let mut stream = world.hosts[0]
                .inside(|| TcpStream::connect((address(1), 7000)).expect("a connection"));
            stream.write_all(&data).expect("it takes everything");
            drop(stream);
            receiver.join().expect("it does not panic")
        });
        let health = world.engine.take_health();
        println!("tcp: {}", describe(&health));
        assert!(received == data, "{} bytes of {} arrived", received.len(), data.len());
        assert!(health.received_pieces < health.received, "nothing came in pieces");
        assert!(health.sent_pieces < health.sent, "nothing left in pieces");
        assert!(world.down(1).lost.packets > 0);
    });
}
