//! One input on its way: parts become jobs, a few at once.

use std::{collections::VecDeque, time::Duration};

use anyhow::Result;
use indicatif::ProgressBar;
use laxity_endpoint::{JobError, Outgoing, SendError, SendHandle};

use super::{
    args::SendArgs,
    groups::Groups,
    input::{Chunk, Input},
};
use crate::{
    commands::connect::Reached,
    delivery::Delivery,
    element,
    failure::{Explain, is_interrupt},
    label::{Label, No, Part},
    progress,
    sys::{random, signal},
    wait,
};

/// Jobs of a stream under way: the second keeps the network busy while the first one ends.
const AT_ONCE: usize = 2;

/// Sends one input.
pub(crate) struct Transfer<'a> {
    args: &'a SendArgs,
    groups: &'a Groups,
    reached: &'a Reached,
}

/// A job on its way.
struct Job {
    offset: u64,
    length: u64,
    handle: SendHandle,
}

impl<'a> Transfer<'a> {
    pub(crate) fn new(args: &'a SendArgs, groups: &'a Groups, reached: &'a Reached) -> Self {
        Self { args, groups, reached }
    }

    /// Sends it all and waits for the last word.
    pub(crate) fn run(&self, mut input: Input) -> Result<Delivery> {
        let name = match &self.args.label {
            Some(label) => label.clone().into_bytes(),
            None => input.name.clone(),
        };
        let mut label = Label { name, part: None };
        let mut delivery = Delivery::new(label.shown(), self.reached.address.to_string());
        let bar = match input.length() {
            Some(length) => progress::bytes(length, input.shown.clone()),
            None => progress::stream(input.shown.clone()),
        };
        let outcome = self.send_parts(&mut input, &mut label, &mut delivery, &bar);
        bar.finish_and_clear();
        if let Err(error) = outcome {
            let what = format!("cannot send `{}` to {}", input.shown, self.reached.address);
            let remedy = remedy(&error);
            return Err(error).explain_progress(what, delivery.so_far(), remedy);
        }
        Ok(delivery)
    }

    fn send_parts(
        &self,
        input: &mut Input,
        label: &mut Label,
        delivery: &mut Delivery,
        bar: &ProgressBar,
    ) -> Result<()> {
        let mut under_way = VecDeque::new();
        let mut stream = None;
        while let Some(chunk) = input.next(self.args.segment.get())? {
            if !(chunk.last && chunk.offset == 0) {
                label.part = Some(next_part(&mut stream, &chunk)?);
            }
            if under_way.len() == AT_ONCE {
                self.finish(under_way.pop_front(), delivery, bar)?;
            }
            under_way.push_back(self.start(chunk, label)?);
        }
        while !under_way.is_empty() {
            self.finish(under_way.pop_front(), delivery, bar)?;
        }
        Ok(())
    }

    fn start(&self, chunk: Chunk, label: &Label) -> Result<Job> {
        let args = self.args;
        let (offset, length) = (chunk.offset, chunk.bytes.len() as u64);
        let (groups, ranges) = self.groups.of(offset..offset + length);
        let mut job: Outgoing<'static> = element::outgoing(args.element, chunk.bytes)
            .groups(groups, ranges)
            .finish(args.finish)
            .priority(args.priority)
            .label(label.encode()?);
        if let Some(deadline) = args.deadline {
            job = job.deadline(deadline.to_std());
        }
        if let Some(limit) = args.time_limit {
            job = job.time_limit(limit.to_std().max(Duration::from_micros(1)));
        }
        Ok(Job { offset, length, handle: self.reached.peer.start(&job)? })
    }

    fn finish(&self, job: Option<Job>, delivery: &mut Delivery, bar: &ProgressBar) -> Result<()> {
        let Some(Job { offset, length, handle }) = job else { return Ok(()) };
        let report = wait::wait_for(handle, |handle| {
            if let Some(progress) = handle.progress().filter(|progress| progress.total > 0) {
                let part = progress.received as f64 / progress.total as f64;
                bar.set_position(offset + (length as f64 * part) as u64);
            }
            Ok(signal::check()?)
        })??;
        delivery.add(offset, length, self.args.element.size() as u64, &report);
        bar.set_position(delivery.bytes());
        Ok(())
    }
}

/// What the label says of the next part of a stream, whose number is drawn at its first.
fn next_part(stream: &mut Option<(u64, u64)>, chunk: &Chunk) -> Result<Part> {
    let (id, index) = match *stream {
        Some(known) => known,
        None => {
            let mut bytes = [0; 8];
            random::fill(&mut bytes)?;
            (u64::from_le_bytes(bytes), 0)
        }
    };
    *stream = Some((id, index + 1));
    Ok(Part { stream: id, index, offset: chunk.offset, last: chunk.last })
}

/// What to do about a failed transfer.
fn remedy(error: &anyhow::Error) -> &'static str {
    if is_interrupt(error) {
        return "";
    }
    match error.downcast_ref::<SendError>() {
        Some(SendError::Job(JobError::Reset { code, .. })) => {
            No::explain(*code).unwrap_or("look at what the receiver printed")
        }
        Some(SendError::Job(JobError::PeerDead { .. } | JobError::PeerClosed { .. })) => {
            "look at what the receiver printed, start it again, then send again"
        }
        Some(SendError::Job(JobError::TimeLimit { .. })) => {
            "raise --time-limit, lower --min-delivery, or give --deadline to end with what is there"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn parts_of_a_stream_count_up() {
        let chunk = |offset, last| Chunk { offset, bytes: bytes::Bytes::new(), last };
        let mut stream = None;
        let first = next_part(&mut stream, &chunk(0, false)).unwrap();
        let second = next_part(&mut stream, &chunk(9, true)).unwrap();
        assert_eq!((first.index, second.index), (0, 1));
        assert_eq!(first.stream, second.stream);
        assert_eq!(second, Part { offset: 9, last: true, ..second });
    }

    #[test]
    fn the_receivers_no_is_explained() {
        let progress = laxity_endpoint::Progress {
            group: laxity_endpoint::GroupId(0),
            received: 0,
            required: 1,
            total: 1,
        };
        let peer = "127.0.0.1:1".parse().unwrap();
        let job = JobError::Reset { peer, code: No::Name.code(), progress };
        assert!(remedy(&SendError::from(job).into()).contains("--label"));
        assert_eq!(remedy(&anyhow!("something else")), "");
    }
}
