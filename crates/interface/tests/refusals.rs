//! Every way in which a job can make no sense, in code and in a file, and the place that is named.

use laxity_interface::{
    Bytes, Flow, FlowBuilder, FlowId, Fraction, Group, GroupId, Job, JobBuilder, JobError,
    Objective, Span, Tag,
};

fn flow() -> FlowBuilder {
    Flow::builder("a", "b", Bytes::new(1))
}

fn job() -> JobBuilder {
    Job::builder("job")
}

fn half(id: u16) -> Group {
    Group::new(GroupId(id), Fraction::new(0.5).unwrap())
}

/// Checks the variant by its name and the path, which together say what was refused and where.
#[track_caller]
fn refused(job: JobBuilder, variant: &str, path: &str) {
    let error = job.build().expect_err(variant);
    assert!(format!("{error:?}").starts_with(variant), "{variant}: {error:?}");
    assert_eq!(error.path(), Some(path), "{error:?}");
    assert!(error.to_string().starts_with(&format!("{path}: ")), "{error}");
}

#[test]
fn names_and_numbers() {
    refused(job(), "Empty", "flows");
    refused(Job::builder("").flow(flow()), "EmptyName", "name");
    refused(job().flow(flow().name("")), "EmptyName", "flows[0].name");
    refused(job().group(half(1).named("")).flow(flow()), "EmptyName", "groups[0].name");
    let twice = [flow().id(FlowId(7)), flow().id(FlowId(7))];
    refused(job().flows(twice), "DuplicateFlowId", "flows[1].id");
    // A flow without an id takes its position, which an earlier one may have taken.
    refused(job().flow(flow().id(FlowId(1))).flow(flow()), "DuplicateFlowId", "flows[1].id");
    let twice = [flow().name("x"), flow(), flow().name("x")];
    refused(job().flows(twice), "DuplicateFlowName", "flows[2].name");
    refused(job().group(half(1)).group(half(1)), "DuplicateGroupId", "groups[1].id");
    let groups = job().group(half(1).named("g")).group(half(2).named("g"));
    refused(groups, "DuplicateGroupName", "groups[1].name");
}

#[test]
fn flows_and_groups() {
    refused(job().flow(flow().group(GroupId(3))), "UnknownGroup", "flows[0].group");
    let both = flow().group(GroupId(1)).min_delivery(Fraction::ONE);
    refused(job().group(half(1)).flow(both), "TwoMinimums", "flows[0].tags.min-delivery");
    refused(job().flow(Flow::builder("a", "a", Bytes::new(1))), "SameHost", "flows[0].to");
    refused(job().flow(Flow::builder("", "a", Bytes::new(1))), "Host", "flows[0].from");
    refused(job().flow(Flow::builder("a", "b c", Bytes::new(1))), "Host", "flows[0].to");
    refused(job().flow(Flow::builder("a", "b", Bytes::ZERO)), "ZeroSize", "flows[0].size");
    refused(job().flow(flow().weight(-1.0)), "Tag", "flows[0].tags.weight");
    refused(job().tag(Tag::Norm(f64::NAN)).flow(flow()), "Tag", "tags.norm");
}

#[test]
fn times() {
    let (short, long) = (Span::from_ms(1), Span::from_ms(2));
    let late = || flow().release(long);
    refused(job().deadline(Span::ZERO).flow(flow()), "NoTime", "deadline");
    refused(job().time_limit(Span::ZERO).flow(flow()), "NoTime", "time-limit");
    let due = late().deadline(short);
    refused(job().flow(due), "DeadlineBeforeRelease", "flows[0].tags.deadline");
    let due = late().deadline(long);
    refused(job().flow(due), "DeadlineBeforeRelease", "flows[0].tags.deadline");
    let tagged = job().tag(Tag::Deadline(short));
    refused(tagged.flow(late()), "DeadlineBeforeRelease", "flows[0].release");
    let limited = || job().time_limit(short);
    refused(limited().deadline(long).flow(flow()), "DeadlineBeyondLimit", "deadline");
    let tagged = limited().tag(Tag::Deadline(long));
    refused(tagged.flow(flow()), "DeadlineBeyondLimit", "tags.deadline");
    let due = flow().deadline(long);
    refused(limited().flow(due), "DeadlineBeyondLimit", "flows[0].tags.deadline");
    refused(limited().flow(late()), "ReleaseBeyondEnd", "flows[0].release");
    refused(job().deadline(long).flow(late()), "ReleaseBeyondEnd", "flows[0].release");
    for objective in [Objective::MaxLateness, Objective::SumLateness] {
        refused(job().objective(objective).flow(flow()), "NoDeadline", "objective");
    }
    // The borders themselves make sense.
    assert!(job().deadline(long).time_limit(long).flow(flow().deadline(long)).build().is_ok());
}

#[test]
fn files_name_the_field() {
    let flow = "from = 'a', to = 'b', size = 1";
    for (text, path, said) in [
        ("name = 5\nflows = []".to_owned(), "name", "expected a string"),
        ("name = 'x'\nflows = 3".into(), "flows", "expected a sequence"),
        ("name = 'x'\nflows = []".into(), "flows", "add one"),
        (format!("name = 'x'\ndeadline = 5\nflows = [{{ {flow} }}]"), "deadline", "\"200us\""),
        (format!("name = 'x'\ntime-limit = '5h'\nflows = [{{ {flow} }}]"), "time-limit", "`h`"),
        (
            format!("name = 'x'\nobjective = 'fast'\nflows = [{{ {flow} }}]"),
            "objective",
            "last-flow",
        ),
        (format!("name = 'x'\nfinish = 'soon'\nflows = [{{ {flow} }}]"), "finish", "`first-pass`"),
        (
            format!("name = 'x'\nflows = [{{ {flow} }}, {{ {flow}, sise = 2 }}]"),
            "flows[1]",
            "`sise`",
        ),
        ("name = 'x'\nflows = [{ from = 'a', to = 'b' }]".into(), "flows[0]", "`size`"),
        (
            format!("name = 'x'\nflows = [{{ {flow}, release = 'x' }}]"),
            "flows[0].release",
            "number",
        ),
        (format!("name = 'x'\nflows = [{{ {flow}, group = 70000 }}]"), "flows[0].group", "u16"),
        (format!("name = 'x'\nflows = [{{ {flow}, group = 1 }}]"), "flows[0].group", "no group 1"),
        (
            format!("name = 'x'\nflows = [{{ {flow}, tags = {{ weight = 0 }} }}]"),
            "flows[0].tags.weight",
            "a finite number above 0",
        ),
        (
            format!("name = 'x'\nflows = [{{ {flow}, tags = {{ weight = nan }} }}]"),
            "flows[0].tags.weight",
            "a finite number above 0",
        ),
        (
            format!(
                "name = 'x'\ngroups = [{{ id = 0, min-delivery = 1.5 }}]\nflows = [{{ {flow} }}]"
            ),
            "groups[0].min-delivery",
            "from 0 to 1",
        ),
    ] {
        let error = Job::from_toml(&text).expect_err(&text);
        assert_eq!(error.path(), Some(path), "{text}: {error}");
        assert!(error.to_string().contains(said), "{text}: {error}");
    }
}

#[test]
fn broken_text_names_the_line() {
    let error = Job::from_toml("name = 'x'\nflow = []").unwrap_err();
    assert!(matches!(error, JobError::Syntax { format: "TOML", .. }), "{error:?}");
    assert!(error.to_string().contains("line 2"), "{error}");
    assert!(error.to_string().contains("unknown field `flow`"), "{error}");
    let error = Job::from_json("{ \"name\": ").unwrap_err();
    assert!(error.to_string().contains("line 1"), "{error}");
    assert_eq!(error.path(), None);
}
