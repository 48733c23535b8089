//! The life of jobs: beginning, end, failure.

use laxity_interface::{GroupId, Time};

use super::{Connection, Shared};
use crate::{
    error::{JobError, Progress, ResetCode},
    event::Event,
    ids::{JobId, RecvId, SendId},
    path::Control,
    receive::Decision,
    report::Ended,
    send::{Room, SendJob, SendRequest, SendRequestError},
};

/// A last word is said this often before a peer that does not confirm it is left alone.
const LAST_WORDS: u64 = 8;

impl Connection {
    /// Starts a job.
    pub(crate) fn send(
        &mut self,
        now: Time,
        request: &SendRequest,
        start: u32,
        shared: &Shared,
    ) -> Result<JobId, SendRequestError> {
        if self.sends.len() >= shared.config.max_jobs {
            return Err(SendRequestError::TooManyJobs(self.sends.len()));
        }
        let id = JobId(self.next_job);
        let frames = match &self.open {
            Some(_) => self.frame_room(),
            // The handshake decides on the size of datagrams, and so on how a job is cut.
            None => return Err(SendRequestError::NotConnected),
        };
        let room = Room { frames, max_pieces: shared.config.max_pieces };
        let mut job = SendJob::new(now, id, request, room, shared.config.time_limit, start)?;
        job.only_enough &= shared.config.only_enough;
        // Shares count from now on: a newcomer does not get what others had before it came.
        job.served = self.sends.values().map(|job| job.served).reduce(f64::min).unwrap_or(0.0);
        self.next_job += 1;
        self.sends.insert(id, job);
        self.queue(Control::Open(id));
        self.classify(now, &shared.config);
        if self.sends.len() == 1 {
            // Silence before there was anything to say is not held against the peer.
            self.last_heard = self.last_heard.max(now);
        }
        Ok(id)
    }

    /// Adds a message to an open window; returns its number in the group.
    pub(crate) fn push(
        &mut self,
        job: JobId,
        group: GroupId,
        size: u64,
        max_pieces: u64,
    ) -> Result<u64, SendRequestError> {
        let job = self.sends.get_mut(&job).ok_or(SendRequestError::NotOpen)?;
        job.push(group, size, max_pieces)
    }

    /// Closes a window.
    pub(crate) fn close_window(&mut self, job: JobId) -> Result<(), SendRequestError> {
        self.sends.get_mut(&job).ok_or(SendRequestError::NotOpen)?.close_window()?;
        self.queue(Control::Window(job));
        Ok(())
    }

    /// The receiver said its last word.
    pub(super) fn finish_send(&mut self, now: Time, job: JobId, shared: &mut Shared) {
        if let Some(found) = self.sends.remove(&job) {
            shared.stats.jobs_sent += 1;
            shared.stats.pieces_repeated += found.pool.repeats();
            let id = SendId { peer: self.id, job };
            shared.events.push_back(Event::Sent(id, found.report(now)));
        }
    }

    /// Ends a job this side sends, with an error.
    pub(super) fn fail_send(
        &mut self,
        job: JobId,
        error: impl FnOnce(Progress) -> JobError,
        shared: &mut Shared,
    ) {
        if let Some(found) = self.sends.remove(&job) {
            shared.stats.jobs_failed += 1;
            let id = SendId { peer: self.id, job };
            shared.events.push_back(Event::SendFailed(id, error(found.progress())));
        }
    }

    /// Cancels a job this side sends.
    pub(crate) fn cancel_send(&mut self, job: JobId, shared: &mut Shared) {
        let peer = self.address;
        if self.sends.contains_key(&job) {
            self.tell_reset(job, false, ResetCode::Cancelled);
            self.fail_send(job, |progress| JobError::Cancelled { peer, progress }, shared);
        }
    }

    /// The application made room for a job.
    pub(crate) fn claim(&mut self, now: Time, job: JobId, shared: &mut Shared) -> bool {
        let Some(found) = self.recvs.get_mut(&job) else { return false };
        shared.unclaimed -= std::mem::take(&mut found.charged);
        let waits = !std::mem::replace(&mut found.claimed, true);
        if self.holding.remove(&job) || waits {
            self.queue(Control::Go(job));
        }
        self.review(now, job, shared);
        true
    }

    /// The application does not want a job.
    pub(crate) fn cancel_recv(&mut self, job: JobId, code: ResetCode, shared: &mut Shared) {
        let peer = self.address;
        if self.recvs.get(&job).is_some_and(|job| job.ended.is_none()) {
            self.tell_reset(job, true, code);
            self.fail_recv(job, |progress| JobError::Cancelled { peer, progress }, shared);
        }
    }

    /// Ends a received job because the peer contradicts itself.
    pub(super) fn refuse(&mut self, job: JobId, code: ResetCode, shared: &mut Shared) {
        let peer = self.address;
        self.tell_reset(job, true, code);
        self.fail_recv(job, |progress| JobError::Refused { peer, code, progress }, shared);
    }

    pub(super) fn tell_reset(&mut self, job: JobId, by_receiver: bool, code: ResetCode) {
        self.resets.entry((job, by_receiver)).or_insert_with(|| code.to_wire());
        self.queue(match by_receiver {
            true => Control::ResetReceived(job),
            false => Control::ResetSent(job),
        });
    }

    /// The peer ended a job.
    pub(super) fn handle_reset(
        &mut self,
        job: JobId,
        by_receiver: bool,
        code: ResetCode,
        shared: &mut Shared,
    ) {
        let peer = self.address;
        let error = |progress| JobError::Reset { peer, code, progress };
        if by_receiver {
            self.fail_send(job, error, shared);
        } else if self.recvs.get(&job).is_some_and(|job| job.ended.is_none()) {
            self.fail_recv(job, error, shared);
        } else {
            self.close_job(job, shared);
        }
    }

    pub(super) fn fail_recv(
        &mut self,
        job: JobId,
        error: impl FnOnce(Progress) -> JobError,
        shared: &mut Shared,
    ) {
        if let Some(found) = self.recvs.get(&job) {
            shared.stats.jobs_failed += 1;
            let id = RecvId { peer: self.id, job };
            shared.events.push_back(Event::RecvFailed(id, error(found.progress())));
            self.forget_recv(job, shared);
        }
    }

    /// Looks whether a received job can end.
    pub(super) fn review(&mut self, now: Time, job: JobId, shared: &mut Shared) {
        let Some(found) = self.recvs.get(&job).filter(|job| job.ended.is_none()) else { return };
        match found.decide(now) {
            Decision::Wait(_) => {}
            Decision::End(ended) => self.end_recv(now, job, ended, shared),
            Decision::Ask => self.queue(Control::Status(job)),
            Decision::Fail => {
                let (peer, limit) = (self.address, found.limit());
                self.tell_reset(job, true, ResetCode::TimeLimit);
                let error = |progress| JobError::TimeLimit { peer, limit, progress };
                self.fail_recv(job, error, shared);
            }
        }
    }

    fn end_recv(&mut self, now: Time, job: JobId, ended: Ended, shared: &mut Shared) {
        let loss_rate = self.gaps.0 as f64 / self.gaps.1.max(1) as f64;
        let forget_at = self.keeps_last_words(now, shared);
        let Some(found) = self.recvs.get_mut(&job) else { return };
        let spaces = found.space_count();
        found.ended = Some(ended);
        // Each numbering has at least one part of the last word; longer ones add theirs when written.
        found.parts = (0..spaces).map(|space| ((space, 0), false)).collect();
        found.forget_at = Some(forget_at);
        shared.unclaimed -= std::mem::take(&mut found.charged);
        let report = found.report(now, ended, loss_rate);
        shared.stats.jobs_received += 1;
        shared.events.push_back(Event::Received(RecvId { peer: self.id, job }, report));
        for space in 0..spaces {
            self.queue(Control::Final(job, space, 0));
        }
        self.holding.remove(&job);
        self.count_sender(shared);
    }

    /// Until when the last word of a job is kept for a peer that does not confirm it: time enough to say
    /// it several times, also where full queues make round trips longer than the wait for the dead.
    pub(super) fn keeps_last_words(&self, now: Time, shared: &Shared) -> Time {
        let repeated = self.rtt.probe_timeout(self.ack_allowance(shared)) * LAST_WORDS;
        now + repeated.max(shared.config.dead_after)
    }

    /// Lets go of a received job; late frames of it are known to be late.
    pub(super) fn forget_recv(&mut self, job: JobId, shared: &mut Shared) {
        if let Some(found) = self.recvs.remove(&job) {
            shared.unclaimed -= found.charged;
        }
        self.holding.remove(&job);
        self.close_job(job, shared);
        self.count_sender(shared);
    }

    pub(super) fn close_job(&mut self, job: JobId, shared: &Shared) {
        self.closed.insert(job, 4 * shared.config.max_jobs + 16);
    }

    /// Asks the sender of a job to wait.
    pub(super) fn hold(&mut self, job: JobId) {
        if self.holding.insert(job) {
            self.queue(Control::Hold(job));
        }
    }

    /// Keeps the endpoint's count of active senders right.
    pub(super) fn count_sender(&mut self, shared: &mut Shared) {
        let sends = self.recvs.values().any(|job| job.ended.is_none());
        if sends != self.counts_as_sender {
            self.counts_as_sender = sends;
            if sends {
                shared.active_senders += 1;
            } else {
                shared.active_senders -= 1;
            }
        }
    }

    /// Ends everything because the peer is gone.
    pub(crate) fn fail_all(&mut self, error: impl Fn(Progress) -> JobError, shared: &mut Shared) {
        let sends: Vec<_> = self.sends.keys().copied().collect();
        for job in sends {
            self.fail_send(job, &error, shared);
        }
        let recvs: Vec<_> = self.recvs.keys().copied().collect();
        for job in recvs {
            if self.recvs.get(&job).is_some_and(|job| job.ended.is_none()) {
                self.fail_recv(job, &error, shared);
            } else {
                self.forget_recv(job, shared);
            }
        }
    }
}
