//! A connected peer, and jobs on their way to it.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use laxity_interface::{GroupId, Rate};
use laxity_protocol::{
    DeliveryReport, GroupSpec, JobError, LaneKind, Payload, PeerId, PeerInfo, Progress, SendId,
    SendRequestError,
};

use crate::{
    core::{PeerState, SendSlot},
    error::SendError,
    outgoing::Outgoing,
    payloads::Source,
    shard::Shard,
};

/// A peer that can be sent jobs. Clones share the connection, which lives until
/// [`close`](Self::close) or the endpoint's end.
#[derive(Clone, Debug)]
pub struct Peer {
    shard: Arc<Shard>,
    id: PeerId,
}

impl Peer {
    pub(crate) fn new(shard: Arc<Shard>, id: PeerId) -> Self {
        Self { shard, id }
    }

    /// Its number at this endpoint.
    pub fn id(&self) -> PeerId {
        self.id
    }

    /// What is known of it: address, round-trip time, rates and their reasons. `None` once it is gone.
    pub fn info(&self) -> Option<PeerInfo> {
        self.shard.lock().protocol.peer(self.id)
    }

    /// Sends a job and waits until the receiver has what it needs.
    pub fn send(&self, job: Outgoing<'_>) -> Result<DeliveryReport, SendError> {
        let id = self.begin(false, &job, job.lend())?;
        // Declared after `job`: whatever happens, the lent memory is taken back first.
        let handle = SendHandle { shard: self.shard.clone(), id };
        handle.wait()
    }

    /// Starts a job and returns at once. Borrowed payload is copied; see [`Outgoing::shared`] and
    /// [`Outgoing::owned_messages`] for jobs without a copy.
    pub fn start(&self, job: &Outgoing<'_>) -> Result<SendHandle, SendError> {
        let id = self.begin(true, job, job.own())?;
        Ok(SendHandle { shard: self.shard.clone(), id })
    }

    /// Sends a job.
    pub async fn send_async(&self, job: &Outgoing<'_>) -> Result<DeliveryReport, SendError> {
        self.start(job)?.await
    }

    fn begin(&self, wake: bool, job: &Outgoing<'_>, source: Source) -> Result<SendId, SendError> {
        self.shard.command(wake, |core| {
            if core.shut_down {
                return Err(SendError::ShutDown);
            }
            if let Some(PeerState::Failed(error)) = core.peers.get(&self.id).map(|slot| slot.state)
            {
                return Err(error.into());
            }
            let id = core.protocol.send(self.shard.clock.now(), self.id, &job.request)?;
            core.payloads.jobs.insert(id, source);
            core.sends.insert(id, SendSlot::default());
            Ok(id)
        })
    }

    /// Opens a job whose messages are not all known yet. `job` gives groups, limits and the messages
    /// there are; `estimate` how many each group will have in the end; `max_message` the largest.
    pub fn open_window(
        &self,
        job: Outgoing<'static>,
        estimate: Vec<u64>,
        max_message: u64,
    ) -> Result<Window, SendError> {
        let mut job = job;
        let Payload::Messages { estimate: guess, max_message: largest, .. } =
            &mut job.request.payload
        else {
            return Err(SendRequestError::NotOpen.into());
        };
        (*guess, *largest) = (estimate, max_message);
        let id = self.begin(true, &job, job.own())?;
        Ok(Window { handle: SendHandle { shard: self.shard.clone(), id } })
    }

    /// Sets a lane's rate from outside.
    pub fn assign_rate(&self, lane: LaneKind, rate: Rate) {
        self.shard.command(true, |core| core.protocol.assign_rate(self.id, lane, rate));
    }

    /// Ends the connection; jobs under way fail on both sides.
    pub fn close(self) {
        let now = self.shard.clock.now();
        self.shard.command(true, |core| core.protocol.close(now, self.id));
    }
}

impl Outgoing<'static> {
    /// A window of messages with these groups and none in it yet.
    pub fn window(groups: impl IntoIterator<Item = GroupSpec>) -> Self {
        let mut job = Self::owned_messages(Vec::new());
        job.request.groups = groups.into_iter().collect();
        job
    }
}

/// A job that grows: a stream's window.
#[derive(Debug)]
pub struct Window {
    handle: SendHandle,
}

impl Window {
    /// Adds a message; returns its number in the group.
    pub fn push(&self, group: GroupId, message: Bytes) -> Result<u64, SendError> {
        let SendHandle { shard, id } = &self.handle;
        shard.command(true, |core| {
            let size = message.len() as u64;
            let Some(Source::Messages(messages)) = core.payloads.jobs.get_mut(id) else {
                return Err(match core.sends.get(id).and_then(|slot| slot.outcome.clone()) {
                    Some(Err(error)) => error.into(),
                    _ => SendRequestError::NotOpen.into(),
                });
            };
            messages.push(message);
            Ok(core.protocol.push(*id, group, size)?)
        })
    }

    /// No more messages: what was promised now counts of those that were pushed.
    pub fn close(self) -> Result<SendHandle, SendError> {
        let SendHandle { shard, id } = &self.handle;
        shard.command(true, |core| core.protocol.close_window(*id))?;
        Ok(self.handle)
    }
}

/// A job on its way. Waiting for it is possible by [`wait`](Self::wait) or `.await`; dropping it
/// cancels the job.
#[derive(Debug)]
pub struct SendHandle {
    shard: Arc<Shard>,
    id: SendId,
}

impl SendHandle {
    /// Its id.
    pub fn id(&self) -> SendId {
        self.id
    }

    /// How far it got in the group that is furthest from its goal; `None` once it has ended.
    pub fn progress(&self) -> Option<Progress> {
        self.shard.lock().protocol.send_progress(self.id)
    }

    /// Whether it has ended, one way or the other.
    pub fn is_finished(&self) -> bool {
        self.shard.lock().sends.get(&self.id).is_none_or(|slot| slot.is_over())
    }

    /// Waits for its end.
    pub fn wait(self) -> Result<DeliveryReport, SendError> {
        let outcome = self.shard.wait(None, |core| self.look(core));
        outcome.unwrap_or(Err(SendError::ShutDown))
    }

    /// Gives it up.
    pub fn cancel(self) {}

    fn look(&self, core: &mut crate::core::Core) -> Poll<Result<DeliveryReport, SendError>> {
        match core.sends.get_mut(&self.id).map(|slot| slot.outcome.take()) {
            Some(Some(outcome)) => Poll::Ready(outcome.map_err(|error: JobError| error.into())),
            Some(None) if !core.shut_down => Poll::Pending,
            _ => Poll::Ready(Err(SendError::ShutDown)),
        }
    }
}

impl Future for SendHandle {
    type Output = Result<DeliveryReport, SendError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut core = self.shard.lock();
        let outcome = self.look(&mut core);
        if outcome.is_pending()
            && let Some(slot) = core.sends.get_mut(&self.id)
        {
            slot.waker = Some(cx.waker().clone());
        }
        outcome
    }
}

impl Drop for SendHandle {
    fn drop(&mut self) {
        let under_way = {
            let mut core = self.shard.lock();
            core.sends.remove(&self.id);
            core.payloads.jobs.contains_key(&self.id)
        };
        if under_way {
            self.shard.command(true, |core| {
                core.protocol.cancel_send(self.id);
                core.payloads.jobs.remove(&self.id);
            });
        }
    }
}
