//! Which values of unknown tags survive a round trip through TOML and JSON.

use serde_json::Value;

/// The largest whole number that both TOML and JSON carry.
pub(super) const LARGEST: u64 = i64::MAX as u64;

/// The key under which the TOML reader hands over a date.
const TOML_DATE: &str = "$__toml_private_datetime";

/// What in `value` TOML or JSON cannot carry: TOML has no null (and what JSON reads as null may
/// have been a NaN) and no integers beyond 63 bits.
pub(super) fn obstacle(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("null or a number that is not finite".to_owned()),
        Value::Number(number) => match number.as_u64() {
            Some(n) if n > LARGEST => Some(format!("the integer {n}")),
            _ => None,
        },
        Value::Array(values) => values.iter().find_map(obstacle),
        Value::Object(map) => map.values().find_map(obstacle),
        Value::Bool(_) | Value::String(_) => None,
    }
}

/// Turns dates of TOML, which JSON does not have, into their text.
pub(super) fn dates_to_text(value: Value) -> Value {
    match value {
        Value::Object(mut map) => match map.remove(TOML_DATE) {
            Some(date) => date,
            None => map.into_iter().map(|(key, value)| (key, dates_to_text(value))).collect(),
        },
        Value::Array(values) => values.into_iter().map(dates_to_text).collect(),
        plain => plain,
    }
}
