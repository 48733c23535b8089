//! Roles in threads, in real time, over a carrier of channels.

use std::{
    collections::BTreeMap,
    sync::mpsc::{Receiver, Sender, channel},
    time::{Duration, Instant},
};

use laxity_fabric::{
    Rank,
    carrier::{Arrival, Carrier, Event, Parcel},
    roles::{
        Add, Node, Notice, Push, Replica, ReplicaOptions, Server, ServerOptions, Version, Worker,
        WorkerOptions,
        drive::{Driver, Handle, spawn},
    },
};
use laxity_interface::{Span, Time};

use crate::world::rank;

/// Parcels over channels of this process.
struct Channels {
    rank: Rank,
    start: Instant,
    events: Receiver<Event>,
    others: BTreeMap<Rank, Sender<Event>>,
}

impl Carrier for Channels {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn now(&self) -> Time {
        Time::ZERO + Span::from(self.start.elapsed())
    }

    fn submit(&mut self, parcel: Parcel) {
        let Parcel { to, envelope, body, .. } = parcel;
        let arrival = Arrival { from: self.rank, envelope, body, missing: Vec::new() };
        let _ = self.others[&to].send(Event::Arrived(arrival));
    }

    fn wait_event(&mut self, until: Option<Time>) -> Option<Event> {
        match until {
            None => self.events.recv().ok(),
            Some(until) => {
                let wait = until.since(self.now()).to_std().min(Duration::from_secs(1));
                self.events.recv_timeout(wait).ok()
            }
        }
    }
}

fn carriers(count: u32) -> (Vec<Channels>, BTreeMap<Rank, Sender<Event>>) {
    let start = Instant::now();
    let (others, inboxes): (BTreeMap<_, _>, Vec<_>) = (0..count)
        .map(|number| {
            let (sender, receiver) = channel();
            ((rank(number), sender), (rank(number), receiver))
        })
        .unzip();
    let carrier = |(rank, events)| Channels { rank, start, events, others: others.clone() };
    (inboxes.into_iter().map(carrier).collect(), others)
}

const LIMIT: Span = Span::from_secs(60);

#[test]
fn a_job_in_threads_goes_on_when_its_server_ends() {
    let (carriers, others) = carriers(3);
    let [server, replica, worker] = <[Channels; 3]>::try_from(carriers).ok().unwrap();
    let then = ServerOptions::new([rank(2)]);
    let node = Server::new(rank(0), vec![0.0; 4], Add, then.clone()).unwrap();
    let mut server = spawn(Driver::new(server, Node::new(rank(0)).with_server(node))).unwrap();
    // Silence does not count here: a busy machine must not replace a server that lives.
    let options = ReplicaOptions { server: rank(0), silence: Span::from_secs(3600), then };
    let node = Replica::new(rank(1), 4, Add, options).unwrap();
    let mut replica = spawn(Driver::new(replica, Node::new(rank(1)).with_replica(node))).unwrap();
    let options = WorkerOptions { failover: LIMIT, ..WorkerOptions::default() };
    let node = Node::new(rank(2)).with_worker(Worker::new(rank(2), options));
    let mut worker = spawn(Driver::new(worker, node)).unwrap();

    let there = |notice| match notice {
        Notice::Replica { there: true, .. } => Ok(()),
        other => Err(other),
    };
    server.wait(LIMIT, there).unwrap().expect("the replica follows");
    let push = |worker: &mut Handle| {
        let (version, _) = worker.get(rank(0), Version::default(), LIMIT).unwrap();
        let update = worker.push(rank(0), Push::new(&[1.0; 4], version)).unwrap();
        worker.decided(update, LIMIT).unwrap().expect("in time").expect("committed")
    };
    let before = push(&mut worker);
    assert_eq!((before.epoch, before.commits), (0, 1));

    drop(server);
    for to in [rank(1), rank(2)] {
        let event =
            Event::Lost { peer: rank(0), reason: "its thread has ended".to_owned(), left: false };
        others[&to].send(event).unwrap();
    }
    let promoted = |notice| match notice {
        Notice::Promoted(promotion) => Ok(promotion),
        other => Err(other),
    };
    let promotion = replica.wait(LIMIT, promoted).unwrap().expect("it takes over");
    assert_eq!((promotion.of, promotion.version.epoch), (rank(0), 1));
    let after = push(&mut worker);
    assert_eq!((after.epoch, after.commits), (1, 2));
    let (_, model) = worker.get(rank(0), after, LIMIT).unwrap();
    assert_eq!(model, [2.0; 4]);
}
