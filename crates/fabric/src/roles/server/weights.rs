//! The model, its momentum and how many commits are in it.

use crate::roles::{ids::Version, tensor::Tensor};

/// h ← γh + u, w ← w + h.
#[derive(Clone, Debug)]
pub(in crate::roles) struct Weights {
    values: Vec<f32>,
    /// h; empty without momentum.
    history: Vec<f32>,
    momentum: f32,
    pub(in crate::roles) version: Version,
    /// Commits when the present epoch began: up to there it agrees with the one before.
    origin: u64,
    /// The values as they travel, of the present version.
    encoded: Option<Tensor>,
}

impl Weights {
    pub(in crate::roles) fn new(values: Vec<f32>, momentum: f64) -> Self {
        let history = if momentum > 0.0 { vec![0.0; values.len()] } else { Vec::new() };
        let (momentum, version) = (momentum as f32, Version::default());
        Self { values, history, momentum, version, origin: 0, encoded: None }
    }

    pub(in crate::roles) fn elements(&self) -> usize {
        self.values.len()
    }

    pub(in crate::roles) fn values(&self) -> &[f32] {
        &self.values
    }

    pub(in crate::roles) fn history(&self) -> &[f32] {
        &self.history
    }

    /// One commit.
    pub(in crate::roles) fn apply(&mut self, step: impl Iterator<Item = f32>, version: Version) {
        if self.history.is_empty() {
            self.values.iter_mut().zip(step).for_each(|(w, u)| *w += u);
        } else {
            let state = self.values.iter_mut().zip(&mut self.history);
            for ((w, h), u) in state.zip(step) {
                *h = self.momentum * *h + u;
                *w += *h;
            }
        }
        self.version = version;
        self.encoded = None;
    }

    /// The next epoch begins here.
    pub(in crate::roles) fn begin_epoch(&mut self) {
        self.version.epoch += 1;
        self.origin = self.version.commits;
        self.encoded = None;
    }

    /// How many commits lie between a version and the next commit.
    ///
    /// A version of the epoch before counts as far as both agree; of older ones that is not known, and
    /// they count as the first.
    pub(in crate::roles) fn delay(&self, of: Version) -> u64 {
        let known = match self.version.epoch.checked_sub(of.epoch) {
            Some(0) | None => of.commits,
            Some(1) => of.commits.min(self.origin),
            Some(_) => 0,
        };
        self.version.commits.saturating_sub(known)
    }

    /// Whether the model is at least this version.
    pub(in crate::roles) fn reaches(&self, at_least: Version) -> bool {
        let wanted = if at_least.epoch < self.version.epoch {
            at_least.commits.min(self.origin)
        } else {
            at_least.commits
        };
        wanted <= self.version.commits
    }

    /// The model as it travels.
    pub(in crate::roles) fn tensor(&mut self) -> &Tensor {
        self.encoded.get_or_insert_with(|| Tensor::new(&self.values))
    }

    /// Everything, for a replica: the model, then the history.
    pub(in crate::roles) fn everything(&self) -> Tensor {
        let all: Vec<f32> = self.values.iter().chain(&self.history).copied().collect();
        Tensor::new(&all)
    }

    /// Takes over everything of a server, if it has the right size.
    pub(in crate::roles) fn replace(&mut self, everything: &Tensor, version: Version) -> bool {
        let fits = everything.elements() == self.values.len() + self.history.len();
        if fits {
            let (values, history) = (&mut self.values, &mut self.history);
            let all = values.iter_mut().chain(history);
            all.zip(everything.iter()).for_each(|(mine, new)| *mine = new);
            self.version = version;
            self.origin = 0;
            self.encoded = None;
        }
        fits
    }
}
