//! What applications do about events.

use laxity_protocol::{Event, RecvId, ResetCode};

use super::{
    Action, Claim, World,
    world::{Node, find_job},
};

impl World {
    /// A node's application hears of something.
    pub(super) fn hear(&mut self, at: usize, event: Event) {
        let now = self.now;
        if let Event::Connected(peer) = event {
            // The first packet of a connection may have been its farewell.
            let Some(info) = self.nodes[at].endpoint.peer(peer) else { return };
            let other = usize::from(info.address.port() - 4000);
            self.nodes[at].peers.insert(peer, other);
            for index in 0..self.jobs.len() {
                let job = &self.jobs[index];
                if job.from == at && job.to == other && job.id.is_none() {
                    self.plan(now + job.at, Action::Start(index));
                }
            }
        }
        if let Event::ConnectFailed(peer, _) | Event::PeerGone(peer, _) = event {
            let Some(&other) = self.nodes[at].peers.get(&peer) else { return };
            let ends = [(at, other), (other, at)];
            for job in self.jobs.iter_mut().filter(|job| ends.contains(&(job.from, job.to))) {
                job.skipped |= job.id.is_none();
            }
        }
        let sender = |id: RecvId, node: &Node| node.peers[&id.peer];
        match &event {
            Event::Offered { id, open, claimed } => {
                let from = sender(*id, &self.nodes[at]);
                let job = find_job(&mut self.jobs, from, at, *id);
                job.offer(now, open);
                let (claim, cancel) = (job.claim, job.cancel_recv);
                match claim {
                    Claim::AtOnce if *claimed => assert!(self.nodes[at].endpoint.claim(now, *id)),
                    Claim::AtOnce => self.plan(now, Action::Claim(at, *id)),
                    Claim::After(span) => self.plan(now + span, Action::Claim(at, *id)),
                    Claim::Never => {}
                }
                if let Some(span) = cancel {
                    self.plan(now + span, Action::CancelRecv(at, *id, ResetCode::Cancelled));
                }
            }
            Event::Message { id, group, index } => {
                let from = sender(*id, &self.nodes[at]);
                let job = find_job(&mut self.jobs, from, at, *id);
                let place = job.place(*group);
                job.announced[place].push(*index);
            }
            Event::Received(id, report) => {
                let from = sender(*id, &self.nodes[at]);
                let job = find_job(&mut self.jobs, from, at, *id);
                assert!(job.receiver.is_none(), "ended twice at the receiver");
                job.receiver = Some((now, Ok(report.clone())));
            }
            Event::RecvFailed(id, error) => {
                let from = sender(*id, &self.nodes[at]);
                let job = find_job(&mut self.jobs, from, at, *id);
                assert!(job.receiver.is_none(), "ended twice at the receiver");
                job.receiver = Some((now, Err(error.clone())));
            }
            Event::Sent(id, _) | Event::SendFailed(id, _) => {
                let job = self.jobs.iter_mut().find(|job| job.from == at && job.id == Some(*id));
                let job = job.expect("only jobs that were sent end");
                assert!(job.sender.is_none(), "ended twice at the sender");
                job.sender = Some(match event.clone() {
                    Event::Sent(_, report) => (now, Ok(report)),
                    Event::SendFailed(_, error) => (now, Err(error)),
                    _ => unreachable!("matched above"),
                });
            }
            _ => {}
        }
        if self.keep_log {
            self.nodes[at].log.push((now, event));
        }
    }
}
