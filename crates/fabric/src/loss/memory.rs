//! What is remembered of a stream from one operation to the next.

use std::{collections::BTreeMap, ops::Range};

use bytes::Bytes;
use laxity_protocol::ElementType;

use super::LossPolicy;
use crate::{element::Accumulator, options::ReduceOp};

/// Remembers results for [`LossPolicy::Stale`] and lost parts for [`LossPolicy::Feedback`].
#[derive(Debug, Default)]
pub(crate) struct Memory {
    streams: BTreeMap<u64, Stream>,
}

#[derive(Debug, Default)]
struct Stream {
    /// How many operations of this stream have begun.
    clock: u64,
    last: Option<Last>,
    owed: Vec<Owed>,
}

/// A result.
#[derive(Debug)]
struct Last {
    at: u64,
    element: ElementType,
    parts: Vec<Bytes>,
    /// What makes one contribution's mean of it.
    factor: f64,
}

/// A part of an earlier contribution that was lost.
#[derive(Debug)]
struct Owed {
    at: u64,
    element: ElementType,
    elements: Range<usize>,
    numbers: Bytes,
}

/// A lossy parcel whose fate the sender wants to know.
#[derive(Clone, Debug)]
pub(crate) struct Outstanding {
    pub(crate) stream: u64,
    pub(crate) at: u64,
    pub(crate) element: ElementType,
    /// Where the body's elements lie in the tensor, in order.
    pub(crate) places: Vec<Range<usize>>,
    pub(crate) body: Bytes,
}

impl Memory {
    /// A new operation of a stream begins; returns its number in the stream.
    pub(crate) fn begin(&mut self, stream: u64) -> u64 {
        let stream = self.streams.entry(stream).or_default();
        stream.clock += 1;
        stream.clock
    }

    /// Remembers a result, of which `factor` times is the mean of one contribution.
    pub(crate) fn keep(
        &mut self,
        stream: u64,
        at: u64,
        element: ElementType,
        parts: &[Bytes],
        factor: f64,
    ) {
        let stream = self.streams.entry(stream).or_default();
        if stream.last.as_ref().is_none_or(|last| last.at < at) {
            stream.last = Some(Last { at, element, parts: parts.to_vec(), factor });
        }
    }

    /// The last result of a stream in these elements, with the factor that makes it one
    /// contribution's mean, shrunk by its age.
    pub(crate) fn last(
        &self,
        stream: u64,
        at: u64,
        element: ElementType,
        elements: &Range<usize>,
        policy: LossPolicy,
    ) -> Option<(Bytes, f64)> {
        let LossPolicy::Stale { max_age, decay } = policy else { return None };
        let last = self.streams.get(&stream)?.last.as_ref()?;
        let age = at.saturating_sub(last.at);
        if last.element != element || age == 0 || age > u64::from(max_age) {
            return None;
        }
        let size = element.size();
        let (start, end) = (elements.start * size, elements.end * size);
        let mut bytes = Vec::with_capacity(end - start);
        let mut place = 0;
        for part in &last.parts {
            let (from, to) = (start.max(place), end.min(place + part.len()));
            if from < to {
                bytes.extend_from_slice(&part[from - place..to - place]);
            }
            place += part.len();
        }
        let shrunk = decay.powi(age.saturating_sub(1) as i32);
        (bytes.len() == end - start).then(|| (Bytes::from(bytes), last.factor * shrunk))
    }

    /// Remembers what did not arrive of a parcel.
    pub(crate) fn owe(&mut self, sent: &Outstanding, missing: &[Range<usize>]) {
        let size = sent.element.size();
        let stream = self.streams.entry(sent.stream).or_default();
        let mut place = 0;
        for range in &sent.places {
            for gap in missing {
                let (from, to) = (gap.start.max(place), gap.end.min(place + range.len()));
                if from < to && to * size <= sent.body.len() {
                    stream.owed.push(Owed {
                        at: sent.at,
                        element: sent.element,
                        elements: range.start + from - place..range.start + to - place,
                        // A copy, so that a lost packet does not hold the whole tensor.
                        numbers: Bytes::copy_from_slice(&sent.body[from * size..to * size]),
                    });
                }
            }
            place += range.len();
        }
    }

    /// A contribution with what is owed from earlier ones added to it.
    pub(crate) fn repay(
        &mut self,
        stream: u64,
        at: u64,
        element: ElementType,
        data: Bytes,
        policy: LossPolicy,
    ) -> Bytes {
        let LossPolicy::Feedback { max_age, decay } = policy else { return data };
        let Some(stream) = self.streams.get_mut(&stream) else { return data };
        let mut owed = std::mem::take(&mut stream.owed);
        let count = data.len() / element.size();
        owed.retain(|owed| {
            let young = at.saturating_sub(owed.at) <= u64::from(max_age);
            young && owed.element == element && owed.elements.end <= count
        });
        if owed.is_empty() {
            return data;
        }
        // The order in which losses were reported must not change the sum.
        owed.sort_by_key(|owed| (owed.at, owed.elements.start));
        let kind = crate::element::accumulator_of(element, ReduceOp::Sum, true);
        let mut sum = Accumulator::identity(kind, ReduceOp::Sum, count);
        sum.fold(0, &data, element, ReduceOp::Sum);
        for owed in owed {
            let factor = decay.powi(at.saturating_sub(owed.at) as i32);
            sum.add_scaled(owed.elements.start, &owed.numbers, element, factor);
        }
        sum.into_bytes(element)
    }

    /// Forgets a stream.
    pub(crate) fn forget(&mut self, stream: u64) {
        self.streams.remove(&stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::into_bytes;

    const F32: ElementType = ElementType::F32;

    #[test]
    fn what_was_lost_comes_with_the_next_contribution_and_not_later() {
        let feedback = LossPolicy::Feedback { max_age: 1, decay: 0.5 };
        let mut memory = Memory::default();
        let at = memory.begin(3);
        let places = vec![4..6, 8..10];
        let body = into_bytes(vec![1.0f32, 2.0, 3.0, 4.0]);
        let sent = Outstanding { stream: 3, at, element: F32, places, body };
        memory.owe(&sent, std::slice::from_ref(&(1..3)));
        let at = memory.begin(3);
        let data = into_bytes(vec![1.0f32; 10]);
        let repaid = memory.repay(3, at, F32, data.clone(), feedback);
        let numbers: Vec<f32> = bytemuck::pod_collect_to_vec(&repaid);
        assert_eq!(numbers, [1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 2.5, 1.0]);
        assert_eq!(memory.repay(3, at, F32, data.clone(), feedback), data, "paid once");
        memory.owe(&sent, std::slice::from_ref(&(1..3)));
        let at = memory.begin(3);
        assert_eq!(memory.repay(3, at, F32, data.clone(), feedback), data, "two operations old");
    }

    #[test]
    fn a_result_is_remembered_until_it_is_too_old() {
        let stale = LossPolicy::Stale { max_age: 2, decay: 0.5 };
        let mut memory = Memory::default();
        let at = memory.begin(0);
        let parts = [into_bytes(vec![1.0f32, 2.0]), into_bytes(vec![3.0f32, 4.0])];
        memory.keep(0, at, F32, &parts, 0.25);
        let bytes = into_bytes(vec![2.0f32, 3.0]);
        let ask = |memory: &Memory, at| memory.last(0, at, F32, &(1..3), stale);
        let at = memory.begin(0);
        assert_eq!(ask(&memory, at), Some((bytes.clone(), 0.25)));
        let at = memory.begin(0);
        assert_eq!(ask(&memory, at), Some((bytes, 0.125)));
        let at = memory.begin(0);
        assert_eq!(ask(&memory, at), None);
    }
}
