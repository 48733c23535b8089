//! Profiles as files.

use std::collections::BTreeMap;

use laxity_interface::{Bytes, Span};
use serde::{Deserialize, Serialize};

use super::{Cost, Parameter, Pass, Profile, ProfileError, Step};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawProfile {
    model: String,
    batch: u32,
    #[serde(default)]
    source: String,
    #[serde(default)]
    parameters: Vec<RawParameter>,
    operations: Vec<RawStep>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawParameter {
    name: String,
    size: Bytes,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawStep {
    name: String,
    pass: Pass,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    takes: Option<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flops: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reads: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    writes: Vec<String>,
}

impl Profile {
    /// Reads a profile in TOML.
    ///
    /// ```
    /// let text = r#"
    ///     model = "tiny"
    ///     batch = 8
    ///     parameters = [{ name = "w", size = "4MB" }]
    ///     operations = [
    ///         { name = "layer", pass = "forward", takes = "2ms", reads = ["w"] },
    ///         { name = "layer'", pass = "backward", flops = 4_000_000_000, writes = ["w"] },
    ///     ]
    /// "#;
    /// let profile = laxity_flowsim::profile::Profile::from_toml(text)?;
    /// assert_eq!(profile.steps[1].writes, [0]);
    /// # Ok::<(), laxity_flowsim::profile::ProfileError>(())
    /// ```
    pub fn from_toml(text: &str) -> Result<Self, ProfileError> {
        let raw: Result<RawProfile, _> = toml::from_str(text);
        build(raw.map_err(|error| ProfileError::Text { reason: error.to_string() })?)
    }

    /// Reads a profile in JSON.
    pub fn from_json(text: &str) -> Result<Self, ProfileError> {
        let raw: Result<RawProfile, _> = serde_json::from_str(text);
        build(raw.map_err(|error| ProfileError::Text { reason: error.to_string() })?)
    }

    /// The profile as JSON.
    pub fn to_json(&self) -> String {
        let names = |list: &[usize]| {
            list.iter().map(|at| self.parameters[*at].name.clone()).collect::<Vec<_>>()
        };
        let parameters = self.parameters.iter();
        let raw = RawProfile {
            model: self.model.clone(),
            batch: self.batch,
            source: self.source.clone(),
            parameters: parameters
                .map(|p| RawParameter { name: p.name.clone(), size: p.size })
                .collect(),
            operations: self
                .steps
                .iter()
                .map(|step| RawStep {
                    name: step.name.clone(),
                    pass: step.pass,
                    takes: match step.cost {
                        Cost::Time(span) => Some(span),
                        Cost::Flops(_) => None,
                    },
                    flops: match step.cost {
                        Cost::Time(_) => None,
                        Cost::Flops(flops) => Some(flops),
                    },
                    reads: names(&step.reads),
                    writes: names(&step.writes),
                })
                .collect(),
        };
        serde_json::to_string_pretty(&raw).expect("profiles are plain data")
    }
}

fn build(raw: RawProfile) -> Result<Profile, ProfileError> {
    let field = |path: String, reason: String| ProfileError::Field { path, reason };
    if raw.batch == 0 {
        return Err(field("batch".into(), "it is 0: give 1 or more".into()));
    }
    let mut known = BTreeMap::new();
    for (at, parameter) in raw.parameters.iter().enumerate() {
        if known.insert(parameter.name.clone(), at).is_some() {
            let reason = format!("`{}` is there twice: names are unique", parameter.name);
            return Err(field(format!("parameters[{at}].name"), reason));
        }
    }
    let mut steps = Vec::with_capacity(raw.operations.len());
    for (at, step) in raw.operations.into_iter().enumerate() {
        let cost = match (step.takes, step.flops) {
            (Some(span), None) => Cost::Time(span),
            (None, Some(flops)) => Cost::Flops(flops),
            (both, _) => {
                let given = if both.is_some() { "both" } else { "neither" };
                let reason = format!("`takes` or `flops`, one of them, but {given} is given");
                return Err(field(format!("operations[{at}]"), reason));
            }
        };
        let find = |what: &str, names: Vec<String>| {
            let one = |name: String| {
                let path = format!("operations[{at}].{what}");
                let reason = || format!("there is no parameter `{name}`");
                known.get(&name).copied().ok_or_else(|| field(path, reason()))
            };
            names.into_iter().map(one).collect::<Result<Vec<_>, _>>()
        };
        let (reads, writes) = (find("reads", step.reads)?, find("writes", step.writes)?);
        steps.push(Step { name: step.name, pass: step.pass, cost, reads, writes });
    }
    let parameters = raw.parameters.into_iter();
    let parameters = parameters.map(|p| Parameter { name: p.name, size: p.size }).collect();
    Profile { model: raw.model, batch: raw.batch, source: raw.source, parameters, steps }.check()
}
