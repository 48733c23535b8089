//! Jobs survive TOML and JSON, and the schema describes what is read.

use laxity_interface::{
    Bytes, Finish, Flow, FlowBuilder, FlowId, Fraction, Group, GroupId, Job, Objective, Span, Tag,
};
use proptest::{collection::vec, option, prelude::*};
use serde_json::{Value, json};

const EXAMPLE: &str = include_str!("../examples/job.toml");

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |x| x.is_finite()).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((".{0,6}", inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn tag() -> impl Strategy<Value = Tag> {
    prop_oneof![
        any::<u32>().prop_map(Tag::Priority),
        (1e-9..1e9f64).prop_map(Tag::Weight),
        // Flows are released within the first 1000 ps.
        (1001..u64::MAX).prop_map(|ps| Tag::Deadline(Span::from_ps(ps))),
        (0..1u64 << 63).prop_map(Tag::Staleness),
        (0.0..1e300f64).prop_map(Tag::Norm),
        ("[a-z .\"'é\n]{1,8}", value()).prop_map(|(name, value)| Tag::Unknown { name, value }),
    ]
    // An unknown name may by chance be a known one with a value that it cannot have.
    .prop_filter("valid", |tag| tag.clone().check().is_ok())
}

fn flow() -> impl Strategy<Value = FlowBuilder> {
    let place = (option::of(0u16..3), 0.0..=1.0f64);
    (1u64.., 0u64..1000, vec(tag(), 0..4), place).prop_map(|(size, release, tags, (group, own))| {
        let flow = Flow::builder("a", "b", Bytes::new(size)).release(Span::from_ps(release));
        let flow = tags.into_iter().fold(flow, FlowBuilder::tag);
        match group {
            Some(group) => flow.group(GroupId(group)),
            None => flow.min_delivery(Fraction::new(own).unwrap()),
        }
    })
}

fn job() -> impl Strategy<Value = Job> {
    let objective = prop_oneof![Just(Objective::LastFlow), Just(Objective::Utility("log".into()))];
    let finish = prop_oneof![Just(Finish::FirstPass), Just(Finish::Enough)];
    (".{1,12}", objective, finish, vec(tag(), 0..3), vec(flow(), 1..5), vec(0.0..=1.0f64, 3))
        .prop_map(|(name, objective, finish, tags, flows, minimums)| {
            let job = Job::builder(name).objective(objective).finish(finish).flows(flows);
            let job = tags.into_iter().fold(job, |job, tag| job.tag(tag));
            let groups = minimums.into_iter().enumerate();
            groups
                .map(|(id, min)| Group::new(GroupId(id as u16), Fraction::new(min).unwrap()))
                .fold(job, |job, group| job.group(group))
                .build()
                .unwrap()
        })
}

proptest! {
    #[test]
    fn jobs_survive_toml_and_json(job in job()) {
        let text = job.to_toml();
        prop_assert_eq!(&Job::from_toml(&text).unwrap(), &job, "{}", text);
        let text = job.to_json();
        prop_assert_eq!(&Job::from_json(&text).unwrap(), &job, "{}", text);
    }
}

#[test]
fn the_example_says_what_its_comments_say() {
    let job = Job::from_toml(EXAMPLE).unwrap();
    assert_eq!(job.size(), Bytes::from_mib(50) + Bytes::new(1400));
    assert_eq!(
        (job.deadline(), job.time_limit()),
        (Some(Span::from_ms(50)), Some(Span::from_secs(2)))
    );
    let [sizes, first, second] = job.flows() else { panic!("three flows") };
    assert_eq!(job.min_delivery_of(sizes), Fraction::ONE);
    assert_eq!(job.min_delivery_of(first), Fraction::new(0.99).unwrap());
    assert_eq!(job.deadline_of(sizes), Some(Span::from_ms(20)));
    assert_eq!(job.deadline_of(second), Some(Span::from_ms(40)));
    assert_eq!((first.tags().weight(), job.tags_of(first).weight()), (None, Some(1.0)));
    assert_eq!(first.tags().unknown("colour"), Some(&json!("red")));
    assert_eq!((second.id(), second.release()), (FlowId(2), Span::from_us(1500)));
    assert_eq!(job.flow(FlowId(1)), Some(first));
    assert_eq!(job.group(GroupId(1)).unwrap().name.as_deref(), Some("gradients"));
}

#[test]
fn what_is_left_out_has_a_default() {
    let job =
        Job::from_json(r#"{ "name": "x", "flows": [{ "from": "a", "to": "b", "size": 1 }] }"#);
    let job = job.unwrap();
    assert_eq!((job.objective(), job.finish()), (&Objective::LastFlow, Finish::FirstPass));
    assert_eq!(job.min_delivery_of(&job.flows()[0]), Fraction::ONE);
    assert_eq!(job.deadline_of(&job.flows()[0]), None);
}

#[test]
fn a_date_in_an_unknown_tag_is_kept_as_text() {
    let text = EXAMPLE.replace("colour = \"red\"", "day = 2026-02-03");
    let job = Job::from_toml(&text).unwrap();
    assert_eq!(job.flows()[1].tags().unknown("day"), Some(&json!("2026-02-03")));
    assert_eq!(Job::from_toml(&job.to_toml()).unwrap(), job);
}

/// The names in the schema are those that a full job is written with.
#[test]
fn the_schema_names_every_field() {
    fn keys(value: &Value) -> Vec<&str> {
        let mut keys: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        keys
    }
    let schema = Job::json_schema();
    let full: Value = serde_json::to_value(Job::from_toml(EXAMPLE).unwrap()).unwrap();
    assert_eq!(keys(&schema["properties"]), keys(&full));
    assert_eq!(keys(&schema["$defs"]["Group"]["properties"]), keys(&full["groups"][0]));
    assert_eq!(keys(&schema["$defs"]["Flow"]["properties"]), keys(&full["flows"][2]));
    assert_eq!(schema["$defs"]["Flow"]["required"], json!(["from", "to", "size"]));
    assert_eq!(schema["additionalProperties"], json!(false));
    let tags = keys(&schema["$defs"]["Tags"]["properties"]);
    let mut known = Tag::KNOWN.to_vec();
    known.sort_unstable();
    assert_eq!(tags, known);
}
