//! What happens when nothing happens.

use laxity_interface::{Span, Time};

use super::{Connection, Shared, handshake::Handshake};
use crate::{
    error::{ConnectError, Gone, JobError, ResetCode},
    event::Event,
    ids::JobId,
    path::Control,
    send::SendJob,
};

/// Doublings of the probe timer at most: at high loss a longer wait only wastes time.
const MAX_BACKOFF: u32 = 4;
/// A dead peer was asked at least this often, if the round trip allows.
const MIN_PROBES: u64 = 32;
/// The most copies of one probe. Where nine of ten packets are lost in either direction, one in a
/// hundred questions is answered.
const MAX_COPIES: u32 = 8;

/// What a timer found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Health {
    /// All well.
    Fine,
    /// The connection is over.
    Over,
}

impl Connection {
    /// The earliest time at which [`handle_timeout`](Self::handle_timeout) has something to do.
    pub(crate) fn next_timeout(&self, shared: &Shared) -> Option<Time> {
        let config = &shared.config;
        if let Handshake::Calling(caller) = &self.handshake {
            return Some(caller.started + caller.patience(config.connect_timeout));
        }
        if !self.is_confirmed() {
            return Some(self.last_heard + config.connect_timeout);
        }
        let keep_alive = self.is_watched(shared).then(|| self.last_sent + config.dead_after / 4);
        let (since, silence, _) = self.patience(shared);
        let recvs = self.recvs.values().flat_map(|job| match job.ended {
            Some(_) => job.forget_at,
            None => job.next_look(self.last_heard),
        });
        recvs
            .chain(self.sends.values().filter_map(|job| job.limit))
            .chain(
                self.sends.values().filter(|job| self.is_done(job)).filter_map(|job| job.probe_at),
            )
            .chain(self.loss_due)
            .chain(self.probe_due(shared))
            .chain(keep_alive)
            .chain([since + silence])
            .min()
    }

    fn probe_due(&self, shared: &Shared) -> Option<Time> {
        if self.sent.out() == 0 {
            return None;
        }
        let (oldest, newest) = (self.sent.oldest_out()?, self.sent.newest_out()?);
        let wait = self.rtt.probe_timeout(self.ack_allowance(shared));
        let longest = wait.max(shared.config.dead_after / MIN_PROBES);
        let backed_off = (wait * (1 << self.probes.min(MAX_BACKOFF))).min(longest);
        // A sender that never pauses must notice silence all the same.
        let since = newest.min(oldest.max(self.probed) + wait);
        Some(if self.probes == 0 { since } else { since.max(self.probed) } + backed_off)
    }

    /// Does what is due.
    pub(crate) fn handle_timeout(&mut self, now: Time, shared: &mut Shared) -> Health {
        if let Handshake::Calling(caller) = &self.handshake {
            let waited = now.since(caller.started);
            if waited < caller.patience(shared.config.connect_timeout) {
                return Health::Fine;
            }
            let error = caller_error(self.address, waited, caller.hint, caller.forged);
            self.fail_all(|_| JobError::Connect(error), shared);
            shared.events.push_back(Event::ConnectFailed(self.id, error));
            return Health::Over;
        }
        if self.is_silent(now, shared) {
            return Health::Over;
        }
        if self.loss_due.is_some_and(|due| due <= now) {
            self.find_losses(now, shared);
            self.end_ack(now, 0, false, shared);
        }
        if self.probe_due(shared).is_some_and(|due| due <= now) {
            self.probe(now, shared);
        }
        if self.is_watched(shared) && self.last_sent + shared.config.dead_after / 4 <= now {
            self.queue(Control::Ping);
            self.last_sent = now;
        }
        self.expire_jobs(now, shared);
        Health::Fine
    }

    /// Whether silence means death, and is asked about.
    fn is_watched(&self, shared: &Shared) -> bool {
        shared.config.watch_idle || self.is_busy()
    }

    /// Nothing was heard for too long.
    fn is_silent(&mut self, now: Time, shared: &mut Shared) -> bool {
        let config = &shared.config;
        let silent = now.since(self.last_heard);
        if !self.is_confirmed() {
            return silent >= config.connect_timeout;
        }
        let (since, limit, gone) = self.patience(shared);
        if now.since(since) < limit {
            return false;
        }
        let peer = self.address;
        self.fail_all(|progress| JobError::PeerDead { peer, silent, progress }, shared);
        shared.stats.peers_dead += u64::from(gone == Gone::Dead);
        shared.events.push_back(Event::PeerGone(self.id, gone));
        true
    }

    /// Since when, for how long and with which result silence is borne.
    fn patience(&self, shared: &Shared) -> (Time, Span, Gone) {
        let (heard, config) = (self.last_heard, &shared.config);
        match self.sent.oldest_out() {
            _ if self.is_watched(shared) => (heard, config.dead_after, Gone::Dead),
            // It owes an answer, if only to a farewell to a job.
            Some(asked) => (heard.max(asked), config.dead_after, Gone::Dead),
            None => (heard, config.idle_after, Gone::Idle),
        }
    }

    /// Nothing was acknowledged for too long: ask, and let the controllers know.
    fn probe(&mut self, now: Time, shared: &Shared) {
        self.probes += 1;
        self.probed = now;
        self.copies = (1 << (self.probes - 1).min(31)).min(MAX_COPIES);
        let waiting: Vec<JobId> =
            self.sends.iter().filter(|(_, job)| job.probe.is_some()).map(|(id, _)| *id).collect();
        let unknown: Vec<JobId> =
            self.sends.iter().filter(|(_, job)| !job.introduced).map(|(id, _)| *id).collect();
        for job in &waiting {
            self.queue(Control::Probe(*job));
        }
        for job in &unknown {
            self.queue(Control::Open(*job));
        }
        if waiting.is_empty() && unknown.is_empty() {
            self.queue(Control::Ping);
        }
        let ended: Vec<_> = self
            .recvs
            .iter()
            .flat_map(|(id, job)| job.parts.iter().map(move |(part, done)| (*id, *part, *done)))
            .filter(|(_, _, done)| !done)
            .map(|(id, (space, from), _)| Control::Final(id, space, from))
            .take(4)
            .collect();
        for control in ended {
            self.queue(control);
        }
        if self.probes >= 2 {
            self.end_ack(now, 0, true, shared);
        }
    }

    fn expire_jobs(&mut self, now: Time, shared: &mut Shared) {
        let peer = self.address;
        let late = |job: &SendJob| job.limit.is_some_and(|limit| limit <= now);
        let expired: Vec<_> = self
            .sends
            .values()
            .filter(|job| late(job))
            .map(|job| (job.id, Span::from_us(job.open.limit_us)))
            .collect();
        for (job, limit) in expired {
            self.tell_reset(job, false, ResetCode::TimeLimit);
            self.fail_send(job, |progress| JobError::TimeLimit { peer, limit, progress }, shared);
        }
        let recvs: Vec<_> = self.recvs.keys().copied().collect();
        for job in recvs {
            let found = &self.recvs[&job];
            if found.ended.is_none() {
                self.review(now, job, shared);
            } else if found.forget_at.is_some_and(|at| at <= now) {
                self.forget_recv(job, shared);
            }
        }
    }

    /// Asks about jobs that have nothing left to send: at once where losses are known, otherwise after
    /// half a round trip, within which most jobs end by themselves.
    pub(crate) fn ask_where_done(&mut self, now: Time) {
        let lossy = self.lanes.iter().any(|lane| lane.loss_estimate > 1e-4);
        let wait = self.rtt.smoothed() / 2;
        let done = self.sends.values().filter(|job| self.is_done(job));
        let done: Vec<_> = done.map(|job| job.id).collect();
        for id in done {
            let Some(job) = self.sends.get_mut(&id) else { continue };
            let first = if lossy || job.pieces_lost > 0 { now } else { now + wait };
            let first = first.max(job.ask_at);
            if *job.probe_at.get_or_insert(first) <= now {
                self.queue(Control::Probe(id));
            }
        }
    }

    /// Whether nothing of a job is left to send; a piece that was taken and waits for its packet is.
    fn is_done(&self, job: &SendJob) -> bool {
        let stashed = self.lanes.iter().any(|lane| lane.stash.is_some_and(|s| s.0 == job.id));
        job.wants_probe() && !stashed
    }

    /// The peer is there: its keys work.
    pub(super) fn confirm(&mut self, now: Time, shared: &mut Shared) {
        if let Handshake::Answered { at, .. } = self.handshake {
            // From our last Accept to the client's first packet is one round trip, or more.
            self.rtt.guess(now.since(at).min(shared.config.initial_rtt));
            self.restart_lanes(&shared.config);
        }
        self.handshake = Handshake::Done;
        shared.stats.peers_connected += 1;
        shared.events.push_back(Event::Connected(self.id));
    }
}

fn caller_error(
    peer: std::net::SocketAddr,
    waited: Span,
    hint: Option<crate::wire::Refusal>,
    forged: bool,
) -> ConnectError {
    match hint {
        Some(why) => ConnectError::Refused { peer, why },
        None if forged => ConnectError::BadKey { peer },
        None => ConnectError::NoAnswer { peer, waited },
    }
}
