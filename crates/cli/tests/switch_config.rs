//! What `switch-config` prints, and that the kernel does what the script for tc says.

mod common;
#[path = "../../lab/tests/engine_world/mod.rs"]
mod engine_world;

use std::{
    io::Write,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use common::{run, text};
use engine_world::{
    Namespace, allowed, judged, pair, step_forward,
    traffic::{Sink, Source, WIRE_BITS, bursts, interval, paced},
};
use laxity_interface::Ecn;

const QUIET: Duration = Duration::from_millis(60);

fn print(words: &[&str]) -> String {
    let output = run(&[&["switch-config", "--for"], words].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn the_three_dialects() {
    let small = ["--mtu", "1486B", "--buffer", "200kB", "--ecn-packets", "20"];
    let print = |words: &[&str]| print(&[words, &small].concat());
    for (layout, name) in [("shared", "shared-"), ("slack", "")] {
        let print = |words: &[&str]| print(&[words, &["--layout", layout]].concat());
        let named = |dialect: &str| format!("{name}{dialect}");
        insta::assert_snapshot!(named("tc"), print(&["tc", "--dev", "eth1", "--rate", "100Mbps"]));
        insta::assert_snapshot!(named("sonic"), print(&["sonic", "--dev", "Ethernet0,Ethernet4"]));
        insta::assert_snapshot!(named("cumulus"), print(&["cumulus", "--dev", "swp1-swp8,swp12"]));
    }
}

/// Every code point goes to a queue, and the numbers agree with those of the layout.
#[test]
fn the_tables_of_sonic_are_complete() {
    let slack = print(&["sonic", "--layout", "slack"]);
    let tables: serde_json::Value = serde_json::from_str(&slack).unwrap();
    let points = tables["DSCP_TO_TC_MAP"]["LAXITY"].as_object().unwrap();
    assert_eq!(points.len(), 64);
    let slack = points.values().filter(|queue| *queue != "7").count();
    assert_eq!(slack, 7);
    for (class, point) in laxity_switch::SLACK_CODE_POINTS.iter().enumerate() {
        assert_eq!(points[&point.to_string()], (7 - class).to_string());
        let queue = &tables["QUEUE"][format!("Ethernet0|{}", 7 - class)];
        assert_eq!(tables["SCHEDULER"][queue["scheduler"].as_str().unwrap()]["type"], "STRICT");
        let buffer = &tables["BUFFER_QUEUE"][format!("Ethernet0|{}", 7 - class)]["profile"];
        let profile = &tables["BUFFER_PROFILE"][buffer.as_str().unwrap()];
        let bytes = if class == 0 { 1_000_000 - 28 * 1514 } else { (8 - class) * 1514 };
        assert_eq!(profile["static_th"], bytes.to_string());
    }
    let shared: serde_json::Value = serde_json::from_str(&print(&["sonic"])).unwrap();
    assert_eq!(shared["DSCP_TO_TC_MAP"], tables["DSCP_TO_TC_MAP"]);
    for queue in 0..8 {
        let queue = &shared["QUEUE"][format!("Ethernet0|{queue}")];
        assert_eq!(queue["wred_profile"], "LAXITY", "all queues mark");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (words, why) in [
        (&["--for", "tc"][..], "--rate"),
        (&["--for", "tc", "--rate", "1Gbps", "--dev", "eth0;reboot"], "no name of a port"),
        (&["--for", "sonic", "--buffer", "90kB"], "too small"),
        (&["--for", "sonic", "--layout", "slack", "--buffer", "120kB"], "too small"),
        (&["--for", "sonic", "--layout", "single"], "--layout shared"),
        (&["--for", "sonic", "--layout", "tiny"], "single, shared or slack"),
        (&["--for", "abacus"], "possible values"),
    ] {
        let output = run(&[&["switch-config"], words].concat());
        assert!(!output.status.success() && output.stdout.is_empty());
        assert!(text(&output.stderr).contains(why), "{}", text(&output.stderr));
    }
}

/// Applies the printed script inside a host.
fn apply(host: &Namespace, layout: &str) {
    let port = ["tc", "--dev", "eth0", "--rate", "100Mbps", "--buffer", "300kB"];
    let script = print(&[&port[..], &["--layout", layout]].concat());
    host.inside(|| {
        let mut shell = Command::new("sh").stdin(Stdio::piped()).spawn().expect("a shell");
        shell.stdin.take().unwrap().write_all(script.as_bytes()).expect("it reads");
        assert!(shell.wait().expect("it ends").success(), "{script}");
    });
}

#[test]
fn the_kernel_does_what_the_script_says() {
    let name = "tc";
    if !allowed(name) {
        return;
    }
    // A thread of its own, because it changes its priority.
    let test = || {
        let hosts = pair();
        apply(&hosts[0], "slack");
        step_forward();
        let (high_sink, low_sink) = (Sink::new(&hosts[1], 5000), Sink::new(&hosts[1], 5001));
        let high = Source::new(&hosts[0], 1, 5000, 0, Ecn::NotEct);
        let low = |point| Source::new(&hosts[0], 1, 5001, point, Ecn::NotEct);
        // Class 7 holds one packet, class 1 seven.
        let mut losses = Vec::new();
        for (point, packets) in [(27, 1), (23, 2), (15, 4), (3, 7)] {
            let low = low(point);
            let loss = judged(name, || {
                let sent = bursts(&high, &low, interval(100.0, 1.0), 250);
                let arrived = low_sink.take(QUIET).len();
                high_sink.take(QUIET);
                let loss = 1.0 - arrived as f64 / f64::from(sent?);
                println!("{name}: {packets} packets lose {:.1} %", loss * 100.0);
                Some(loss)
            });
            losses.push(loss);
        }
        let starved = judged(name, || {
            let (count, low) = (4000, low(27));
            let took = paced(count, interval(100.0, 1.2), |number| {
                high.send(number);
                if number % 4 == 0 {
                    low.send(number);
                }
            });
            let high_arrived = high_sink.take(QUIET);
            let passed = low_sink.take(QUIET).len() as f64 / f64::from(count / 4);
            let offered = f64::from(count) * WIRE_BITS / took.as_secs_f64() / 100e6;
            let (first, last) = (high_arrived.first()?.at, high_arrived.last()?.at);
            let rate = high_arrived.len() as f64 * WIRE_BITS / (last - first) / 1e6;
            println!(
                "{name}: high offers {:.0} % and gets {rate:.1} Mbit/s, {:.1} % of low passed",
                offered * 100.0,
                passed * 100.0
            );
            (offered > 1.1).then_some((passed, rate))
        });
        if let Some((passed, rate)) = starved {
            assert!(passed < 0.05, "{passed:.3} of the low class passed");
            // Never more than the rate; how much less depends on when a busy machine lets the kernel send.
            assert!((60.0..105.0).contains(&rate), "{rate:.1} Mbit/s");
        }
        if let [Some(one), _, _, Some(seven)] = losses[..] {
            assert!(one > 0.1, "one packet of buffer loses only {one:.3}");
            assert!(one < 0.45, "one packet of buffer loses {one:.3}");
            assert!(seven < 0.03, "seven packets of buffer lose {seven:.3}");
        }
    };
    thread::scope(|scope| scope.spawn(test).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

/// In the shared layout nothing of a late class is lost behind bursts, and it still yields to others.
#[test]
fn the_kernel_takes_the_shared_layout_too() {
    let name = "tc shared";
    if !allowed(name) {
        return;
    }
    let test = || {
        let hosts = pair();
        apply(&hosts[0], "shared");
        step_forward();
        let (high_sink, low_sink) = (Sink::new(&hosts[1], 5000), Sink::new(&hosts[1], 5001));
        let high = Source::new(&hosts[0], 1, 5000, 0, Ecn::NotEct);
        let low = Source::new(&hosts[0], 1, 5001, 27, Ecn::NotEct);
        let loss = judged(name, || {
            let sent = bursts(&high, &low, interval(100.0, 1.0), 250);
            let arrived = low_sink.take(QUIET).len();
            high_sink.take(QUIET);
            Some(1.0 - arrived as f64 / f64::from(sent?))
        });
        if let Some(loss) = loss {
            assert!(
                loss < 0.03,
                "the last class loses {loss:.3}, where one packet loses a quarter"
            );
        }
    };
    thread::scope(|scope| scope.spawn(test).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}
