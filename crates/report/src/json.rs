//! Reports for machines.

use crate::report::Report;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let with_claims = !self.claims.is_empty();
        let mut object = out.serialize_struct("Report", 2 + usize::from(with_claims))?;
        object.serialize_field("meta", &self.meta)?;
        object.serialize_field("rows", &self.rows)?;
        if with_claims {
            object.serialize_field("claims", &self.claims)?;
        }
        object.end()
    }
}

pub(crate) fn value(report: &Report) -> serde_json::Value {
    // CORRECTNESS: keys are strings and non-finite numbers became null, so nothing here can fail.
    serde_json::to_value(report).expect("a report is always valid JSON")
}

pub(crate) fn text(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(report).expect("a report is always valid JSON");
    text.push('\n');
    text
}
