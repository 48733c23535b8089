//! The shape of a job in a file: what serde reads and writes, before and after the checks.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::Value;

use super::{Finish, Job, JobError};
use crate::{
    flow::{Flow, FlowBuilder},
    group::Group,
    names::{FlowId, GroupId},
    objective::Objective,
    tag::{Tag, Tags},
    units::{Bytes, Span},
};

/// A value that remembers why it could not be read instead of failing at once.
///
/// Serde reports a bad value without saying where in the document it stands; kept until the
/// conversion, which knows the path, the error can name the field.
#[derive(Debug, Clone)]
pub(super) enum Field<T> {
    Good(T),
    Bad(String),
}

impl<T> Field<T> {
    fn get(self, path: impl FnOnce() -> String) -> Result<T, JobError> {
        match self {
            Self::Good(value) => Ok(value),
            Self::Bad(reason) => Err(JobError::Field { path: path(), reason }),
        }
    }
}

impl<'de, T: de::DeserializeOwned> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(match serde_json::from_value(value) {
            Ok(value) => Self::Good(value),
            Err(error) => Self::Bad(error.to_string()),
        })
    }
}

impl<T: Serialize> Serialize for Field<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Good(value) => value.serialize(serializer),
            Self::Bad(reason) => Err(ser::Error::custom(reason)),
        }
    }
}

impl<T: JsonSchema> JsonSchema for Field<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }
}

/// One unit whose completion an application waits for.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Job")]
pub(super) struct RawJob {
    /// Its name.
    name: Field<String>,
    /// What its schedule is judged by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    objective: Option<Field<Objective>>,
    /// When it ends well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finish: Option<Field<Finish>>,
    /// When it ends with what has arrived, if that is enough; counted from its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline: Option<Field<Span>>,
    /// When it ends with an error if it has not ended; counted from its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_limit: Option<Field<Span>>,
    /// Tags that hold for every flow that does not say otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tags: Option<Field<RawTags>>,
    /// Groups of messages that share a minimum delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    groups: Option<Field<Vec<Field<RawGroup>>>>,
    /// What is to be moved.
    flows: Field<Vec<Field<RawFlow>>>,
}

/// Messages that share a minimum delivery.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Group")]
struct RawGroup {
    /// Its number, unique in the job.
    id: Field<GroupId>,
    /// A name for people, unique in the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<Field<String>>,
    /// The fraction of its messages that must be delivered; 1 is everything, in order.
    min_delivery: Field<crate::units::Fraction>,
}

/// Bytes from one host to another.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Flow")]
struct RawFlow {
    /// Its number, unique in the job; its position if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<Field<FlowId>>,
    /// A name for people, unique in the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<Field<String>>,
    /// The host that sends.
    from: Field<String>,
    /// The host that receives.
    to: Field<String>,
    /// How much there is to send.
    size: Field<Bytes>,
    /// When sending may begin, counted from the start of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    release: Option<Field<Span>>,
    /// The group whose minimum delivery it shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<Field<GroupId>>,
    /// What the network should know about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tags: Option<Field<RawTags>>,
}

/// Names and values, read as tags only where the path is known.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
struct RawTags(BTreeMap<String, Value>);

impl JsonSchema for RawTags {
    fn schema_name() -> Cow<'static, str> {
        Tags::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Tags::json_schema(generator)
    }
}

impl TryFrom<RawJob> for Job {
    type Error = JobError;

    fn try_from(raw: RawJob) -> Result<Self, JobError> {
        let mut job = Self::builder(raw.name.get(|| "name".into())?);
        if let Some(objective) = optional(raw.objective, "", "objective")? {
            job = job.objective(objective);
        }
        if let Some(finish) = optional(raw.finish, "", "finish")? {
            job = job.finish(finish);
        }
        if let Some(deadline) = optional(raw.deadline, "", "deadline")? {
            job = job.deadline(deadline);
        }
        if let Some(limit) = optional(raw.time_limit, "", "time-limit")? {
            job = job.time_limit(limit);
        }
        for tag in read_tags(raw.tags, "")? {
            job = job.tag(tag);
        }
        let groups = optional(raw.groups, "", "groups")?.unwrap_or_default();
        for (index, group) in groups.into_iter().enumerate() {
            job = job.group(read_group(group, &format!("groups[{index}]"))?);
        }
        let flows = raw.flows.get(|| "flows".into())?;
        for (index, flow) in flows.into_iter().enumerate() {
            job = job.flow(read_flow(flow, &format!("flows[{index}]"))?);
        }
        job.build()
    }
}

fn read_group(raw: Field<RawGroup>, path: &str) -> Result<Group, JobError> {
    let raw = raw.get(|| path.into())?;
    Ok(Group {
        id: raw.id.get(|| format!("{path}.id"))?,
        name: optional(raw.name, path, ".name")?,
        min_delivery: raw.min_delivery.get(|| format!("{path}.min-delivery"))?,
    })
}

fn read_flow(raw: Field<RawFlow>, path: &str) -> Result<FlowBuilder, JobError> {
    let raw = raw.get(|| path.into())?;
    let from = raw.from.get(|| format!("{path}.from"))?;
    let to = raw.to.get(|| format!("{path}.to"))?;
    let mut flow = Flow::builder(from, to, raw.size.get(|| format!("{path}.size"))?);
    if let Some(id) = optional(raw.id, path, ".id")? {
        flow = flow.id(id);
    }
    if let Some(name) = optional(raw.name, path, ".name")? {
        flow = flow.name(name);
    }
    if let Some(release) = optional(raw.release, path, ".release")? {
        flow = flow.release(release);
    }
    if let Some(group) = optional(raw.group, path, ".group")? {
        flow = flow.group(group);
    }
    for tag in read_tags(raw.tags, &format!("{path}."))? {
        flow = flow.tag(tag);
    }
    Ok(flow)
}

fn read_tags(raw: Option<Field<RawTags>>, path: &str) -> Result<Vec<Tag>, JobError> {
    let mut tags = Tags::new();
    for (name, value) in optional(raw, path, "tags")?.map(|raw| raw.0).unwrap_or_default() {
        tags.add_parts(&name, value)
            .map_err(|source| JobError::Tag { path: format!("{path}tags.{name}"), source })?;
    }
    Ok(tags.iter().cloned().collect())
}

fn optional<T>(raw: Option<Field<T>>, path: &str, field: &str) -> Result<Option<T>, JobError> {
    raw.map(|raw| raw.get(|| format!("{path}{field}"))).transpose()
}

impl From<Job> for RawJob {
    fn from(job: Job) -> Self {
        let good = |tags: &Tags| (!tags.is_empty()).then(|| Field::Good(RawTags(tags.to_map())));
        let flow = |flow: Flow| RawFlow {
            id: Some(Field::Good(flow.id())),
            name: flow.name().map(|name| Field::Good(name.to_owned())),
            from: Field::Good(flow.from().to_string()),
            to: Field::Good(flow.to().to_string()),
            size: Field::Good(flow.size()),
            release: (!flow.release().is_zero()).then(|| Field::Good(flow.release())),
            group: flow.group().map(Field::Good),
            tags: good(flow.tags()),
        };
        let group = |group: Group| RawGroup {
            id: Field::Good(group.id),
            name: group.name.map(Field::Good),
            min_delivery: Field::Good(group.min_delivery),
        };
        let groups: Vec<_> = job.groups.into_iter().map(|g| Field::Good(group(g))).collect();
        Self {
            name: Field::Good(job.name),
            objective: Some(Field::Good(job.objective)),
            finish: Some(Field::Good(job.finish)),
            deadline: job.deadline.map(Field::Good),
            time_limit: job.time_limit.map(Field::Good),
            tags: good(&job.tags),
            groups: (!groups.is_empty()).then_some(Field::Good(groups)),
            flows: Field::Good(job.flows.into_iter().map(|f| Field::Good(flow(f))).collect()),
        }
    }
}
