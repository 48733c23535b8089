//! Roles in threads over both carriers, which wake their drivers when they have a command.

use std::time::Instant;

use laxity_fabric::{
    Rank,
    carrier::Carrier,
    roles::{
        Add, Node, Push, Reason, Server, ServerOptions, Version, Worker, WorkerOptions,
        drive::{Driver, HandleError, spawn, spawn_with},
    },
};
use laxity_interface::Span;

use crate::common::{BOTH, LONG, world};

/// What one role tells the other inside a node is no event: a driver that waited for one had it for ever.
#[test]
fn a_worker_beside_its_server_is_answered_at_once() {
    for transport in BOTH {
        world(1, transport, move |fabric| {
            let (rank, began, limit) = (Rank::new(0), Instant::now(), Span::from(LONG));
            let server = Server::new(rank, vec![0.0; 4], Add, ServerOptions::new([rank])).unwrap();
            let worker = Worker::new(rank, WorkerOptions::default());
            let node = Node::new(rank).with_server(server).with_worker(worker);
            let mut handle = spawn(Driver::new(fabric, node)).unwrap();
            for commits in 0..3 {
                let (version, model) = handle.get(rank, Version::default(), limit).unwrap();
                assert_eq!((version.commits, &model[..]), (commits, &[commits as f32; 4][..]));
                let update = handle.push(rank, Push::new(&[1.0; 4], version)).unwrap();
                handle.decided(update, limit).unwrap().expect("in time").expect("committed");
            }
            drop(handle);
            assert!(began.elapsed() < LONG / 2, "{transport:?}: {:?}", began.elapsed());
        });
    }
}

/// That nobody takes over is found by a timer, after which there is nothing to wait for.
#[test]
fn a_worker_hears_that_its_server_is_gone_for_good() {
    for transport in BOTH {
        world(2, transport, move |fabric| {
            let (rank, server, began) = (Rank::new(0), Rank::new(1), Instant::now());
            let node = Node::new(fabric.rank());
            let goodbye = |fabric: laxity_fabric::rendezvous::Fabric| {
                fabric.shutdown(LONG);
            };
            if fabric.rank() == server {
                // It leaves in order, and without a successor.
                return drop(spawn_with(Driver::new(fabric, node), goodbye).unwrap());
            }
            let failover = Span::from_secs(1);
            let options = WorkerOptions { failover, ..WorkerOptions::default() };
            let node = node.with_worker(Worker::new(rank, options));
            let mut handle = spawn_with(Driver::new(fabric, node), goodbye).unwrap();
            let error = handle.get(server, Version::default(), Span::from(LONG)).unwrap_err();
            let gone =
                matches!(&error, HandleError::NoModel { reason: Reason::ServerGone { .. }, .. });
            assert!(gone, "{transport:?}: {error}");
            assert!(began.elapsed() < LONG / 2, "{transport:?}: {:?}", began.elapsed());
        });
    }
}
