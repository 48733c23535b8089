//! Idle connections: asked after when that is wanted, left alone when not.

use laxity_interface::{Ecn, Span, Time};
use laxity_protocol::{Batch, BodyRef, Config, Endpoint, Event, Gone, Memory, PeerId};

struct Nothing;

impl Memory for Nothing {
    fn bytes(&self, _: &BodyRef) -> &[u8] {
        unreachable!("no payload is sent")
    }
}

/// Two endpoints with a wire of no length between them, in virtual time.
struct Pair {
    ends: [Endpoint; 2],
    now: Time,
    packets: usize,
}

impl Pair {
    fn new(watch: bool) -> Self {
        let mut config = Config::insecure();
        config.watch_idle = watch;
        let ends = [1, 2].map(|seed| Endpoint::new(config.clone(), [seed; 32]));
        Self { ends, now: Time::ZERO, packets: 0 }
    }

    /// Lets time pass; the second end lives or not. Says what the first hears.
    fn run(&mut self, time: Span, alive: bool) -> Vec<Event> {
        let addresses = ["10.0.0.1:1", "10.0.0.2:1"].map(|text| text.parse().expect("address"));
        let (mut batch, mut events) = (Batch::default(), Vec::new());
        let end = self.now + time;
        while self.now < end {
            self.now += Span::from_ms(10);
            for (from, to) in [(0, 1), (1, 0)] {
                if from == 1 && !alive {
                    continue;
                }
                self.ends[from].handle_timeout(self.now);
                while let Some(transmit) =
                    self.ends[from].poll_transmit(self.now, &Nothing, &mut batch)
                {
                    for mut packet in batch.packets(&transmit, &Nothing) {
                        self.packets += 1;
                        if to == 0 || alive {
                            let (now, at) = (self.now, addresses[from]);
                            self.ends[to].handle_datagram(now, at, Ecn::Ect0, &mut packet, &mut ());
                        }
                    }
                }
            }
            events.extend(std::iter::from_fn(|| self.ends[0].poll_event()));
        }
        events
    }

    fn connect(&mut self) -> PeerId {
        let to = "10.0.0.2:1".parse().expect("address");
        let peer = self.ends[0].connect(self.now, to).expect("room");
        assert_eq!(self.run(Span::from_secs(1), true), [Event::Connected(peer)]);
        peer
    }
}

#[test]
fn an_idle_peer_that_dies_is_noticed_if_it_is_watched() {
    let mut pair = Pair::new(true);
    let peer = pair.connect();
    assert_eq!(pair.run(Span::from_secs(60), true), [], "it answers when it is asked");
    let dead_after = pair.ends[0].config().dead_after;
    let events = pair.run(dead_after * 2, false);
    assert_eq!(events, [Event::PeerGone(peer, Gone::Dead)]);
}

#[test]
fn an_idle_connection_costs_nothing_if_it_is_not() {
    let mut pair = Pair::new(false);
    pair.connect();
    let packets = pair.packets;
    assert_eq!(pair.run(Span::from_secs(60), false), []);
    assert_eq!(pair.packets, packets, "nobody asks");
}
