//! What strangers, broken peers and liars may send: each has a clear outcome.

#[path = "../harness/mod.rs"]
mod harness;
mod liars;
mod strangers;

use harness::{
    Action, Job, PathSpec, World, fraction,
    raw::{Host, Raw, open},
};
use laxity_interface::Time;
use laxity_protocol::{Config, ElementType, Event, JobId, JobKind, SendRequest, wire::Frame};

const ADDRESS: &str = "10.0.0.7:7000";
const BYTES: ElementType = ElementType::U8;

fn host() -> Host {
    Host::new(Config::insecure())
}

fn raw(host: &mut Host) -> Raw {
    Raw::connect(host, ADDRESS, 77)
}

/// A tensor of ten chunks of 100 bytes, all of which must arrive.
fn tensor() -> Frame<'static> {
    let kind = JobKind::Tensor { element: BYTES, elements: 1000 };
    Frame::JobOpen(JobId(0), open(kind, 1000, 100, 10, 10))
}

fn messages(bytes: u64, total: u64, max_message: u64) -> Frame<'static> {
    let kind = JobKind::Messages { open_window: false, max_message };
    Frame::JobOpen(JobId(0), open(kind, bytes, 100, total, total))
}

/// Two nodes with a job from 0 to 1 that is about to start.
fn pair(config: Config, job: Job) -> World {
    let mut world = World::new("pair", 1, vec![config.clone(), config]);
    for pair in [(0, 1), (1, 0)] {
        world.link(&[pair], &PathSpec::ideal(), 1);
    }
    world.plan(Time::ZERO, Action::Connect(0, 1));
    world.add(job);
    world
}

fn small_job() -> Job {
    Job::new(0, 1, SendRequest::tensor(BYTES, 20_000, fraction(1.0)))
}

fn failure(host: &Host) -> String {
    let failed = host.events.iter().find_map(|event| match event {
        Event::RecvFailed(_, error) | Event::SendFailed(_, error) => Some(error.to_string()),
        _ => None,
    });
    failed.expect("the job failed")
}
