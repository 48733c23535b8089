//! What was run, so that a result can be traced and repeated.

use crate::row::Row;
use crate::value::Value;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// Names that [`Meta`] writes itself and that extra fields may not take.
const OWN: [&str; 5] = ["command", "version", "seed", "cores", "seconds"];

/// Where a report comes from: command, version, seed, machine, time taken, and anything else.
#[derive(Clone, Debug, PartialEq)]
pub struct Meta {
    /// The command line that produced the report.
    pub command: String,
    /// Version of the program.
    pub version: String,
    /// Seed of the run; none where nothing was random.
    pub seed: Option<u64>,
    /// Cores of the machine; 0 means not stated.
    pub cores: usize,
    /// Wall-clock seconds the run took.
    pub seconds: f64,
    /// Further fields, such as the kernel or the commit, shown after the fixed ones.
    pub extra: Row,
}

impl Meta {
    /// Provenance of a run of `command` by program version `version`.
    #[must_use]
    pub fn new(command: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            version: version.into(),
            seed: None,
            cores: 0,
            seconds: 0.0,
            extra: Row::new(),
        }
    }

    /// Sets the seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets the number of cores of the machine.
    #[must_use]
    pub fn cores(mut self, cores: usize) -> Self {
        self.cores = cores;
        self
    }

    /// Sets the wall-clock seconds the run took.
    #[must_use]
    pub fn seconds(mut self, seconds: f64) -> Self {
        self.seconds = seconds;
        self
    }

    /// Adds a further field; the same rules as for [`Row::with`], and not one of the fixed names.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Value>) -> Self {
        let name = name.into();
        debug_assert!(!OWN.contains(&name.as_ref()), "{name} is a fixed field of meta");
        self.extra = self.extra.with(name, value);
        self
    }

    /// All fields in the order they are shown. The fixed five are always there, null if unknown, so
    /// that readers of the JSON need no special case.
    #[must_use]
    pub fn fields(&self) -> Row {
        let cores = Some(self.cores).filter(|cores| *cores > 0);
        let fixed = Row::new()
            .with("command", self.command.as_str())
            .with("version", self.version.as_str())
            .with("seed", self.seed)
            .with("cores", cores)
            .with("seconds", self.seconds);
        self.extra
            .fields()
            .filter(|(name, _)| !OWN.contains(name))
            .fold(fixed, |row, (name, value)| row.with(name.to_owned(), value.clone()))
    }
}

impl Serialize for Meta {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        self.fields().serialize(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_fields_are_always_there() {
        let meta = Meta::new("laxity sim bench", "0.1.0").with("kernel", "6.1");
        assert_eq!(
            serde_json::to_string(&meta).unwrap(),
            r#"{"command":"laxity sim bench","version":"0.1.0","seed":null,"cores":null,"seconds":0.0,"kernel":"6.1"}"#
        );
    }
}
