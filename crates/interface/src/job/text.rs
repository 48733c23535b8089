//! Jobs as TOML and JSON.

use serde_json::Value;

use super::{Job, JobError, raw::RawJob};

/// The promise that [`Tags`](crate::Tags) and the builder keep: nothing in a job is outside what
/// both formats can carry.
const CARRIED: &str = "every valid job can be written";

impl Job {
    /// Reads a job from TOML.
    ///
    /// ```
    /// # use laxity_interface::{Job, Span};
    /// let job = Job::from_toml(include_str!("../../examples/job.toml"))?;
    /// assert_eq!(job.name(), "all-reduce");
    /// assert_eq!(job.deadline_of(&job.flows()[0]), Some(Span::from_ms(20)));
    ///
    /// let error = Job::from_toml("name = 'x'\nflows = [{ from = 'a', to = 'b', size = '5 apples' }]");
    /// assert_eq!(error.unwrap_err().path(), Some("flows[0].size"));
    /// # Ok::<(), laxity_interface::JobError>(())
    /// ```
    pub fn from_toml(text: &str) -> Result<Self, JobError> {
        let raw: RawJob = toml::from_str(text).map_err(|error| JobError::Syntax {
            format: "TOML",
            reason: error.to_string().trim_end().to_owned(),
        })?;
        raw.try_into()
    }

    /// Reads a job from JSON.
    pub fn from_json(text: &str) -> Result<Self, JobError> {
        let raw: RawJob = serde_json::from_str(text)
            .map_err(|error| JobError::Syntax { format: "JSON", reason: error.to_string() })?;
        raw.try_into()
    }

    /// Writes the job as TOML that [`from_toml`](Self::from_toml) reads as the same job.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).expect(CARRIED)
    }

    /// Writes the job as JSON that [`from_json`](Self::from_json) reads as the same job.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect(CARRIED)
    }

    /// The JSON schema of what [`from_json`](Self::from_json) reads.
    pub fn json_schema() -> Value {
        schemars::schema_for!(RawJob).to_value()
    }
}
