//! Which segments are under way, lost or home.

use std::collections::VecDeque;

use laxity_interface::Time;

use super::ack::Ack;
use crate::{packet::PAYLOAD, stacks::common::Coming};

/// Later segments that arrive before one counts as lost.
const DUPLICATES: u32 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Flying,
    Lost,
    Home,
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    /// When it was sent last.
    sent: u64,
    state: State,
    /// Whether it was sent more than once.
    again: bool,
}

/// The segments of one flow from the first that is not acknowledged to the last that was sent.
#[derive(Debug)]
pub(super) struct Board {
    /// Segments in all; where messages come one by one, those that can be sent so far.
    segments: u32,
    /// Payload of the last segment.
    last: u32,
    una: u32,
    next: u32,
    sent: VecDeque<Segment>,
    /// Every transmission in order, for losses by time.
    order: VecDeque<(u32, u64)>,
    /// Payload under way.
    flight: u64,
    /// Segments that are lost and not sent again yet, and where the first of them may be.
    lost: u32,
    first_lost: u32,
    /// Segments before this one were looked at for losses by duplicates.
    judged: u32,
    /// The time of sending of the newest packet that was acknowledged.
    newest: u64,
    /// Messages that come one by one.
    coming: Option<Box<Coming>>,
}

/// What an acknowledgement changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Progress {
    /// Payload that is newly known to have arrived.
    pub(super) bytes: u64,
    /// Whether segments turned out to be lost.
    pub(super) losses: bool,
}

impl Board {
    pub(super) fn new(bytes: u64) -> Self {
        let full = u64::from(PAYLOAD);
        // A flow without payload is one empty packet.
        let segments = bytes.div_ceil(full).max(1);
        Self {
            // CORRECTNESS: 2^32 segments are 6 TB; a packet has room for no more.
            segments: u32::try_from(segments).expect("a flow of fewer than 2^32 segments"),
            last: (bytes - (segments - 1) * full) as u32,
            una: 0,
            next: 0,
            sent: VecDeque::new(),
            order: VecDeque::new(),
            flight: 0,
            lost: 0,
            first_lost: 0,
            judged: 0,
            newest: 0,
            coming: None,
        }
    }

    /// The same with messages that come one by one.
    pub(super) fn with(mut self, coming: Option<Coming>) -> Self {
        if let Some(coming) = coming {
            self.segments = coming.packets();
            self.coming = Some(Box::new(coming));
        }
        self
    }

    /// Notes what is ready now.
    pub(super) fn advance(&mut self, now: Time) {
        if let Some(coming) = &mut self.coming {
            coming.advance(now);
            self.segments = coming.packets();
        }
    }

    /// When to look again because of a message that becomes ready.
    pub(super) fn wake(&self) -> Option<Time> {
        self.coming.as_ref().and_then(|coming| coming.wake())
    }

    /// The bytes of a segment, where they do not follow from its number.
    pub(super) fn part(&self, segment: u32) -> (u32, u32) {
        self.coming.as_ref().map_or((0, 0), |coming| coming.part(segment))
    }

    #[inline]
    pub(super) fn size(&self, segment: u32) -> u32 {
        if let Some(coming) = &self.coming {
            return coming.payload(segment);
        }
        if segment + 1 == self.segments { self.last } else { PAYLOAD }
    }

    /// The first segment that is not acknowledged, and the first that was not sent.
    #[inline]
    pub(super) fn edges(&self) -> (u32, u32) {
        (self.una, self.next)
    }

    #[inline]
    pub(super) fn flight(&self) -> u64 {
        self.flight
    }

    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.una == self.segments && self.coming.as_ref().is_none_or(|coming| coming.is_over())
    }

    /// Whether packets were sent whose fate is open.
    #[inline]
    pub(super) fn is_waiting(&self) -> bool {
        self.una < self.next
    }

    /// Whether there is something to send: lost, or new.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.lost > 0 || self.next < self.segments
    }

    /// Whether all has been sent once.
    pub(super) fn is_all_sent(&self) -> bool {
        self.next == self.segments
    }

    /// The next segment to send, lost ones first; whether it was sent before.
    #[inline]
    pub(super) fn send(&mut self, now: u64) -> (u32, bool) {
        let segment = if self.lost > 0 {
            let mut at = self.first_lost.max(self.una);
            while self.sent[(at - self.una) as usize].state != State::Lost {
                at += 1;
            }
            self.lost -= 1;
            self.first_lost = at + 1;
            let found = &mut self.sent[(at - self.una) as usize];
            *found = Segment { sent: now, state: State::Flying, again: true };
            at
        } else {
            self.sent.push_back(Segment { sent: now, state: State::Flying, again: false });
            self.next += 1;
            if let Some(coming) = &mut self.coming {
                coming.cut();
                self.segments = coming.packets();
            }
            self.next - 1
        };
        self.flight += u64::from(self.size(segment));
        self.order.push_back((segment, now));
        (segment, self.sent[(segment - self.una) as usize].again)
    }

    /// An acknowledgement of a packet that was sent at `stamp`. Segments count as lost by
    /// duplicates, and those that were sent more than `reordering` before the newest that arrived.
    #[inline]
    pub(super) fn acknowledge(
        &mut self,
        ack: Ack,
        stamp: u64,
        reordering: Option<u64>,
    ) -> Progress {
        let mut progress = Progress::default();
        self.newest = self.newest.max(stamp);
        while self.una < ack.next {
            progress.bytes += self.bring_home(self.una);
            self.sent.pop_front();
            self.una += 1;
        }
        if ack.cause >= self.una {
            progress.bytes += self.bring_home(ack.cause);
            // Beside it only what acknowledgements that were lost would have told.
            for segment in (ack.cause.saturating_sub(ack.before.into())..ack.cause).rev() {
                match self.find(segment) {
                    Some(state) if state != State::Home => {
                        progress.bytes += self.bring_home(segment);
                    }
                    _ => break,
                }
            }
            for segment in ack.cause + 1..=ack.cause + u32::from(ack.behind) {
                match self.find(segment) {
                    Some(state) if state != State::Home => {
                        progress.bytes += self.bring_home(segment);
                    }
                    _ => break,
                }
            }
            self.judge_by_duplicates(ack.cause, &mut progress);
        }
        if let Some(reordering) = reordering {
            self.judge_by_time(reordering, &mut progress);
        } else {
            self.order.clear();
        }
        progress
    }

    fn find(&self, segment: u32) -> Option<State> {
        let at = segment.checked_sub(self.una)?;
        self.sent.get(at as usize).map(|segment| segment.state)
    }

    /// A segment has arrived; its payload if that is news.
    #[inline]
    fn bring_home(&mut self, segment: u32) -> u64 {
        let size = u64::from(self.size(segment));
        let found = &mut self.sent[(segment - self.una) as usize];
        match std::mem::replace(&mut found.state, State::Home) {
            State::Flying => self.flight -= size,
            State::Lost => self.lost -= 1,
            State::Home => return 0,
        }
        size
    }

    fn lose(&mut self, segment: u32, progress: &mut Progress) {
        self.sent[(segment - self.una) as usize].state = State::Lost;
        self.flight -= u64::from(self.size(segment));
        self.first_lost = if self.lost == 0 { segment } else { self.first_lost.min(segment) };
        self.lost += 1;
        progress.losses = true;
    }

    /// Segments that were sent once and lie three before one that arrived are lost.
    fn judge_by_duplicates(&mut self, arrived: u32, progress: &mut Progress) {
        let end = arrived.saturating_sub(DUPLICATES - 1);
        for segment in self.judged.max(self.una)..end {
            let found = self.sent[(segment - self.una) as usize];
            if found.state == State::Flying && !found.again {
                self.lose(segment, progress);
            }
        }
        self.judged = self.judged.max(end);
    }

    /// Segments that were sent well before one that arrived are lost.
    fn judge_by_time(&mut self, reordering: u64, progress: &mut Progress) {
        while let Some((segment, sent)) = self.order.front().copied() {
            let at = segment.checked_sub(self.una);
            let found = at.and_then(|at| self.sent.get(at as usize));
            let open = found.is_some_and(|own| own.state == State::Flying && own.sent == sent);
            if open {
                if sent + reordering >= self.newest {
                    break;
                }
                self.lose(segment, progress);
            }
            self.order.pop_front();
        }
    }

    /// Everything under way counts as lost.
    pub(super) fn lose_all(&mut self) {
        let mut progress = Progress::default();
        for segment in self.una..self.next {
            if self.find(segment) == Some(State::Flying) {
                self.lose(segment, &mut progress);
            }
        }
        self.order.clear();
    }

    /// The first segment under way is to be sent again, although nothing says that it is lost.
    pub(super) fn send_first_again(&mut self) {
        let flying = |segment: &u32| self.find(*segment) == Some(State::Flying);
        if let Some(segment) = (self.una..self.next).find(flying) {
            self.lose(segment, &mut Progress::default());
        }
    }
}
