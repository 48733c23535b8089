//! Answers to clients.

use std::{
    io,
    os::unix::net::UnixStream,
    sync::{Arc, PoisonError},
    time::Instant,
};

use laxity_interface::Span;

use super::Shared;
use crate::wire::{Answer, ChangeStatus, Channel, PortStatus, Request, Status};

/// Answers one client, in a thread of its own, until it goes.
pub(super) fn serve(stream: UnixStream, shared: &Arc<Shared>) {
    let shared = Arc::clone(shared);
    let thread = std::thread::Builder::new().name("laxity-control".into());
    let spawned = thread.spawn(move || {
        let mut channel = Channel::new(stream);
        loop {
            match channel.receive() {
                Ok(Some((Request::Down, _))) => return end(channel, &shared),
                Ok(Some((request, _))) => {
                    if answer(&mut channel, &request, &shared).is_err() {
                        return;
                    }
                }
                Ok(None) => return,
                Err(error) => {
                    let reason = format!("this is no request: {error}");
                    let _ = channel.send(&Answer::Refused { reason });
                    return;
                }
            }
        }
    });
    if let Err(error) = spawned {
        eprintln!("cannot start a thread for a client: {error}");
    }
}

/// The main thread ends the lab, and then this client is told.
fn end(channel: Channel, shared: &Shared) {
    use std::io::Write;
    shared.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(channel);
    let _ = (&shared.bell).write_all(b"!");
}

fn answer(channel: &mut Channel, request: &Request, shared: &Shared) -> io::Result<()> {
    let refused = |reason: String| Answer::Refused { reason };
    let answer = match request {
        Request::Introduce => Answer::Introduction(shared.introduction.clone()),
        Request::Enter { host } => match shared.network.host(host) {
            Some(host) => {
                let user = shared.site.user();
                let files: Vec<_> = user.into_iter().chain([shared.site.host(host)]).collect();
                return channel.send_with(&Answer::Enter { user: user.is_some() }, &files);
            }
            None => refused(format!("no host is called `{host}`")),
        },
        Request::Status => Answer::Status(Box::new(status(shared))),
        Request::Change { change } => match change.resolve(&shared.network) {
            Ok(changes) => {
                changes.into_iter().for_each(|change| shared.engine.change(change));
                Answer::Done
            }
            Err(error) => refused(error.to_string()),
        },
        Request::ResetHealth => {
            shared.engine.take_health();
            shared.turns.forget(Instant::now());
            Answer::Done
        }
        Request::Down => unreachable!("taken care of before"),
    };
    channel.send(&answer)
}

fn status(shared: &Shared) -> Status {
    let mut engine = shared.engine.snapshot();
    let up_for = Span::from(shared.started.elapsed());
    let name = |node| shared.network.node_name(node).to_owned();
    // Every counter is told once: by port, with names.
    let ports = std::mem::take(&mut engine.counters.ports);
    let ports = ports.into_iter().map(|counters| PortStatus {
        from: name(counters.from),
        to: name(counters.to),
        counters,
    });
    let changes = shared.network.changes.iter().map(|change| {
        let at = change.at.since(laxity_interface::Time::ZERO);
        ChangeStatus { at, what: change.words.clone(), done: at <= up_for }
    });
    let background = shared.network.background.iter().zip(&shared.traffic);
    Status {
        name: shared.introduction.name.clone(),
        process: shared.introduction.process,
        up_for,
        hosts: shared.introduction.hosts.clone(),
        ports: ports.collect(),
        unroutable: engine.counters.unroutable,
        receive: shared.site.receive(),
        health: engine.health,
        turns: shared.turns.times(Instant::now()),
        background: background.map(|(entry, stats)| stats.status(&entry.name)).collect(),
        changes: changes.collect(),
    }
}
