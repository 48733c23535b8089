//! All connections of one rank, and what happens on them.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    io,
    sync::Arc,
};

use laxity_interface::Time;
use mio::{Interest, Registry, Token, net::TcpListener};

use super::{
    TcpSettings,
    hello::{Credentials, Hello, Step, already, welcome},
    link::{self, Link, Stage, Written},
    outbox::{Outbox, Place},
    reader::{Came, Reader, Rest},
};
use crate::{
    carrier::{Arrival, Event, Parcel},
    rank::Rank,
    rendezvous::{client::Departure, refusals::Refusals},
};

/// Bytes read from one peer in one turn.
const TURN_BYTES: usize = 1 << 20;
/// Connections beside one for each rank that may be greeting at once.
const STRANGERS: usize = 256;

/// Everything but the threads.
#[derive(Debug)]
pub(super) struct Core {
    me: Arc<Credentials>,
    settings: TcpSettings,
    registry: Registry,
    listener: TcpListener,
    peers: Vec<Peer>,
    links: BTreeMap<usize, Link>,
    next: usize,
    events: VecDeque<Event>,
    /// Bytes of arrivals that nobody has taken.
    untaken: u64,
    /// When parcels are given up that are not written by then.
    limits: BTreeSet<(Time, Rank, Place)>,
    /// Connections that have more to read or to write than one turn allowed.
    unread: BTreeSet<usize>,
    unwritten: BTreeSet<usize>,
    pub(super) refusals: Refusals,
    closing: bool,
}

#[derive(Debug, Default)]
struct Peer {
    outbox: Outbox,
    /// The connection to it, open or on the way.
    link: Option<usize>,
    /// Until when its own call is waited for.
    patience: Option<Time>,
    lost: bool,
}

impl Core {
    pub(super) fn new(
        me: Arc<Credentials>,
        settings: TcpSettings,
        registry: Registry,
        listener: TcpListener,
    ) -> Self {
        let world = me.roster.world();
        Self {
            me,
            settings,
            registry,
            listener,
            peers: (0..world).map(|_| Peer::default()).collect(),
            links: BTreeMap::new(),
            next: 0,
            events: VecDeque::new(),
            untaken: 0,
            limits: BTreeSet::new(),
            unread: BTreeSet::new(),
            unwritten: BTreeSet::new(),
            refusals: Refusals::default(),
            closing: false,
        }
    }

    fn rank(&self) -> Rank {
        self.me.identity.rank()
    }

    /// The oldest event.
    pub(super) fn take_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        if let Event::Arrived(arrival) = &event {
            self.untaken -= arrival.body.len() as u64;
        }
        Some(event)
    }

    /// Whether it would be noticed if nobody drove.
    pub(super) fn is_busy(&self) -> bool {
        self.peers.iter().any(|peer| !peer.outbox.is_empty())
            || self.links.values().any(|link| match &link.stage {
                Stage::Open(_, reader) => reader.is_busy(),
                _ => true,
            })
    }

    /// Whether there is something to do right away.
    pub(super) fn has_more(&self) -> bool {
        !self.unwritten.is_empty() || (!self.unread.is_empty() && !self.is_full())
    }

    /// Whether arrivals have to be taken before more is read.
    fn is_full(&self) -> bool {
        self.untaken > self.settings.untaken_bytes
    }

    /// Bytes held for arrivals: whole ones that nobody took, and room for those under way.
    pub(super) fn held_bytes(&self) -> u64 {
        let rooms = self.links.values().map(|link| match &link.stage {
            Stage::Open(_, reader) => reader.reserved(),
            _ => 0,
        });
        self.untaken + rooms.sum::<u64>()
    }

    pub(super) fn submit(&mut self, now: Time, parcel: Parcel) {
        let (to, envelope) = (parcel.to, parcel.envelope);
        let fail = |reason: String| Event::Failed { peer: to, envelope, reason };
        if to == self.rank() {
            self.untaken += parcel.body.len() as u64;
            let (from, missing) = (to, Vec::new());
            self.events.push_back(Event::Sent { to, envelope, missing: Vec::new() });
            let arrival = Arrival { from, envelope, body: parcel.body, missing };
            return self.events.push_back(Event::Arrived(arrival));
        }
        let Some(peer) = self.peers.get_mut(to.index()) else {
            let world = self.peers.len();
            return self.events.push_back(fail(format!("there is no {to} in a world of {world}")));
        };
        if peer.lost {
            return self.events.push_back(fail(format!("{to} is lost")));
        }
        let limit = parcel.slack.limit;
        let place = peer.outbox.push(parcel);
        if let Some(limit) = limit {
            self.limits.insert((now + limit, to, place));
        }
        match peer.link {
            Some(link) => self.write(link),
            None if peer.patience.is_some() => {}
            None => self.call(now, to),
        }
    }

    fn call(&mut self, now: Time, to: Rank) {
        let Some(at) = self.me.roster.member(to).map(|member| member.address) else { return };
        let (hello, first) = Hello::call(self.me.clone(), to, at);
        let stage = Stage::Connecting(to, hello, first);
        let link = link::connect(at, &self.settings)
            .and_then(|stream| self.add(Link::new(stream, at, now, stage)));
        match link {
            Ok(link) => self.peers[to.index()].link = Some(link),
            Err(error) => self.lose(to, &format!("cannot connect to {to} at {at}: {error}")),
        }
    }

    fn add(&mut self, mut link: Link) -> io::Result<usize> {
        let token = self.next;
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.registry.register(&mut link.stream, Token(token), interest)?;
        self.next += 1;
        self.links.insert(token, link);
        Ok(token)
    }

    pub(super) fn accept(&mut self, now: Time) {
        loop {
            let (stream, at) = match self.listener.accept() {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // Nobody more; or no descriptors left, and then those who wait may try again.
                Err(_) => return,
            };
            let greeting = self.links.values().filter(|link| !link.is_open()).count();
            if greeting >= self.peers.len() + STRANGERS {
                self.refusals.add(format!("{at}: too many strangers at once"));
                continue;
            }
            let hello = Hello::listen(self.me.clone(), at);
            let link = Link::new(stream, at, now, Stage::Greeting(None, hello));
            let tuned = link::tune(&link.stream, &self.settings);
            match tuned.and_then(|()| self.add(link)) {
                Ok(token) => drop(self.unread.insert(token)),
                Err(error) => self.refusals.add(format!("{at}: {error}")),
            }
        }
    }

    /// The system says that something can be done with a connection.
    pub(super) fn handle_ready(&mut self, token: usize, readable: bool, writable: bool) {
        let Some(link) = self.links.get_mut(&token) else { return };
        if let Stage::Connecting(rank, ..) = link.stage {
            let (rank, at) = (rank, link.at);
            match link::connected(&link.stream) {
                Ok(false) => return,
                Ok(true) => {
                    let stage = std::mem::replace(&mut link.stage, Stage::Closing);
                    let Stage::Connecting(rank, hello, first) = stage else { return };
                    link.stage = Stage::Greeting(Some(rank), hello);
                    if let Err(error) = link.say(&first) {
                        return self.fail(token, &error.to_string());
                    }
                }
                Err(error) => {
                    let reason = format!("cannot connect to {rank} at {at}: {error}");
                    self.drop_link(token);
                    return self.lose(rank, &reason);
                }
            }
        }
        if writable {
            self.write(token);
        }
        if readable {
            self.unread.insert(token);
        }
    }

    /// One turn of all that is left to do.
    pub(super) fn turn(&mut self, now: Time) {
        for token in std::mem::take(&mut self.unwritten) {
            self.write(token);
        }
        if !self.is_full() {
            for token in std::mem::take(&mut self.unread) {
                self.read(now, token);
            }
        }
        self.handle_timeout(now);
    }

    fn write(&mut self, token: usize) {
        let Some(link) = self.links.get_mut(&token) else { return };
        let mut through = Vec::new();
        let (rank, outcome) = match link.stage {
            Stage::Open(rank, _) => {
                let outbox = &mut self.peers[rank.index()].outbox;
                let outcome = link.write(outbox, &mut through);
                if self.closing && outcome.as_ref().is_ok_and(|written| *written == Written::All) {
                    // The goodbye is out. That it cannot be said twice is no error.
                    let _ = link.stream.shutdown(std::net::Shutdown::Write);
                }
                (rank, outcome)
            }
            Stage::Closing => {
                if link.flush_words().unwrap_or(true) {
                    self.drop_link(token);
                }
                return;
            }
            Stage::Greeting(..) => {
                if let Err(error) = link.flush_words() {
                    self.fail(token, &error.to_string());
                }
                return;
            }
            Stage::Connecting(..) => return,
        };
        for envelope in through {
            self.events.push_back(Event::Sent { to: rank, envelope, missing: Vec::new() });
        }
        match outcome {
            Ok(Written::Turn) => drop(self.unwritten.insert(token)),
            Ok(_) => {}
            Err(error) => self.fail(token, &error.to_string()),
        }
    }

    fn read(&mut self, now: Time, token: usize) {
        let Some(link) = self.links.get_mut(&token) else { return };
        match &mut link.stage {
            Stage::Open(rank, reader) => {
                let (rank, mut came) = (*rank, Vec::new());
                let rest = reader.read(&mut link.stream, TURN_BYTES, &mut came);
                self.take(token, rank, came);
                match rest {
                    Ok(Rest::Dry) => {}
                    Ok(Rest::More) => drop(self.unread.insert(token)),
                    Ok(Rest::End) => self.fail(token, "it closed the connection without a goodbye"),
                    Err(error) => self.fail(token, &error.to_string()),
                }
            }
            Stage::Greeting(..) => {
                let heard = link.hear();
                self.greet(now, token);
                match heard {
                    Ok(true) => {}
                    Ok(false) => self.hung_up(token, "it closed the connection while greeting"),
                    Err(error) => self.hung_up(token, &error.to_string()),
                }
            }
            Stage::Connecting(..) | Stage::Closing => {}
        }
    }

    /// The end of a connection that was greeting a moment ago: it may be open now, and say more.
    fn hung_up(&mut self, token: usize, how: &str) {
        match self.links.get(&token).map(Link::is_open) {
            Some(true) => drop(self.unread.insert(token)),
            Some(false) => self.fail(token, how),
            None => {}
        }
    }

    fn greet(&mut self, now: Time, token: usize) {
        loop {
            let Some(link) = self.links.get_mut(&token) else { return };
            let at = link.at;
            let Stage::Greeting(called, hello) = &mut link.stage else { return };
            let called = *called;
            match hello.handle(&mut link.heard) {
                Step::Wait => return,
                Step::Say(word) => {
                    if let Err(error) = link.say(&word) {
                        return self.fail(token, &error.to_string());
                    }
                }
                Step::Known(rank) => return self.known(now, token, rank, called.is_some()),
                Step::Already => {
                    // Its own call is on the way, or here already.
                    self.drop_link(token);
                    if let Some(rank) = called
                        && self.peers[rank.index()].link.is_none()
                    {
                        let until = now + self.settings.connect_timeout.into();
                        self.peers[rank.index()].patience = Some(until);
                    }
                    return;
                }
                Step::Refuse { say, why } => {
                    match called {
                        Some(rank) => self.lose(rank, &format!("no connection with {rank}: {why}")),
                        None => self.refusals.add(format!("{at}: {why}")),
                    }
                    let Some(link) = self.links.get_mut(&token) else { return };
                    link.stage = Stage::Closing;
                    if link.say(&say).is_err() || link.flush_words().unwrap_or(true) {
                        self.drop_link(token);
                    }
                    return;
                }
            }
        }
    }

    /// The other side has proved its rank. When both call at once, the call of the lower rank stays.
    fn known(&mut self, now: Time, token: usize, rank: Rank, called: bool) {
        let here = self.rank();
        let peer = &mut self.peers[rank.index()];
        if !called {
            let other = peer.link.filter(|other| *other != token);
            let other_open = other.and_then(|o| self.links.get(&o)).is_some_and(Link::is_open);
            let refuse = peer.lost || other_open || (other.is_some() && here < rank);
            let word = if refuse { already() } else { welcome() };
            let Some(link) = self.links.get_mut(&token) else { return };
            let said = link.say(&word);
            if refuse || said.is_err() {
                link.stage = Stage::Closing;
                if said.is_err() || link.flush_words().unwrap_or(true) {
                    self.drop_link(token);
                }
                return;
            }
            if let Some(other) = other {
                self.drop_link(other);
            }
        }
        let peer = &mut self.peers[rank.index()];
        (peer.link, peer.patience) = (Some(token), None);
        let Some(link) = self.links.get_mut(&token) else { return };
        link.since = now;
        let (mut reader, mut came) = (Reader::new(self.settings.max_parcel), Vec::new());
        let early = reader.begin_with(&std::mem::take(&mut link.heard), &mut came);
        link.stage = Stage::Open(rank, reader);
        self.unread.insert(token);
        self.take(token, rank, came);
        match early {
            Ok(()) => self.write(token),
            Err(error) => self.fail(token, &error.to_string()),
        }
    }

    fn take(&mut self, token: usize, from: Rank, came: Vec<Came>) {
        for came in came {
            match came {
                Came::Parcel(envelope, body) => {
                    self.untaken += body.len() as u64;
                    let arrival = Arrival { from, envelope, body, missing: Vec::new() };
                    self.events.push_back(Event::Arrived(arrival));
                }
                Came::Void(envelope) => {
                    let reason = format!("{from} gave it up: its time limit passed");
                    self.events.push_back(Event::Failed { peer: from, envelope, reason });
                }
                Came::Goodbye => {
                    let at = self.links.get(&token).map(|link| link.at);
                    let at = at.map_or_else(String::new, |at| format!(" at {at}"));
                    self.drop_link(token);
                    let reason = format!("{from}{at} has left: it said goodbye");
                    return self.lose_for(from, &reason, true);
                }
            }
        }
    }

    /// A connection is broken: of a rank, so is the rank.
    fn fail(&mut self, token: usize, how: &str) {
        let Some(link) = self.links.get(&token) else { return };
        let (at, rank, open) = (link.at, link.rank(), link.is_open());
        self.drop_link(token);
        match rank {
            Some(rank) if open => {
                self.lose(rank, &format!("connection with {rank} at {at}: {how}"))
            }
            Some(rank) => self.lose(rank, &format!("no connection with {rank} at {at}: {how}")),
            None => self.refusals.add(format!("{at}: {how}")),
        }
    }

    fn drop_link(&mut self, token: usize) {
        if let Some(link) = self.links.remove(&token)
            && let Some(rank) = link.rank()
            && self.peers[rank.index()].link == Some(token)
        {
            self.peers[rank.index()].link = None;
        }
    }

    /// Nothing more will come from a rank or reach it.
    fn lose(&mut self, rank: Rank, reason: &str) {
        self.lose_for(rank, reason, false);
    }

    /// The same, of a rank that may have left in order.
    fn lose_for(&mut self, rank: Rank, reason: &str, left: bool) {
        let peer = &mut self.peers[rank.index()];
        peer.patience = None;
        if std::mem::replace(&mut peer.lost, true) {
            return;
        }
        let waiting = peer.outbox.drain();
        self.events.push_back(Event::Lost { peer: rank, reason: reason.to_owned(), left });
        for envelope in waiting {
            let reason = reason.to_owned();
            self.events.push_back(Event::Failed { peer: rank, envelope, reason });
        }
    }

    /// The store has seen a rank go. A connection knows better how and when.
    pub(super) fn handle_departure(&mut self, departure: &Departure) {
        let Some(peer) = self.peers.get(departure.rank.index()) else { return };
        let open = peer.link.and_then(|link| self.links.get(&link)).is_some_and(Link::is_open);
        if !open && departure.rank != self.rank() {
            if let Some(link) = peer.link {
                self.drop_link(link);
            }
            self.lose_for(departure.rank, &departure.reason, departure.left);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        while let Some(&(at, rank, place)) = self.limits.first() {
            if at > now {
                break;
            }
            self.limits.pop_first();
            let outbox = &mut self.peers[rank.index()].outbox;
            if let Some(envelope) = outbox.withdraw(place) {
                let reason = format!("not written to {rank} within its time limit");
                self.events.push_back(Event::Failed { peer: rank, envelope, reason });
                if let Some(link) = self.peers[rank.index()].link {
                    self.write(link);
                }
            }
        }
        let patience = self.settings.connect_timeout;
        let slow = |link: &Link| !link.is_open() && link.since + patience.into() <= now;
        let slow: Vec<_> =
            self.links.iter().filter(|(_, link)| slow(link)).map(|(token, _)| *token).collect();
        for token in slow {
            self.fail(token, &format!("no answer within {patience:?}"));
        }
        for rank in (0..self.peers.len() as u32).map(Rank::new) {
            if self.peers[rank.index()].patience.is_some_and(|until| until <= now) {
                self.lose(rank, &format!("{rank} said that it calls, and did not in {patience:?}"));
            }
        }
    }

    /// When [`turn`](Self::turn) has something to do at the latest.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        let patience = self.settings.connect_timeout;
        let limit = self.limits.first().map(|(at, ..)| *at);
        let greeting = self.links.values().filter(|link| !link.is_open());
        let greeting = greeting.map(|link| link.since + patience.into());
        let calls = self.peers.iter().filter_map(|peer| peer.patience);
        greeting.chain(calls).chain(limit).min()
    }

    /// Says goodbye to all, after everything else.
    pub(super) fn close(&mut self) {
        self.closing = true;
        for rank in 0..self.peers.len() {
            let peer = &mut self.peers[rank];
            if !peer.lost && (peer.link.is_some() || !peer.outbox.is_empty()) {
                peer.outbox.say_goodbye();
                if let Some(link) = peer.link {
                    self.write(link);
                }
            }
        }
    }

    /// Whether all that were told goodbye have closed their side.
    pub(super) fn is_closed(&self) -> bool {
        self.links.values().all(|link| link.rank().is_none())
            && self.peers.iter().all(|peer| peer.lost || peer.outbox.is_empty())
    }
}
