//! Somebody with the job's key who claims a rank that is not its own, over both carriers.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use laxity_interface::Span;
use laxity_protocol::{ElementType, Key};

use super::{
    AnyCarrier, Carrier, Channel, Envelope, Event, Lane, Parcel, Signature, Slack,
    laxity::{LaxityCarrier, LaxityPort, LaxitySettings},
    tcp::{TcpCarrier, TcpPort, TcpSettings, hello::Credentials},
};
use crate::{
    rank::{GroupId, Rank},
    rendezvous::{Identity, Member, Roster, Secret},
};

enum Port {
    Tcp(TcpPort),
    Laxity(LaxityPort),
}

impl Port {
    fn open(tcp: bool) -> Self {
        let free = SocketAddr::from(([127, 0, 0, 1], 0));
        if tcp {
            return Self::Tcp(TcpPort::bind(free).expect("a free port"));
        }
        let port = LaxityPort::bind(free, &secret(), &LaxitySettings::default());
        Self::Laxity(port.expect("a free port"))
    }

    fn address(&self) -> SocketAddr {
        match self {
            Self::Tcp(port) => port.address().expect("bound"),
            Self::Laxity(port) => port.address(),
        }
    }

    fn carrier(self, identity: Identity, roster: &Roster) -> AnyCarrier {
        let (roster, secret) = (roster.clone(), secret());
        let me = Arc::new(Credentials { identity, roster, secret });
        match self {
            Self::Tcp(port) => {
                let carrier = TcpCarrier::new(port, me, TcpSettings::default());
                AnyCarrier::Tcp(carrier.expect("sockets"))
            }
            Self::Laxity(port) => {
                let carrier = LaxityCarrier::new(port, me, &LaxitySettings::default());
                AnyCarrier::Laxity(Box::new(carrier))
            }
        }
    }
}

fn secret() -> Secret {
    Secret::Key(Key::new([5; 32]))
}

fn parcel(to: u32) -> Parcel {
    let channel =
        Channel { lane: Lane::Direct, group: GroupId::WORLD, sequence: 1, step: 0, part: 0 };
    let signature = Signature { kind: 0, element: ElementType::U8, count: 3 };
    let envelope = Envelope { channel, signature };
    Parcel { to: Rank::new(to), envelope, body: b"boo".as_slice().into(), slack: Slack::EXACT }
}

fn wait(carrier: &mut AnyCarrier, time: Span) -> Option<Event> {
    let until = carrier.now() + time;
    carrier.wait_event(Some(until))
}

#[test]
fn an_impostor_is_refused_and_told_both_sides_and_nobody_hears_its_parcels() {
    for tcp in [true, false] {
        let (port, registered) = (Port::open(tcp), SocketAddr::from(([10, 0, 0, 3], 4000)));
        let identities: Vec<_> = (0..3).map(|rank| Identity::new(Rank::new(rank))).collect();
        let members = identities.iter().map(|identity| Member {
            address: if identity.rank() == Rank::new(0) { port.address() } else { registered },
            token: identity.token(),
        });
        let roster = Roster { job: [8; 16], members: members.collect() };
        let mut identities = identities.into_iter();
        let mut honest = port.carrier(identities.next().expect("rank 0"), &roster);
        // It knows the key and every address, and has a token of its own.
        let impostor = Port::open(tcp);
        let at = impostor.address().ip();
        let mut impostor = impostor.carrier(Identity::new(Rank::new(2)), &roster);
        let watching = std::thread::spawn(move || {
            let heard = wait(&mut honest, Span::from_secs(3));
            (heard, honest.refusals())
        });
        impostor.submit(parcel(0));
        let reason = loop {
            match wait(&mut impostor, Span::from_secs(60)).expect("an end") {
                Event::Lost { peer, reason, .. } => {
                    assert_eq!(peer, Rank::new(0));
                    break reason;
                }
                Event::Sent { .. } | Event::Failed { .. } => {}
                Event::Arrived(arrival) => panic!("{arrival:?}"),
            }
        };
        for part in [
            &format!("rank 2 at {at}:"),
            "presented the token of nobody in this job",
            "rank 2 registered from 10.0.0.3:4000",
        ] {
            assert!(reason.contains(part), "{reason}");
        }
        let (heard, refusals) = watching.join().expect("no panic");
        assert_eq!(heard, None, "the honest side goes on undisturbed");
        assert!(refusals.iter().any(|why| why.contains("presented the token")), "{refusals:?}");
        impostor.shutdown(Duration::from_millis(10));
    }
}
