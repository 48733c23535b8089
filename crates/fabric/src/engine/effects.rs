//! What an operation wants done: parcels with their slack, errors passed on, results.

use bytes::Bytes;
use laxity_interface::{Fraction, Span, Time};
use laxity_protocol::ElementType;

use super::{Engine, kept::Key};
use crate::{
    carrier::{Channel, Envelope, Lane, Parcel, Slack},
    collective::{ABORT, Facts, Finished, Sending, encode_abort},
    deadline::Deadline,
    loss::{LossPolicy, Outstanding, Share},
    options::{OnLoss, Operation, ReduceOp},
    outcome::{OpError, Outcome},
    shape::Shape,
};

/// How long parcels of the repair lane may travel, however little time an operation has left: words about its end
/// are among them, and shards that others may still need for it.
const LAST_WORDS: Span = Span::from_secs(5);

impl Engine {
    /// Puts a machine's parcel into its envelope.
    pub(super) fn send(
        &mut self,
        now: Time,
        facts: &Facts,
        shape: Shape,
        key: Key,
        sending: Sending,
    ) {
        let Sending { to, lane, stage, part, body, element, min_delivery, places } = sending;
        let part = match key {
            Key::Direct { number, .. } => number,
            Key::Collective { .. } => part,
        };
        let channel = Channel {
            lane,
            group: facts.group.id(),
            sequence: facts.sequence,
            step: u32::from(stage) << 16 | facts.me as u32,
            part,
        };
        let elapsed = now.since(facts.started);
        let lossy = min_delivery < Fraction::ONE;
        let limit = facts.options.limit - elapsed;
        let slack = Slack {
            min_delivery,
            priority: facts.options.priority,
            deadline: facts.deadline.filter(|_| lossy).map(|deadline| deadline - elapsed),
            // The rank that gives up says so after its limit; the word must still get there.
            limit: Some(limit.max(if lane == Lane::Repair {
                LAST_WORDS
            } else {
                Span::from_ms(1)
            })),
        };
        let feeds_back = matches!(facts.options.policy, LossPolicy::Feedback { .. });
        let outstanding = places.filter(|_| feeds_back && lossy).map(|places| Outstanding {
            stream: facts.options.stream,
            at: facts.at,
            element,
            places,
            body: body.clone(),
        });
        let envelope = Envelope { channel, signature: shape.signature(element) };
        self.submit(Parcel { to: facts.group.rank(to), envelope, body, slack }, outstanding);
    }

    /// Queues a parcel, and remembers that its end will be reported.
    pub(super) fn submit(&mut self, parcel: Parcel, outstanding: Option<Outstanding>) {
        if !self.lost.contains_key(&parcel.to) {
            self.submitted.insert((parcel.to, parcel.envelope.channel), outstanding);
            self.parcels.push_back(parcel);
        }
    }

    /// Tells the group why an operation ended here.
    pub(super) fn pass_on(
        &mut self,
        now: Time,
        facts: &Facts,
        shape: Shape,
        key: Key,
        error: &OpError,
    ) {
        let first_hand = match error {
            // Where ranks may be left out others go on, but not without what only a root had.
            OpError::Lost { told_by, rank, .. }
                if matches!(facts.operation, Operation::Broadcast(_)) =>
            {
                told_by.is_none() && *rank != self.rank
            }
            OpError::Lost { told_by, .. } | OpError::TimedOut { told_by, .. } => {
                told_by.is_none() && facts.options.on_loss == OnLoss::Fail
            }
            OpError::TooFarBehind { .. } => facts.options.on_loss == OnLoss::Fail,
            OpError::Nonsense { told_by, .. } => told_by.is_none(),
            OpError::Mismatch { one, .. } => *one == self.rank,
            _ => true,
        };
        let to: Vec<_> = match error {
            _ if first_hand => facts.others().collect(),
            // It may live, and be out of reach only of whoever said so: it heard nothing of this.
            OpError::Lost { rank, .. } if facts.options.on_loss == OnLoss::Fail => {
                facts.group.position(*rank).filter(|at| *at != facts.me).into_iter().collect()
            }
            _ => return,
        };
        let Some(body) = encode_abort(error).map(Bytes::from) else { return };
        if let Key::Direct { .. } = key {
            return;
        }
        for to in to {
            let sending = Sending {
                lane: Lane::Repair,
                ..Sending::exact(to, ABORT, 0, body.clone(), ElementType::U8)
            };
            self.send(now, facts, shape, key, sending);
        }
    }

    /// Whether an operation ended without somebody who lives, as far as this rank knows.
    pub(super) fn is_overdue(&self, facts: &Facts, done: &Result<Finished, OpError>) -> bool {
        match done {
            Ok(finished) => {
                let mut without = finished.left_out.iter().map(|at| facts.group.rank(*at));
                without.any(|rank| !self.lost.contains_key(&rank))
            }
            Err(error) => matches!(error, OpError::TooFew { late_after: Some(_), .. }),
        }
    }

    /// What the application gets.
    pub(super) fn outcome(
        &mut self,
        now: Time,
        facts: &Facts,
        finished: Finished,
        overdue: bool,
    ) -> Outcome {
        let Finished { parts, shares, left_out, thin } = finished;
        let options = &facts.options;
        let took = now.since(facts.started);
        // One that waited for its own deadline says nothing of the next.
        if let (Deadline::Adaptive(_), false) = (options.deadline, overdue) {
            self.times.entry(options.stream).or_default().add(took);
        }
        let all_reduce = matches!(facts.operation, Operation::AllReduce(_));
        if let (LossPolicy::Stale { .. }, true, Some(op)) =
            (options.policy, all_reduce, facts.operation.reduce_op().filter(|op| op.is_linear()))
        {
            let contributions = (facts.size() - left_out.len()).max(1);
            let factor = if op == ReduceOp::Sum { 1.0 / contributions as f64 } else { 1.0 };
            self.memory.keep(options.stream, facts.at, facts.element, &parts, factor);
        }
        Outcome {
            parts,
            delivered: shares.iter().map(Share::arrived).collect(),
            left_out: left_out.into_iter().map(|at| facts.group.rank(at)).collect(),
            missing: thin,
            took,
            shares,
        }
    }
}
