//! What one command found.

use crate::claim::Claim;
use crate::meta::Meta;
use crate::row::Row;
use crate::table::TableView;

/// Results of one command: where they come from, the rows, and the claims they were checked against.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Where the results come from.
    pub meta: Meta,
    /// The results, one flat object each. Rows may have different fields.
    pub rows: Vec<Row>,
    /// Claims of a paper that were checked; empty for most commands.
    pub claims: Vec<Claim>,
}

impl Report {
    /// A report without rows.
    #[must_use]
    pub fn new(meta: Meta) -> Self {
        Self { meta, rows: Vec::new(), claims: Vec::new() }
    }

    /// Adds a row, builder style.
    #[must_use]
    pub fn row(mut self, row: Row) -> Self {
        self.rows.push(row);
        self
    }

    /// Adds a claim, builder style.
    #[must_use]
    pub fn claim(mut self, claim: Claim) -> Self {
        self.claims.push(claim);
        self
    }

    /// Adds a row.
    pub fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Whether every claim holds; true without claims.
    #[must_use]
    pub fn all_claims_hold(&self) -> bool {
        self.claims.iter().all(|claim| claim.holds)
    }

    /// Every field name that occurs in a row, in order of first appearance.
    #[must_use]
    pub fn columns(&self) -> Vec<&str> {
        let mut columns: Vec<&str> = Vec::new();
        for (name, _) in self.rows.iter().flat_map(Row::fields) {
            if !columns.contains(&name) {
                columns.push(name);
            }
        }
        columns
    }

    /// The report for machines: `{"meta": {..}, "rows": [..]}`, and `"claims"` where there are any.
    ///
    /// A [`serde_json::Value`] may sort its keys; [`Report::to_json_string`] keeps our order.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        crate::json::value(self)
    }

    /// The same as indented text, fields in the order they were added, with a final newline.
    #[must_use]
    pub fn to_json_string(&self) -> String {
        crate::json::text(self)
    }

    /// The rows as comma-separated values (RFC 4180 quoting, `\n` line ends), header first.
    #[must_use]
    pub fn to_csv(&self) -> String {
        crate::csv::write(self)
    }

    /// The rows, and the claims if any, as a text table with every column.
    #[must_use]
    pub fn to_table(&self) -> String {
        self.table().to_string()
    }

    /// A text table whose columns and width can be chosen before it is written.
    #[must_use]
    pub fn table(&self) -> TableView<'_> {
        TableView::new(self)
    }
}
