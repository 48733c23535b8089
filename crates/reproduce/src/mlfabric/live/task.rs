//! What is learned, and when it is learned well enough.

use std::sync::Arc;

use laxity_interface::{Bytes, Rate, Span};
use laxity_learn::{
    Model,
    data::made,
    model::{Mlp, Topics},
};
use laxity_link::{stream, uniform};

/// A model to be learned by workers.
pub(in crate::mlfabric) struct Task {
    pub(in crate::mlfabric) model: Box<dyn Model>,
    /// Examples of an update.
    pub(in crate::mlfabric) batch: usize,
    /// The loss on held-out data that counts as learned.
    pub(in crate::mlfabric) target: f64,
    /// How long the model takes over a whole link.
    pub(in crate::mlfabric) transfer: Span,
    /// How long an update takes to compute where nothing slows it down.
    pub(in crate::mlfabric) compute: Span,
}

impl Task {
    /// A small perceptron that sorts pictures of pen strokes, in place of a deep network: 100 MB over
    /// 10 Gbit/s, and 100 ms of computing.
    pub(in crate::mlfabric) fn pictures(hidden: usize, batch: usize, target: f64) -> Self {
        let data = made::strokes(1, 2000, 200);
        Self {
            model: Box::new(Mlp::new(Arc::new(data), &[hidden])),
            batch,
            target,
            transfer: Span::from_ms(80),
            compute: Span::from_ms(100),
        }
    }

    /// Topics of documents, one document for an update: of more, a handful of updates would be enough.
    pub(in crate::mlfabric) fn topics(documents: usize, words: usize, target: f64) -> Self {
        let data = made::documents(1, documents, words, 10);
        Self {
            model: Box::new(Topics::new(Arc::new(data), 10)),
            batch: 1,
            target,
            transfer: Span::from_ms(80),
            compute: Span::from_ms(100),
        }
    }

    pub(in crate::mlfabric) fn bytes(&self) -> u64 {
        4 * self.model.layout().len() as u64
    }

    /// The rate of a whole link: the model of a task is smaller than what it stands for, and links are
    /// slower in the same proportion.
    pub(in crate::mlfabric) fn link(&self) -> Rate {
        let bits = Bytes::new(self.bytes()).get() as f64 * 8.0;
        Rate::bps((bits / self.transfer.as_secs_f64()) as u64)
    }

    /// The examples of one update of a worker.
    pub(in crate::mlfabric) fn examples(&self, worker: u32, update: u64, seed: u64) -> Vec<usize> {
        let mut rng = stream(seed, "examples", u64::from(worker) << 32 | update);
        let count = self.model.examples();
        let one = |_| ((uniform(&mut rng) * count as f64) as usize).min(count - 1);
        (0..self.batch).map(one).collect()
    }
}
