//! The roles of one rank.

use std::collections::VecDeque;

use laxity_interface::Time;

use super::{
    Role,
    aggregator::Aggregator,
    earliest,
    ids::RoleKind,
    notice::Notice,
    post::{Inbox, Letter},
    replica::Replica,
    scheduler::Scheduler,
    server::Server,
    worker::Worker,
};
use crate::{
    carrier::{Arrival, Event, Lane, Parcel},
    rank::Rank,
};

/// Who holds the model or a copy of it.
#[derive(Debug)]
enum Holder {
    Server(Box<Server>),
    Replica(Box<Replica>),
}

/// The roles of one rank, up to one of each kind. What they say to each other stays on the rank.
#[derive(Debug)]
pub struct Node {
    me: Rank,
    inbox: Inbox,
    notices: VecDeque<Notice>,
    worker: Option<Worker>,
    holder: Option<Holder>,
    aggregator: Option<Aggregator>,
    scheduler: Option<Scheduler>,
}

impl Node {
    /// No roles yet.
    pub fn new(me: Rank) -> Self {
        Self {
            me,
            inbox: Inbox::default(),
            notices: VecDeque::new(),
            worker: None,
            holder: None,
            aggregator: None,
            scheduler: None,
        }
    }

    /// With a worker.
    #[must_use]
    pub fn with_worker(self, worker: Worker) -> Self {
        Self { worker: Some(worker), ..self }
    }

    /// With a server.
    #[must_use]
    pub fn with_server(self, server: Server) -> Self {
        Self { holder: Some(Holder::Server(server.into())), ..self }
    }

    /// With a replica.
    #[must_use]
    pub fn with_replica(self, replica: Replica) -> Self {
        Self { holder: Some(Holder::Replica(replica.into())), ..self }
    }

    /// With an aggregator.
    #[must_use]
    pub fn with_aggregator(self, aggregator: Aggregator) -> Self {
        Self { aggregator: Some(aggregator), ..self }
    }

    /// With a scheduler.
    #[must_use]
    pub fn with_scheduler(self, scheduler: Scheduler) -> Self {
        Self { scheduler: Some(scheduler), ..self }
    }

    /// Which rank.
    pub fn rank(&self) -> Rank {
        self.me
    }

    /// Its worker.
    pub fn worker(&mut self) -> Option<&mut Worker> {
        self.worker.as_mut()
    }

    /// Its server, if it is or has become one.
    pub fn server(&self) -> Option<&Server> {
        match &self.holder {
            Some(Holder::Server(server)) => Some(server),
            _ => None,
        }
    }

    /// Its replica, while it is one.
    pub fn replica(&self) -> Option<&Replica> {
        match &self.holder {
            Some(Holder::Replica(replica)) => Some(replica),
            _ => None,
        }
    }

    /// Its scheduler.
    pub fn scheduler(&mut self) -> Option<&mut Scheduler> {
        self.scheduler.as_mut()
    }

    fn role(&mut self, kind: RoleKind) -> Option<&mut dyn Role> {
        match kind {
            RoleKind::Worker => self.worker.as_mut().map(|role| role as &mut dyn Role),
            RoleKind::Model => self.holder.as_mut().map(|holder| match holder {
                Holder::Server(server) => server.as_mut() as &mut dyn Role,
                Holder::Replica(replica) => replica.as_mut(),
            }),
            RoleKind::Aggregator => self.aggregator.as_mut().map(|role| role as &mut dyn Role),
            RoleKind::Scheduler => self.scheduler.as_mut().map(|role| role as &mut dyn Role),
        }
    }

    /// Something has happened. Events of other lanes are given back.
    pub fn handle_event(&mut self, now: Time, event: Event) -> Option<Event> {
        match event {
            Event::Arrived(arrival) if arrival.envelope.channel.lane == Lane::Role => {
                self.arrived(now, arrival);
            }
            Event::Sent { to, envelope, .. } if envelope.channel.lane == Lane::Role => {
                let kind = RoleKind::from_byte((envelope.channel.sequence >> 56) as u8);
                if let Some(role) = kind.filter(|_| envelope.channel.part > 0)
                    && let Some(role) = self.role(role)
                {
                    role.handle_delivered(now, to, envelope.channel.sequence);
                }
            }
            Event::Failed { peer, envelope, .. } if envelope.channel.lane == Lane::Role => {
                let channel = envelope.channel;
                let kind = RoleKind::from_byte((channel.sequence >> 56) as u8);
                if channel.group.get() != self.me.get() {
                    self.inbox.forget_one(peer, &channel);
                } else if let Some(role) = kind.and_then(|kind| self.role(kind)) {
                    role.handle_undelivered(now, peer, channel.sequence);
                }
            }
            Event::Lost { peer, reason, left } => {
                self.inbox.forget(peer);
                for kind in RoleKind::ALL {
                    if let Some(role) = self.role(kind) {
                        role.handle_lost(now, peer);
                    }
                }
                self.notices.push_back(Notice::Lost { peer, role: None, reason, left });
            }
            other => return Some(other),
        }
        self.promote();
        None
    }

    fn arrived(&mut self, now: Time, arrival: Arrival) {
        let from = arrival.from;
        match self.inbox.handle(arrival) {
            Ok(Some(letter)) => self.deliver(now, letter),
            Ok(None) => {}
            Err(error) => {
                let what = format!("{} cannot use what {from} sent: {error}", self.me);
                self.notices.push_back(Notice::Refusal { from, what });
            }
        }
    }

    fn deliver(&mut self, now: Time, letter: Letter) {
        let (from, me, kind) = (letter.from, self.me, letter.to_role);
        match self.role(kind) {
            Some(role) => role.handle_letter(now, letter),
            None => {
                let what = format!("{from} spoke to the {kind} at {me}, which has none");
                self.notices.push_back(Notice::Refusal { from, what });
            }
        }
    }

    /// The time of [`poll_timeout`](Self::poll_timeout) has come.
    pub fn handle_timeout(&mut self, now: Time) {
        for kind in RoleKind::ALL {
            if let Some(role) = self.role(kind) {
                role.handle_timeout(now);
            }
        }
        self.promote();
    }

    /// Lets a replica that takes over become the server.
    fn promote(&mut self) {
        let Some(holder) = self.holder.take() else { return };
        self.holder = Some(match holder {
            Holder::Replica(replica) if replica.takes_over() => {
                let (server, notices) = replica.into_server();
                self.notices.extend(notices);
                Holder::Server(server.into())
            }
            other => other,
        });
    }

    /// The next parcel to submit.
    pub fn poll_parcel(&mut self, now: Time) -> Option<Parcel> {
        for kind in RoleKind::ALL {
            while let Some(parcel) = self.role(kind).and_then(|role| role.poll_parcel(now)) {
                if parcel.to != self.me {
                    return Some(parcel);
                }
                let Parcel { envelope, body, .. } = parcel;
                self.arrived(now, Arrival { from: self.me, envelope, body, missing: Vec::new() });
                self.promote();
            }
        }
        None
    }

    /// When something is to be done, if nothing happens before.
    pub fn poll_timeout(&self) -> Option<Time> {
        let holder = self.holder.as_ref().and_then(|holder| match holder {
            Holder::Server(server) => server.poll_timeout(),
            Holder::Replica(replica) => replica.poll_timeout(),
        });
        earliest([
            holder,
            self.worker.as_ref().and_then(Role::poll_timeout),
            self.aggregator.as_ref().and_then(Role::poll_timeout),
            self.scheduler.as_ref().and_then(Role::poll_timeout),
        ])
    }

    /// Whether there is something to know.
    pub fn has_notice(&mut self) -> bool {
        if self.notices.is_empty() {
            let next = self.poll_notice();
            self.notices.extend(next);
        }
        !self.notices.is_empty()
    }

    /// The next thing to know.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        if let Some(notice) = self.notices.pop_front() {
            return Some(notice);
        }
        RoleKind::ALL.into_iter().find_map(|kind| self.role(kind)?.poll_notice())
    }
}
