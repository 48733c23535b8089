//! One transfer: its jobs, straight into their place in the file.

use std::thread::{self, Thread};

use anyhow::{Context, Result, anyhow};
use indicatif::ProgressBar;
use laxity_endpoint::{DeliveryReport, ElementType, Incoming, JobKind, Peer, ResetCode};

use super::{
    messages,
    place::{Destination, Draft, Refused},
    session::Session,
};
use crate::{
    delivery::Delivery,
    element,
    failure::Explain,
    label::{Label, No, Part},
    progress,
    sys::{
        map::{self, WriteMap},
        signal,
    },
    wait::TICK,
};

/// Receives one transfer.
pub(crate) struct Transfer<'a> {
    session: &'a mut Session,
    destination: &'a mut Destination,
    delivery: &'a mut Delivery,
    max_bytes: u64,
}

impl<'a> Transfer<'a> {
    pub(crate) fn new(
        session: &'a mut Session,
        destination: &'a mut Destination,
        delivery: &'a mut Delivery,
        max_bytes: u64,
    ) -> Self {
        Self { session, destination, delivery, max_bytes }
    }

    /// Receives it whole, its first job in hand.
    pub(crate) fn run(mut self, label: Label, first: Incoming) -> Result<()> {
        let draft = match self.destination.prepare(&label) {
            Ok(draft) => draft,
            Err(Refused { no, error }) => {
                first.refuse(no.code());
                return Err(error);
            }
        };
        let bar = match (first.open().kind, label.part) {
            (JobKind::Tensor { .. }, None) => progress::bytes(first.open().bytes, label.shown()),
            _ => progress::stream(label.shown()),
        };
        let outcome = self.receive_all(&label, first, &draft, &bar);
        bar.finish_and_clear();
        outcome?;
        self.destination.flush()?;
        draft.keep()
    }

    fn receive_all(
        &mut self,
        label: &Label,
        first: Incoming,
        draft: &Draft,
        bar: &ProgressBar,
    ) -> Result<()> {
        let peer = first.peer();
        let (mut part, mut job) = (label.part, first);
        loop {
            let begins = self.delivery.bytes();
            if part.is_some_and(|part| part.offset != begins) {
                job.refuse(No::Order.code());
                return Err(anyhow!("a part does not begin where the one before it ended"));
            }
            self.receive_job(job, part, draft, bar)?;
            match part {
                Some(Part { stream, index, last: false, .. }) => {
                    (part, job) = self.next_part(stream, index + 1, &peer)?;
                }
                _ => return Ok(()),
            }
        }
    }

    fn next_part(
        &mut self,
        stream: u64,
        index: u64,
        peer: &Peer,
    ) -> Result<(Option<Part>, Incoming)> {
        let wanted = |label: &Label| {
            label.part.is_some_and(|part| part.stream == stream && part.index == index)
        };
        let there = || match peer.info() {
            Some(_) => Ok(()),
            None => Err(anyhow!("the sender left before part {index} of the stream")),
        };
        let (label, job) = self.session.offer(wanted, there)?;
        Ok((label.part, job))
    }

    fn receive_job(
        &mut self,
        job: Incoming,
        part: Option<Part>,
        draft: &Draft,
        bar: &ProgressBar,
    ) -> Result<()> {
        let (offset, open) = (self.delivery.bytes(), job.open());
        let bytes = open.bytes;
        if offset.saturating_add(bytes) > self.max_bytes {
            job.refuse(ResetCode::TooLarge);
            return Err(anyhow!("it has more than {} bytes", self.max_bytes))
                .explain("the transfer is too large", "raise --max-bytes");
        }
        let JobKind::Tensor { element, .. } = open.kind else {
            let mut file = &draft.file;
            let out = self.destination.stream().unwrap_or(&mut file);
            let (bytes, report) = messages::receive(job, out, self.max_bytes, bar)?;
            self.delivery.add(offset, bytes, 1, &report);
            return Ok(());
        };
        // A stream needs each job only until it was passed on.
        let at = if draft.is_scratch() { 0 } else { offset };
        let map = map::reserve(&draft.file, at, bytes)
            .and_then(|()| WriteMap::stretch(&draft.file, at, bytes));
        let mut map = match map {
            Ok(map) => map,
            Err(error) => {
                job.refuse(No::Disk.code());
                return Err(error).explain("there is no room for it on the disk", "");
            }
        };
        if draft.is_scratch() && offset > 0 {
            map.clear();
        }
        let report = self.watch(job, element, part, &mut map, bar)?;
        if let Some(out) = self.destination.stream() {
            out.write_all(map.bytes()).context("cannot pass the data on")?;
        }
        self.delivery.add(offset, bytes, element.size() as u64, &report);
        bar.set_position(self.delivery.bytes());
        Ok(())
    }

    /// Receives a tensor on a thread of its own, so that this one can show progress and hear signals.
    fn watch(
        &mut self,
        job: Incoming,
        element: ElementType,
        part: Option<Part>,
        map: &mut WriteMap,
        bar: &ProgressBar,
    ) -> Result<DeliveryReport> {
        let (before, begins) = (self.session.bytes_received(), self.delivery.bytes());
        let most = job.open().bytes;
        let outcome = thread::scope(|scope| {
            let watcher = thread::current();
            let worker = scope.spawn(move || {
                let _done = Ring(watcher);
                element::receive_into(element, job, map)
            });
            let mut interrupted = Ok(());
            while !worker.is_finished() {
                interrupted = interrupted.and_then(|()| signal::check());
                if interrupted.is_err() {
                    // Without its port the worker's wait ends.
                    self.session.close(std::time::Duration::ZERO);
                }
                let count = self.session.bytes_received().saturating_sub(before);
                bar.set_position(begins + count.min(most));
                thread::park_timeout(TICK);
                if let Some(Part { stream, index, last: false, .. }) = part {
                    self.session.start_early(stream, index + 1);
                }
            }
            let outcome = worker.join().map_err(|_| anyhow!("the receiving thread panicked"));
            interrupted?;
            outcome
        })?;
        let report = outcome.ok_or_else(|| anyhow!("a part begins inside an element"))?;
        Ok(report?)
    }
}

/// Wakes a thread when this one is through, one way or the other.
struct Ring(Thread);

impl Drop for Ring {
    fn drop(&mut self) {
        self.0.unpark();
    }
}
