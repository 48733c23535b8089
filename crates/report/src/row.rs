//! One line of results.

use crate::name::{FieldNameError, is_snake_case};
use crate::stats::Summary;
use crate::value::Value;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// A flat, ordered list of named values: one line of a table, one object of `rows` in JSON.
///
/// ```
/// use laxity_report::Row;
/// let row = Row::new().with("scheme", "tcp").with("mean_ms", 1.25).with("bytes", 1_000_000_u64);
/// assert_eq!(row.get("scheme").and_then(|v| v.as_str()), Some("tcp"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    fields: Vec<(Cow<'static, str>, Value)>,
}

impl Row {
    /// A row without fields.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field, or replaces the value of one with the same name in place.
    ///
    /// The name is snake_case with the unit last (`mean_ms`); a debug build panics on any other,
    /// because field names are written by us. Use [`Row::try_with`] for names that come from outside.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Value>) -> Self {
        let name = name.into();
        debug_assert!(is_snake_case(&name), "field name {name:?} is not snake_case");
        self.set(name, value.into());
        self
    }

    /// Like [`Row::with`], for a name that may be wrong.
    ///
    /// # Errors
    /// [`FieldNameError`] when the name is not snake_case.
    pub fn try_with(
        mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<Value>,
    ) -> Result<Self, FieldNameError> {
        let name = name.into();
        if !is_snake_case(&name) {
            return Err(FieldNameError { name: name.into_owned() });
        }
        self.set(name, value.into());
        Ok(self)
    }

    /// Adds `mean_U`, `p50_U`, `p95_U`, `p99_U` and `max_U` for the unit U; null without a summary.
    #[must_use]
    pub fn with_summary(self, unit: &str, summary: Option<&Summary>) -> Self {
        let field = |name: &str| format!("{name}_{unit}");
        self.with(field("mean"), summary.map(|s| s.mean))
            .with(field("p50"), summary.map(|s| s.p50))
            .with(field("p95"), summary.map(|s| s.p95))
            .with(field("p99"), summary.map(|s| s.p99))
            .with(field("max"), summary.map(|s| s.max))
    }

    /// The value of a field, if the row has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(have, _)| have == name).map(|(_, value)| value)
    }

    /// Names and values in the order they were added.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.fields.iter().map(|(name, value)| (name.as_ref(), value))
    }

    /// Whether the row has no field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    fn set(&mut self, name: Cow<'static, str>, value: Value) {
        // A JSON object with the same key twice means different things to different readers.
        match self.fields.iter_mut().find(|(have, _)| *have == name) {
            Some((_, old)) => *old = value,
            None => self.fields.push((name, value)),
        }
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_map(self.fields())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_set_twice_keeps_its_place() {
        let row = Row::new().with("a", 1).with("b", 2).with("a", 3);
        assert_eq!(serde_json::to_string(&row).unwrap(), r#"{"a":3,"b":2}"#);
    }

    #[test]
    fn names_from_outside_are_checked() {
        let error = Row::new().try_with("Mean MS", 1.0).unwrap_err();
        assert_eq!(error.name, "Mean MS");
        assert!(Row::new().try_with(String::from("mean_ms"), 1.0).is_ok());
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "not snake_case")]
    fn our_own_wrong_name_panics_in_debug() {
        let _ = Row::new().with("mean-ms", 1.0);
    }

    #[test]
    fn a_summary_becomes_five_fields() {
        let summary = Summary::of(&[1.0, 3.0]);
        let row = Row::new().with_summary("ms", summary.as_ref());
        let names: Vec<&str> = row.fields().map(|(name, _)| name).collect();
        assert_eq!(names, ["mean_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms"]);
        assert_eq!(Row::new().with_summary("ms", None).get("p99_ms"), Some(&Value::Null));
    }
}
