//! What came out of an experiment.

use laxity_report::{Claim, Row, Value};

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chart {
    /// Its name in the name of its file, such as `by-model`.
    pub name: String,
    /// The picture.
    pub svg: String,
}

/// What came out of an experiment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Findings {
    /// Our numbers, with the paper's beside them where it prints them (fields that begin with
    /// `paper_`).
    pub rows: Vec<Row>,
    /// The fields that a table for people shows; all of them if empty.
    pub columns: Vec<&'static str>,
    /// What the paper says, and whether it holds here.
    pub claims: Vec<Claim>,
    /// Pictures.
    pub charts: Vec<Chart>,
    /// What was chosen because the paper leaves it open.
    pub chosen: Vec<String>,
    /// A sentence on each difference between the paper's numbers and ours.
    pub differences: Vec<String>,
}

impl Findings {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row.
    pub fn row(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Adds a claim: the statement, the paper's value, ours, and whether ours supports it.
    pub fn claim(
        &mut self,
        claim: impl Into<String>,
        paper: impl Into<Value>,
        ours: impl Into<Value>,
        holds: bool,
    ) {
        self.claims.push(Claim::new(claim, paper, ours, holds));
    }

    /// Adds a picture.
    pub fn chart(&mut self, name: impl Into<String>, svg: String) {
        self.charts.push(Chart { name: name.into(), svg });
    }

    /// Adds something that was chosen because the paper leaves it open.
    pub fn chose(&mut self, what: impl Into<String>) {
        self.chosen.push(what.into());
    }

    /// Adds a sentence on a difference.
    pub fn differs(&mut self, why: impl Into<String>) {
        self.differences.push(why.into());
    }

    /// Whether every claim holds.
    #[must_use]
    pub fn all_hold(&self) -> bool {
        self.claims.iter().all(|claim| claim.holds)
    }
}
