//! A host that never reads does not hold up others.

use std::{
    fs,
    time::{Duration, Instant},
};

use laxity_controller::{Agent, FlowName, ask_overview};
use laxity_interface::{Bytes, Flow, FlowId, Job};

use super::child::{PATIENCE, Place, Process, host, is_attached, until};

#[test]
fn others_are_told_while_one_never_reads() {
    let place = Place::new();
    let _controller = place.start();
    let quick = Agent::start(host(place.access(), "quick", 1)).unwrap();
    assert!(quick.wait_link(PATIENCE, is_attached));
    let slow = Process::start("host", place.folder.path(), &place.listen);
    let ready = place.folder.path().join("host-ready");
    until("the slow host is there", || fs::exists(&ready).unwrap());
    until("its flows are planned", || {
        ask_overview(&place.access()).unwrap().jobs.iter().any(|job| job.rate_bps > 0)
    });
    slow.signal("STOP");
    // Every job of the quick host changes what the slow one should hear.
    let begun = Instant::now();
    for number in 0..20 {
        let name = format!("j{number}");
        let sink = format!("sink-{}", number % 7);
        let flow = Flow::builder("quick", sink, Bytes::from_mib(10)).priority(0);
        quick.submit(Job::builder(&name).flow(flow).build().unwrap()).unwrap();
        let flow = FlowName::new(name.clone(), FlowId(0));
        until("a plan for the quick host", || quick.advice(&flow).reason.is_planned());
        quick.withdraw(&name);
    }
    assert!(is_attached(&quick.link()));
    // In the end the slow one counts as away, though its process is there.
    until("the slow host is let go", || {
        let hosts = ask_overview(&place.access()).unwrap().hosts;
        hosts.iter().any(|host| host.name == "slow" && !host.attached)
    });
    assert!(begun.elapsed() < PATIENCE + Duration::from_secs(60));
    slow.signal("CONT");
    until("it comes back by itself", || {
        let hosts = ask_overview(&place.access()).unwrap().hosts;
        hosts.iter().any(|host| host.name == "slow" && host.attached)
    });
}
