//! A statement of a paper next to what we measured.

use crate::value::Value;
use serde::Serialize;

/// One claim of a paper, the paper's value, ours, and whether ours supports it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// The statement in words, with the place it comes from.
    pub claim: String,
    /// What the paper reports.
    pub paper: Value,
    /// What was measured here.
    pub ours: Value,
    /// Whether our result supports the claim. The caller decides; this crate does not compare.
    pub holds: bool,
}

impl Claim {
    /// A claim with both values and the verdict.
    #[must_use]
    pub fn new(
        claim: impl Into<String>,
        paper: impl Into<Value>,
        ours: impl Into<Value>,
        holds: bool,
    ) -> Self {
        Self { claim: claim.into(), paper: paper.into(), ours: ours.into(), holds }
    }
}
