//! Jobs that come in.

use std::{
    future::poll_fn,
    net::SocketAddr,
    sync::Arc,
    task::{Poll, Waker},
    time::{Duration, Instant},
};

use laxity_protocol::{
    DeliveryReport, ElementType, JobError, JobKind, JobOpen, Missing, Progress, RecvId, ResetCode,
};

use crate::{
    core::{Core, misfit},
    element::{Buffer, Element, as_bytes_mut},
    error::RecvError,
    payloads::{Lent, Message, Target},
    peer::Peer,
    shard::Shard,
};

/// A job that a peer offers, and that is being received if it is small. Dropping it refuses it.
#[derive(Debug)]
pub struct Incoming {
    shard: Arc<Shard>,
    id: RecvId,
    open: JobOpen,
    from: Option<SocketAddr>,
    /// Its end was seen: nothing to give up any more.
    ended: bool,
}

/// A received job.
#[derive(Debug)]
pub struct Received {
    /// The peer's number at this endpoint, and the job's.
    pub id: RecvId,
    /// The sender's label.
    pub label: Vec<u8>,
    /// What arrived.
    pub data: ReceivedData,
    /// What was promised, what arrived, what is missing.
    pub report: DeliveryReport,
}

/// The payload of a received job.
#[derive(Debug)]
pub enum ReceivedData {
    /// A tensor; what is missing is zero.
    Tensor {
        /// What it holds.
        element: ElementType,
        /// Its memory.
        buffer: Buffer,
    },
    /// Whole messages, in the order of arrival; exact groups in order.
    Messages(Vec<Message>),
}

impl ReceivedData {
    /// What a job's memory holds at its end.
    pub(crate) fn of(target: Option<Target>, kind: JobKind, report: &DeliveryReport) -> Self {
        match (target, kind) {
            (Some(Target::Tensor(mut buffer)), JobKind::Tensor { element, .. }) => {
                clear(&mut buffer, element, &report.missing);
                Self::Tensor { element, buffer }
            }
            (Some(Target::Messages { ready, .. }), _) => Self::Messages(ready.into()),
            // A job of nothing may have ended before anything was set aside for it.
            (_, JobKind::Tensor { element, .. }) => {
                Self::Tensor { element, buffer: Buffer::default() }
            }
            (_, JobKind::Messages { .. }) => Self::Messages(Vec::new()),
        }
    }
}

/// Sets what did not arrive to zero: it may still hold an earlier job's numbers.
fn clear(buffer: &mut Buffer, element: ElementType, missing: &Missing) {
    let Missing::Elements(ranges) = missing else { return };
    let (bytes, size) = (buffer.bytes_mut(), element.size());
    for (from, to) in ranges {
        bytes[*from as usize * size..*to as usize * size].fill(0);
    }
}

impl Received {
    /// The tensor as numbers of this type. `None` if it is not one of those.
    pub fn tensor<T: Element>(&self) -> Option<&[T]> {
        match &self.data {
            ReceivedData::Tensor { element, buffer } if *element == T::TYPE => buffer.elements(),
            _ => None,
        }
    }

    /// The messages; none for a tensor.
    pub fn messages(&self) -> &[Message] {
        match &self.data {
            ReceivedData::Messages(messages) => messages,
            ReceivedData::Tensor { .. } => &[],
        }
    }
}

impl Incoming {
    pub(crate) fn new(shard: Arc<Shard>, id: RecvId) -> Self {
        let (open, from) = {
            let core = shard.lock();
            let slot = &core.recvs[&id];
            (slot.open.clone(), slot.from)
        };
        Self { shard, id, open, from, ended: false }
    }

    /// Its id.
    pub fn id(&self) -> RecvId {
        self.id
    }

    /// What it says of itself.
    pub fn open(&self) -> &JobOpen {
        &self.open
    }

    /// Its sender's address; `None` if the sender was gone the moment it offered the job.
    pub fn from(&self) -> Option<SocketAddr> {
        self.from
    }

    /// Who sends it.
    pub fn peer(&self) -> Peer {
        Peer::new(self.shard.clone(), self.id.peer)
    }

    /// How far it got in the group that is furthest from its goal.
    pub fn progress(&self) -> Option<Progress> {
        self.shard.lock().protocol.recv_progress(self.id)
    }

    /// Whether it has ended, one way or the other.
    pub fn is_finished(&self) -> bool {
        self.shard.lock().recvs.get(&self.id).is_none_or(|slot| slot.is_over())
    }

    /// Receives it into memory of its own.
    pub fn receive(mut self) -> Result<Received, RecvError> {
        self.start();
        let outcome = self.shard.clone().wait(None, |core| self.look(core, None));
        self.finish(outcome)
    }

    /// Starts to receive it without waiting; [`is_finished`](Self::is_finished) and
    /// [`progress`](Self::progress) tell how it goes, [`receive`](Self::receive) gets it.
    pub fn start(&self) {
        self.claim(|open| Some(Target::recycled(open)));
    }

    /// Receives it into memory of its own.
    pub async fn receive_async(mut self) -> Result<Received, RecvError> {
        self.start();
        let shard = self.shard.clone();
        let outcome = poll_fn(|cx| self.look(&mut shard.lock(), Some(cx.waker()))).await;
        self.finish(Some(outcome))
    }

    /// Receives a tensor straight into `buffer`, which may be longer. What is missing keeps the
    /// buffer's old content.
    pub fn receive_into<T: Element>(
        mut self,
        buffer: &mut [T],
    ) -> Result<DeliveryReport, RecvError> {
        let bytes = as_bytes_mut(buffer);
        let element = match self.open.kind {
            JobKind::Tensor { element, .. } => Some(element),
            JobKind::Messages { .. } => None,
        };
        if element != Some(T::TYPE) || self.open.bytes > bytes.len() as u64 {
            return Err(misfit(&self.open, bytes.len() as u64, T::TYPE));
        }
        let mut early = None;
        self.claim(|_| Some(Target::Lent(Lent::write(bytes))));
        let outcome = self.shard.clone().wait(None, |core| {
            let outcome = self.look(core, None);
            if outcome.is_ready() {
                // Small jobs may have come before there was a buffer to put them in.
                early = core.arrivals.remove(self.id);
            }
            outcome
        });
        let report = outcome.unwrap_or(Err(RecvError::ShutDown))?;
        if let Some(Target::Tensor(mut buffer)) = early {
            clear(&mut buffer, T::TYPE, &report.missing);
            bytes[..buffer.bytes().len()].copy_from_slice(buffer.bytes());
        }
        Ok(report)
    }

    /// The next message of a messages job, as it arrives; `None` when the job has ended, whose outcome
    /// [`receive`](Self::receive) then tells. With a time-out also `None`: see
    /// [`is_finished`](Self::is_finished).
    pub fn next_message(&mut self, time: Option<Duration>) -> Option<Message> {
        self.start();
        let deadline = time.and_then(|time| Instant::now().checked_add(time));
        let shard = self.shard.clone();
        let found = shard.wait(deadline, |core| {
            if let Some(Target::Messages { ready, .. }) = core.arrivals.get_mut(self.id)
                && let Some(message) = ready.pop_front()
            {
                return Poll::Ready(Some(message));
            }
            let over = core.recvs.get(&self.id).is_none_or(|slot| slot.is_over());
            if over || core.shut_down { Poll::Ready(None) } else { Poll::Pending }
        });
        found.flatten()
    }

    /// Says no, with the reason that the sender will read.
    pub fn refuse(self, code: ResetCode) {
        let now = self.shard.clock.now();
        self.shard.command(true, |core| core.protocol.cancel_recv(now, self.id, code));
    }

    fn claim(&self, target: impl FnOnce(&JobOpen) -> Option<Target>) {
        let now = self.shard.clock.now();
        self.shard.command(true, |core| {
            let running = core.recvs.get(&self.id).is_some_and(|slot| !slot.is_over());
            if running
                && core.arrivals.get_mut(self.id).is_none()
                && let Some(target) = target(&self.open)
            {
                core.arrivals.set(self.id, &self.open, target);
                core.protocol.claim(now, self.id);
            }
        });
    }

    fn look(
        &mut self,
        core: &mut Core,
        waker: Option<&Waker>,
    ) -> Poll<Result<DeliveryReport, RecvError>> {
        let Some(slot) = core.recvs.get_mut(&self.id) else {
            return Poll::Ready(Err(RecvError::ShutDown));
        };
        match slot.outcome.take() {
            Some(outcome) => {
                self.ended = true;
                Poll::Ready(outcome.map_err(|error: JobError| error.into()))
            }
            None if core.shut_down => Poll::Ready(Err(RecvError::ShutDown)),
            None => {
                slot.waker = waker.cloned();
                Poll::Pending
            }
        }
    }

    fn finish(
        mut self,
        outcome: Option<Result<DeliveryReport, RecvError>>,
    ) -> Result<Received, RecvError> {
        let report = outcome.unwrap_or(Err(RecvError::ShutDown))?;
        let target = self.shard.lock().arrivals.remove(self.id);
        let data = ReceivedData::of(target, self.open.kind, &report);
        let label = std::mem::take(&mut self.open.label);
        Ok(Received { id: self.id, label, data, report })
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        let now = self.shard.clock.now();
        self.shard.command(true, |core| {
            if !self.ended {
                core.protocol.cancel_recv(now, self.id, ResetCode::Cancelled);
            }
            core.recvs.remove(&self.id);
            core.arrivals.remove(self.id);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[test]
    fn numbers_of_an_earlier_job_do_not_show_where_nothing_arrived() {
        let store = Store::default();
        drop(store.copy(&[7; 100_000]));
        let mut buffer = store.lend(100_000);
        assert!(buffer.bytes().iter().all(|byte| *byte == 7), "memory that was used before");
        clear(&mut buffer, ElementType::F32, &Missing::Elements(vec![(0, 10), (24_990, 25_000)]));
        let zeros = |range: std::ops::Range<usize>| buffer.bytes()[range].iter().all(|b| *b == 0);
        assert!(zeros(0..40) && zeros(99_960..100_000));
        assert!(buffer.bytes()[40..99_960].iter().all(|byte| *byte == 7), "what has arrived stays");
    }
}
