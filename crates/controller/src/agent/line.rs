//! Words between roles and the controller, as if it were a rank that a carrier reaches.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use laxity_fabric::{
    Rank,
    carrier::{Arrival, Carrier, Envelope, Event, Parcel},
};
use laxity_interface::{Span, Time};

use super::{Link, Shared};
use crate::{core::CONTROLLER, wire};

/// A carrier cannot be woken from outside: words of the controller are looked for this often.
const TICK: Span = Span::from_us(500);

/// A rank's way to the controller. Dropped, it makes room for another of that rank.
#[derive(Debug)]
pub struct Line {
    shared: Arc<Shared>,
    crew: String,
    rank: Rank,
    /// Of its place.
    number: u64,
}

impl Line {
    pub(super) fn new(shared: Arc<Shared>, crew: String, rank: Rank, number: u64) -> Self {
        Self { shared, crew, rank, number }
    }

    /// Whose it is.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    fn send(&self, envelope: &Envelope, body: &Bytes) -> bool {
        let word = wire::RoleWord {
            crew: self.crew.clone(),
            rank: self.rank.get(),
            envelope: envelope.encode().to_vec(),
            word: body.to_vec(),
        };
        let there = self.shared.state().role_word(word);
        self.shared.work.notify_one();
        there
    }

    /// Whether the controller is there, and its next word.
    fn poll(&self) -> (bool, Option<wire::RoleWord>) {
        let mut state = self.shared.state();
        let there = matches!(state.link, Link::Attached(_));
        let place = state.places.get_mut(&(self.crew.clone(), self.rank.get()));
        (there, place.and_then(|place| place.heard.pop_front()))
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.shared.state().leave_place(&self.crew, self.rank.get(), self.number);
        self.shared.work.notify_one();
    }
}

/// A carrier that also reaches the controller, at rank [`CONTROLLER`].
///
/// Roles whose scheduler is that rank cannot tell it from another. While the controller is away it is a
/// rank that is lost; its first word after that brings it back, as roles expect of a scheduler.
#[derive(Debug)]
pub struct WithController<C> {
    carrier: C,
    line: Line,
    there: bool,
    events: VecDeque<Event>,
}

impl<C: Carrier> WithController<C> {
    /// A carrier with a line to the controller.
    ///
    /// # Panics
    /// If they are of different ranks.
    pub fn new(carrier: C, line: Line) -> Self {
        assert_eq!(carrier.rank(), line.rank, "a line belongs to the carrier of its own rank");
        Self { carrier, line, there: false, events: VecDeque::new() }
    }

    fn look(&mut self) {
        let (there, word) = self.line.poll();
        if self.there && !there {
            let reason = "the controller is away".to_owned();
            self.events.push_back(Event::Lost { peer: CONTROLLER, reason, left: false });
        }
        self.there = there;
        let Some(word) = word else { return };
        // What is no envelope comes from no version of ours.
        if let Ok(envelope) = Envelope::decode(&word.envelope) {
            let (from, body, missing) = (CONTROLLER, Bytes::from(word.word), Vec::new());
            self.events.push_back(Event::Arrived(Arrival { from, envelope, body, missing }));
        }
    }
}

impl<C: Carrier> Carrier for WithController<C> {
    fn rank(&self) -> Rank {
        self.carrier.rank()
    }

    fn now(&self) -> Time {
        self.carrier.now()
    }

    fn submit(&mut self, parcel: Parcel) {
        if parcel.to != CONTROLLER {
            return self.carrier.submit(parcel);
        }
        let (to, envelope) = (parcel.to, parcel.envelope);
        self.events.push_back(if self.line.send(&envelope, &parcel.body) {
            Event::Sent { to, envelope, missing: Vec::new() }
        } else {
            Event::Failed { peer: to, envelope, reason: "the controller is away".to_owned() }
        });
    }

    fn wait_event(&mut self, until: Option<Time>) -> Option<Event> {
        loop {
            self.look();
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let now = self.carrier.now();
            let slice = until.map_or(now + TICK, |until| until.min(now + TICK));
            if let Some(event) = self.carrier.wait_event(Some(slice)) {
                return Some(event);
            }
            if until.is_some_and(|until| until <= self.carrier.now()) {
                return None;
            }
        }
    }
}
