//! Describing a job to send.

use std::{borrow::Cow, time::Duration};

use bytes::Bytes;
use laxity_interface::{Finish, Fraction, GroupId};
use laxity_protocol::{GroupSpec, MessageOrder, Payload, SendRequest};

use crate::{
    element::{Element, as_bytes},
    payloads::{Lent, Source},
};

/// A job to send: a tensor or messages, what must arrive of it, and by when.
#[derive(Clone, Debug)]
pub struct Outgoing<'a> {
    pub(crate) request: SendRequest,
    pub(crate) data: Data<'a>,
}

#[derive(Clone, Debug)]
pub(crate) enum Data<'a> {
    Slice(&'a [u8]),
    Owned(Bytes),
    Messages(Cow<'a, [Bytes]>),
}

impl<'a> Outgoing<'a> {
    /// A tensor, sent from where it lies.
    pub fn tensor<T: Element>(elements: &'a [T]) -> Self {
        let request = SendRequest::tensor(T::TYPE, elements.len() as u64, Fraction::ONE);
        Self { request, data: Data::Slice(as_bytes(elements)) }
    }

    /// Bytes, as a tensor of them.
    pub fn bytes(bytes: &'a [u8]) -> Self {
        Self::tensor(bytes)
    }

    /// Messages, each delivered whole or not at all, all in group 0.
    pub fn messages(messages: &'a [Bytes]) -> Self {
        let sizes = messages.iter().map(|message| message.len() as u64);
        let request = SendRequest::messages(sizes, Fraction::ONE);
        Self { request, data: Data::Messages(Cow::Borrowed(messages)) }
    }

    /// The fraction of the only group that must arrive. Default 1.
    pub fn min_delivery(mut self, fraction: Fraction) -> Self {
        self.request.groups[0].min_delivery = fraction;
        self
    }

    /// Several groups. For a tensor `ranges` says from which element on which group counts, starting
    /// at 0; for messages which message belongs to which group, in order, one entry per message.
    pub fn groups(
        mut self,
        groups: impl IntoIterator<Item = GroupSpec>,
        ranges: impl IntoIterator<Item = (u64, GroupId)>,
    ) -> Self {
        self.request.groups = groups.into_iter().collect();
        match &mut self.request.payload {
            Payload::Tensor { groups, .. } => *groups = ranges.into_iter().collect(),
            Payload::Messages { sizes, .. } => {
                for (at, group) in ranges {
                    if let Some(size) = sizes.get_mut(at as usize) {
                        size.0 = group;
                    }
                }
            }
            // Its messages say their groups as they come.
            Payload::Announced { .. } => {}
        }
        self
    }

    /// When the job counts as finished. Default [`Finish::FirstPass`].
    pub fn finish(mut self, finish: Finish) -> Self {
        self.request.finish = finish;
        self
    }

    /// After this long it ends with what it has, if that is enough.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.request.deadline = Some(deadline.into());
        self
    }

    /// After this long it fails. Default: the endpoint's.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.request.time_limit = Some(limit.into());
        self
    }

    /// Smaller goes first. Default 0.
    pub fn priority(mut self, priority: u32) -> Self {
        self.request.priority = priority;
        self
    }

    /// Share among jobs of equal priority. Default 1.
    pub fn weight(mut self, weight: f64) -> Self {
        self.request.weight = weight;
        self
    }

    /// Order of messages. Default [`MessageOrder::FewestRemaining`].
    pub fn order(mut self, order: MessageOrder) -> Self {
        self.request.order = order;
        self
    }

    /// Whatever the receiver should know, at most 256 bytes.
    pub fn label(mut self, label: impl Into<Vec<u8>>) -> Self {
        self.request.label = label.into();
        self
    }

    /// The payload as memory that a caller lends until the job has ended.
    pub(crate) fn lend(&self) -> Source {
        match &self.data {
            Data::Slice(bytes) => Source::Lent(Lent::read(bytes)),
            Data::Owned(bytes) => Source::Owned(bytes.clone()),
            Data::Messages(messages) => Source::Messages(messages.to_vec()),
        }
    }

    /// The payload as memory of the job's own, copying it if it was only borrowed.
    pub(crate) fn own(&self) -> Source {
        match &self.data {
            Data::Slice(bytes) => Source::Owned(Bytes::copy_from_slice(bytes)),
            _ => self.lend(),
        }
    }
}

impl Outgoing<'static> {
    /// A tensor in memory that the job keeps alive, for sending without waiting and without a copy.
    /// `bytes` holds whole elements; [`Bytes::from_owner`] makes one of any buffer.
    ///
    /// # Panics
    /// If `bytes` is not a whole number of elements.
    pub fn shared<T: Element>(bytes: Bytes) -> Self {
        assert_eq!(bytes.len() % size_of::<T>(), 0, "a whole number of elements");
        let elements = (bytes.len() / size_of::<T>()) as u64;
        let request = SendRequest::tensor(T::TYPE, elements, Fraction::ONE);
        Self { request, data: Data::Owned(bytes) }
    }

    /// Messages that the job keeps alive.
    pub fn owned_messages(messages: Vec<Bytes>) -> Self {
        let sizes = messages.iter().map(|message| message.len() as u64);
        let request = SendRequest::messages(sizes, Fraction::ONE);
        Self { request, data: Data::Messages(Cow::Owned(messages)) }
    }
}
