//! The host's side: a thread that keeps in touch with the controller, and calls that never wait for it
//! longer than they were told to.

mod access;
mod ask;
mod backoff;
mod line;
mod run;
mod state;

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use laxity_fabric::{Rank, roles::RoleKind};
use laxity_interface::{Bytes, HostName, Job, Rate, Span, Time};
use tokio::sync::Notify;

use self::state::State;
pub use self::{
    access::{Access, AttendError},
    ask::{AskError, ask_overview, ask_why},
    line::{Line, WithController},
};
use crate::{
    auth::HostKeys,
    core::{Class, FlowName, Reason},
    wire,
};

/// Nobody waits longer, and no clock ends before.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// How a host keeps in touch.
#[derive(Debug)]
pub struct AgentOptions {
    /// Where the controller is.
    pub access: Access,
    /// This host's name in the cluster.
    pub name: HostName,
    /// What this host signs with. Those of an earlier run let it come back at once.
    pub keys: HostKeys,
    /// Where others reach it.
    pub addresses: Vec<String>,
    /// What it sends at most, if known.
    pub up: Option<Rate>,
    /// What it receives at most, if known.
    pub down: Option<Rate>,
    /// How long a flow waits for its first plan before it goes by the local rule.
    pub patience: Span,
    /// How long plans hold after the controller has gone.
    pub hold: Span,
    /// The first wait before another attempt to connect, and the longest.
    pub backoff: (Span, Span),
}

impl AgentOptions {
    /// A host of this name.
    pub fn new(access: Access, name: HostName) -> Self {
        Self {
            access,
            name,
            keys: HostKeys::new(),
            addresses: Vec::new(),
            up: None,
            down: None,
            patience: Span::from_ms(50),
            hold: Span::from_secs(1),
            backoff: (Span::from_ms(100), Span::from_secs(5)),
        }
    }
}

/// Who is attached to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attached {
    /// The controller's name.
    pub controller: String,
    /// How often it has been started with its state.
    pub incarnation: u64,
}

/// Whether the controller is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Link {
    /// The first attempt is under way.
    Connecting,
    /// It is.
    Attached(Attached),
    /// It is not; another attempt follows by itself.
    Away {
        /// What was seen.
        why: String,
    },
    /// It does not let this host in: another key, or another host's name. Attempts go on, slowly.
    Refused {
        /// What it said.
        why: String,
    },
}

/// What a flow does now.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// It sends.
    Send {
        /// How fast at most; nothing: as fast as the transport can.
        rate: Option<Rate>,
        /// Its place among this host's flows, 0 first.
        order: u32,
        /// The queue that it asks switches for; nothing: as the transport's rule says.
        class: Option<Class>,
        /// From now.
        after: Span,
        /// To whom, if not its receiver.
        to: Option<HostName>,
    },
    /// It waits until there is other advice.
    Wait,
}

/// What a flow does now, and why.
#[derive(Clone, PartialEq, Debug)]
pub struct Advice {
    /// What.
    pub action: Action,
    /// Why: the controller's plan, or the local rule.
    pub reason: Reason,
    version: u64,
}

/// Why an agent did not do something.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The operating system has no threads left.
    #[error("cannot start the thread that talks to the controller: {0}")]
    Thread(#[from] std::io::Error),
    /// A job of that name is there.
    #[error("job {job} was submitted already: withdraw it first, or give another name")]
    Twice {
        /// Its name.
        job: String,
    },
}

/// What the thread and the callers share.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Something has changed for callers.
    changed: Condvar,
    /// Something is to be said.
    work: Notify,
    /// The thread is to end.
    stop: Notify,
    start: Instant,
}

impl Shared {
    fn now(&self) -> Time {
        Time::ZERO + Span::from(self.start.elapsed())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic of another caller leaves the state as it was between two calls.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A host's agent. Ends when it is dropped.
#[derive(Debug)]
pub struct Agent {
    name: HostName,
    patience: Span,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Agent {
    /// Starts one. Whether the controller is there does not matter: the agent keeps trying.
    pub fn start(options: AgentOptions) -> Result<Self, AgentError> {
        let (name, patience) = (options.name.clone(), options.patience);
        let shared = Arc::new(Shared {
            state: Mutex::new(State::new(Time::ZERO, patience, options.hold)),
            changed: Condvar::new(),
            work: Notify::new(),
            stop: Notify::new(),
            start: Instant::now(),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let run = {
            let shared = Arc::clone(&shared);
            move || runtime.block_on(run::run(options, shared))
        };
        let thread = std::thread::Builder::new().name("laxity agent".into()).spawn(run)?;
        Ok(Self { name, patience, shared, thread: Some(thread) })
    }

    /// This host's name.
    pub fn name(&self) -> &HostName {
        &self.name
    }

    /// Whether the controller is there.
    pub fn link(&self) -> Link {
        self.shared.state().link.clone()
    }

    /// Waits until the link is as wanted, for at most `limit`.
    pub fn wait_link(&self, limit: Duration, mut wanted: impl FnMut(&Link) -> bool) -> bool {
        let end = Instant::now() + limit.min(LONGEST);
        let mut state = self.shared.state();
        loop {
            if wanted(&state.link) {
                return true;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Tells the controller of a job. Its flows may belong to any hosts; each is told its own plans.
    pub fn submit(&self, job: Job) -> Result<(), AgentError> {
        let now = self.shared.now();
        self.shared.state().submit(now, job)?;
        self.shared.work.notify_one();
        Ok(())
    }

    /// A job of this host has ended, or is given up.
    pub fn withdraw(&self, job: &str) {
        self.shared.state().withdraw(job);
        self.shared.work.notify_one();
    }

    /// What a flow is to do now: its plan, for which it waits no longer than the patience, or the local
    /// rule.
    pub fn advice(&self, flow: &FlowName) -> Advice {
        let mut state = self.shared.state();
        loop {
            let now = self.shared.now();
            let until = match state.advise(now, flow) {
                Ok(advice) => return advice,
                Err(until) => until.since(now).min(self.patience).to_std(),
            };
            let wait = until.max(Duration::from_micros(100));
            let waited = self.shared.changed.wait_timeout(state, wait);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for advice that is other than this, for at most `limit`.
    pub fn advice_after(&self, flow: &FlowName, last: &Advice, limit: Duration) -> Option<Advice> {
        let end = Instant::now() + limit.min(LONGEST);
        let mut state = self.shared.state();
        loop {
            let now = self.shared.now();
            if let Ok(advice) = state.advise(now, flow)
                && advice.version != last.version
            {
                return Some(advice);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let change = state.changes_by(now).map(|time| time.since(now).to_std());
            let wait = change.map_or(left, |change| change.min(left));
            let waited =
                self.shared.changed.wait_timeout(state, wait.max(Duration::from_micros(100)));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// How much of a flow has been sent so far. Said to the controller a few times a second.
    pub fn sent(&self, flow: &FlowName, bytes: Bytes) {
        self.shared.state().sent(flow, bytes);
    }

    /// All of a flow, which is this large, has been sent.
    pub fn finished(&self, flow: &FlowName, bytes: Bytes) {
        self.shared.state().finished(flow, bytes);
        self.shared.work.notify_one();
    }

    /// What a transfer to another host reached, and what it had been told to keep to.
    pub fn measured(&self, to: &HostName, rate: Rate, told: Option<Rate>) {
        self.shared.state().measured(to, rate, told);
        self.shared.work.notify_one();
    }

    /// Makes the controller the scheduler of a rank with these roles on this host. Give the roles
    /// [`CONTROLLER`](crate::CONTROLLER) as their scheduler and run them over
    /// [`WithController`].
    pub fn line(&self, crew: &str, rank: Rank, roles: &[RoleKind]) -> Line {
        let kinds: Vec<_> = roles
            .iter()
            .filter_map(|kind| match kind {
                RoleKind::Worker => Some(wire::Role::Worker),
                RoleKind::Model => Some(wire::Role::Model),
                RoleKind::Aggregator => Some(wire::Role::Aggregator),
                // That is the controller.
                RoleKind::Scheduler => None,
            })
            .collect();
        let number = self.shared.state().take_place(crew, rank.get(), &kinds);
        self.shared.work.notify_one();
        Line::new(Arc::clone(&self.shared), crew.to_owned(), rank, number)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.shared.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
