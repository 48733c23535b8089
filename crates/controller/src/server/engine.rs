//! The thread that runs the core: takes in what sessions hear, keeps time, writes records to disk, and
//! hands out words as fast as each session takes them.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::mpsc::SyncSender,
    time::{Duration, Instant, SystemTime},
};

use laxity_interface::{Span, Time};
use tokio::sync::{mpsc, oneshot};
use tonic::Status;

use super::{Happened, store::Store};
use crate::{
    auth::random,
    core::{Controller, Event, Outgoing, Record, SessionId},
    wire,
};

/// How often a session whose channel is full is looked at.
const RETRY: Duration = Duration::from_millis(5);
/// A session whose channel has been full for so long is ended.
const STUCK: Duration = Duration::from_secs(30);
/// The most words that are taken in before others are told something.
const AT_ONCE: usize = 1024;

/// What a session hears.
#[derive(Debug)]
pub(super) enum Input {
    /// Somebody is there.
    Opened { at: SocketAddr, out: Out, answer: oneshot::Sender<SessionId> },
    /// It said something.
    Word(SessionId, Box<wire::FromHost>),
    /// It is gone.
    Closed(SessionId, String),
    /// The process is to end.
    Stop,
}

/// A session's way out: what it is to say, and whether it goes on.
#[derive(Debug)]
pub(super) struct Out {
    pub(super) words: mpsc::Sender<Result<wire::ToHost, Status>>,
    /// Dropped when the session is to end.
    pub(super) _alive: oneshot::Sender<()>,
}

#[derive(Debug)]
struct Session {
    out: Out,
    /// Since when its channel is full.
    stuck: Option<Instant>,
}

/// The core with what it needs of the world.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) core: Controller,
    pub(super) store: Option<Store>,
    pub(super) events: SyncSender<Happened>,
    clock: Clock,
    sessions: BTreeMap<SessionId, Session>,
    next: u64,
}

/// The state's clock: the wall's at the start, and from then on one that never goes back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    start: Instant,
    at_start: Time,
}

impl Clock {
    pub(super) fn new(at_start: Time) -> Self {
        Self { start: Instant::now(), at_start }
    }

    pub(super) fn now(&self) -> Time {
        self.at_start + Span::from(self.start.elapsed())
    }

    fn until(&self, time: Time) -> Duration {
        time.since(self.now()).to_std()
    }
}

/// The wall clock, in milliseconds since 1970.
pub(super) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl Engine {
    pub(super) fn new(
        core: Controller,
        store: Option<Store>,
        clock: Clock,
        events: SyncSender<Happened>,
    ) -> Self {
        Self { core, store, events, clock, sessions: BTreeMap::new(), next: 1 }
    }

    /// Runs until it is told to stop, or nobody is left who could.
    pub(super) async fn run(mut self, mut inputs: mpsc::Receiver<Input>) {
        'all: loop {
            let due =
                self.core.poll_timeout().map_or(Duration::from_secs(1), |at| self.clock.until(at));
            let blocked = self.sessions.values().any(|session| session.stuck.is_some());
            let wait = due.min(if blocked { RETRY } else { Duration::from_secs(1) });
            let mut next = match tokio::time::timeout(wait, inputs.recv()).await {
                Ok(Some(input)) => Some(input),
                Ok(None) => break,
                Err(_) => None,
            };
            let mut count = 0;
            while let Some(input) = next {
                if !self.take(input) {
                    break 'all;
                }
                count += 1;
                next = if count < AT_ONCE { inputs.try_recv().ok() } else { None };
            }
            let now = self.clock.now();
            if self.core.poll_timeout().is_some_and(|due| due <= now) {
                let start = Instant::now();
                self.core.handle_timeout(now);
                self.tell_events(Some(start.elapsed()));
            }
            // On disk first: what somebody was told must not be forgotten.
            self.save();
            self.hand_out();
            self.tell_events(None);
        }
        self.finish();
    }

    fn take(&mut self, input: Input) -> bool {
        let now = self.clock.now();
        match input {
            Input::Opened { at, out, answer } => {
                let id = SessionId(self.next);
                self.next += 1;
                if answer.send(id).is_ok() {
                    self.sessions.insert(id, Session { out, stuck: None });
                    self.core.handle_opened(now, id, at, random());
                }
            }
            Input::Word(id, word) => self.core.handle_word(now, id, *word),
            Input::Closed(id, why) => {
                self.sessions.remove(&id);
                self.core.handle_closed(now, id, &why);
            }
            Input::Stop => return false,
        }
        true
    }

    fn save(&mut self) {
        let records: Vec<Record> = std::iter::from_fn(|| self.core.poll_record()).collect();
        let now = self.clock.now();
        let Some(store) = &mut self.store else { return };
        let mut outcome = Ok(());
        if !records.is_empty() {
            outcome = store.append(&records);
        }
        if outcome.is_err() || store.has_grown() {
            // After a failure the whole state is tried: half a line may stand at the end.
            outcome = store.replace(&self.core.saved());
        }
        while let Some((name, bytes)) = self.core.poll_crew_save(now, false) {
            if let Err(error) = store.save_crew(&name, &bytes) {
                outcome = Err(error);
            }
        }
        while let Some(name) = self.core.poll_crew_gone() {
            store.forget_crew(&name);
        }
        if let Err(error) = outcome {
            self.tell(Event::NotSaved { what: error.to_string() }, None);
        }
    }

    /// Hands out words to whoever takes them; who does not is looked at again later, and nobody waits.
    fn hand_out(&mut self) {
        let now = self.clock.now();
        for id in self.core.ready().collect::<Vec<_>>() {
            if let Some(why) = self.feed(now, id) {
                self.sessions.remove(&id);
                self.core.handle_closed(now, id, &why);
            }
        }
    }

    /// Hands out words to one session while it takes them; says why, if it is over.
    fn feed(&mut self, now: Time, id: SessionId) -> Option<String> {
        use mpsc::error::TrySendError;
        let gone = || Some("its connection is gone".to_owned());
        let Some(session) = self.sessions.get_mut(&id) else { return gone() };
        loop {
            let permit = match session.out.words.try_reserve() {
                Ok(permit) => permit,
                Err(TrySendError::Closed(())) => return gone(),
                Err(TrySendError::Full(())) => {
                    let since = *session.stuck.get_or_insert_with(Instant::now);
                    let stuck = since.elapsed() >= STUCK;
                    return stuck.then(|| format!("it has read nothing for {} s", STUCK.as_secs()));
                }
            };
            session.stuck = None;
            match self.core.poll_word(now, id) {
                Some(Outgoing::Word(word)) => permit.send(Ok(word)),
                Some(Outgoing::End) => return Some("it was ended".to_owned()),
                None => return None,
            }
        }
    }

    fn tell_events(&mut self, took: Option<Duration>) {
        while let Some(event) = self.core.poll_event() {
            let took =
                took.filter(|_| matches!(event, Event::Round { .. } | Event::Updates { .. }));
            self.tell(event, took);
        }
    }

    fn tell(&self, event: Event, took: Option<Duration>) {
        let (hosts, jobs, flows) = self.core.counts();
        let took_us = took.map(|took| u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        let unix_ms = unix_ms();
        // Who has not listened for so long does not miss it.
        let _ = self.events.try_send(Happened { unix_ms, event, took_us, hosts, jobs, flows });
    }

    /// Everything to disk, in the end.
    fn finish(mut self) {
        self.save();
        let now = self.clock.now();
        let Some(store) = &mut self.store else { return };
        let mut outcome = store.replace(&self.core.saved());
        while let Some((name, bytes)) = self.core.poll_crew_save(now, true) {
            if let Err(error) = store.save_crew(&name, &bytes) {
                outcome = Err(error);
            }
        }
        if let Err(error) = outcome {
            self.tell(Event::NotSaved { what: error.to_string() }, None);
        }
    }
}
