//! One rank sends, one receives.

use std::ops::Range;

use bytes::Bytes;

use super::{Context, Finished, Incoming, Machine, Sending};
use crate::{
    carrier::Lane,
    loss::{Importance, Share, Thin, are_proper, total},
};

/// The sender: ends when the carrier says what became of the parcel.
#[derive(Debug)]
pub(crate) struct Send {
    to: usize,
    data: Bytes,
}

impl Send {
    /// Sends to a position.
    pub(crate) fn new(to: usize, data: Bytes) -> Self {
        Self { to, data }
    }
}

impl Machine for Send {
    fn begin(&mut self, cx: &mut Context<'_>) {
        let min_delivery = match &cx.facts.options.importance {
            Importance::Uniform(least) => *least,
            _ => laxity_interface::Fraction::ONE,
        };
        let sending = Sending::exact(self.to, 0, 0, self.data.clone(), cx.facts.element);
        cx.effects.sends.push(Sending { lane: Lane::Direct, min_delivery, ..sending });
    }

    fn arrived(&mut self, _: &mut Context<'_>, _: Incoming) {}

    fn sent(&mut self, cx: &mut Context<'_>, to: usize, missing: &[Range<usize>]) {
        if to == self.to {
            cx.finish(Finished { thin: holes(missing), ..Finished::default() });
        }
    }

    fn awaits(&self) -> Vec<usize> {
        vec![self.to]
    }
}

/// The receiver.
#[derive(Debug)]
pub(crate) struct Recv {
    from: usize,
}

impl Recv {
    /// Receives from a position.
    pub(crate) fn new(from: usize) -> Self {
        Self { from }
    }
}

impl Machine for Recv {
    fn begin(&mut self, _: &mut Context<'_>) {}

    fn arrived(&mut self, cx: &mut Context<'_>, parcel: Incoming) {
        let all = cx.facts.count;
        let (bytes, want) = (parcel.body.len(), all * cx.facts.element.size());
        if bytes != want {
            let reason = format!("its parcel has {bytes} bytes, {want} were expected");
            return cx.fail_nonsense(parcel.from, reason);
        }
        // They are elements of the type that the sender says its parcel is of.
        if !are_proper(&parcel.missing, all) {
            return cx.fail_nonsense(parcel.from, "its parcel lacks what it does not have");
        }
        let thin = holes(&parcel.missing);
        let mut shares = Vec::new();
        if cx.facts.is_lossy() {
            shares.resize(cx.facts.size(), Share::default());
            shares[self.from] = Share::of((all - total(&parcel.missing)) as u64, all as u64);
        }
        cx.finish(Finished { thin, shares, ..Finished::exact(vec![parcel.body]) });
    }

    fn awaits(&self) -> Vec<usize> {
        vec![self.from]
    }
}

fn holes(missing: &[Range<usize>]) -> Vec<Thin> {
    missing.iter().map(|elements| Thin { elements: elements.clone(), contributions: 0 }).collect()
}
