//! Strangers that were turned away, and why.

use std::collections::VecDeque;

/// How many are kept.
const KEPT: usize = 64;

/// The latest refusals: a port scanner must not fill the memory.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    latest: VecDeque<String>,
}

impl Refusals {
    pub(crate) fn add(&mut self, why: String) {
        if self.latest.len() == KEPT {
            self.latest.pop_front();
        }
        self.latest.push_back(why);
    }

    pub(crate) fn list(&self) -> Vec<String> {
        self.latest.iter().cloned().collect()
    }
}
