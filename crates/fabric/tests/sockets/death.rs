//! Ranks in processes of their own that are killed: the others hear of it.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::common::{BOTH, LONG, loss, parcel, secret, settings, store, until};
use laxity_fabric::{
    Rank,
    carrier::Carrier,
    rendezvous::{Fabric, Settings, Transport},
};

const DEAD_AFTER: Duration = Duration::from_secs(2);

fn hasty(mut settings: Settings) -> Settings {
    (settings.tcp.dead_after, settings.laxity.dead_after) = (DEAD_AFTER, DEAD_AFTER);
    settings
}

/// Not a test of its own: what the other process runs.
#[test]
fn child() {
    let Ok(store) = std::env::var("LAXITY_TEST_STORE") else { return };
    let number = |name| std::env::var(name).expect("set").parse().expect("a number");
    let transport = match std::env::var("LAXITY_TEST_TRANSPORT").as_deref() {
        Ok("tcp") => Transport::Tcp,
        _ => Transport::Laxity,
    };
    let rank = Rank::new(number("LAXITY_TEST_RANK"));
    let settings = Settings { transport, ..Settings::new(rank, 2, store, secret()) };
    let mut fabric = Fabric::join(hasty(settings)).expect("joins");
    if std::env::var("LAXITY_TEST_TALKS").is_ok() {
        fabric.submit(parcel(1 - rank.get(), 1, 100));
        until(&mut fabric, |_, sent| sent == 1);
    }
    println!("\nready");
    fabric.wait_event(None);
}

/// Dies with the test.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn victim(store: &str, rank: u32, transport: Transport, talks: bool) -> Victim {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["death::child", "--exact", "--nocapture"]).stdout(Stdio::piped());
    command.env("LAXITY_TEST_STORE", store).env("LAXITY_TEST_RANK", rank.to_string());
    command.env("LAXITY_TEST_TRANSPORT", transport.name());
    if talks {
        command.env("LAXITY_TEST_TALKS", "1");
    }
    Victim(command.spawn().expect("starts"))
}

fn wait_until_ready(victim: &mut Victim) {
    let lines = BufReader::new(victim.0.stdout.take().expect("piped")).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "ready"), "it got ready");
}

/// Kills it and says what the others hear and how soon.
fn kill(mut victim: Victim, fabric: &mut Fabric, rank: u32) -> String {
    let killed = Instant::now();
    victim.0.kill().expect("kill -9");
    let reason = loss(fabric, rank);
    println!("{:?} after kill -9: {reason}", killed.elapsed());
    reason
}

#[test]
fn a_killed_rank_is_lost_whether_or_not_it_talked() {
    for transport in BOTH {
        for talks in [true, false] {
            let server = store();
            let mut victim = victim(&server.address().to_string(), 1, transport, talks);
            let mut fabric =
                Fabric::join(hasty(settings(&server, 0, 2, transport))).expect("joins");
            if talks {
                until(&mut fabric, |arrivals, _| arrivals.len() == 1);
            }
            wait_until_ready(&mut victim);
            let reason = kill(victim, &mut fabric, 1);
            assert!(reason.contains("rank 1"), "{reason}");
            fabric.shutdown(LONG);
        }
    }
}

#[test]
fn without_the_store_a_connection_that_is_idle_is_watched_all_the_same() {
    for transport in BOTH {
        let server = store();
        let mut victim = victim(&server.address().to_string(), 1, transport, true);
        let mut fabric = Fabric::join(hasty(settings(&server, 0, 2, transport))).expect("joins");
        until(&mut fabric, |arrivals, _| arrivals.len() == 1);
        wait_until_ready(&mut victim);
        drop(server);
        let reason = kill(victim, &mut fabric, 1);
        assert!(reason.contains("connection with rank 1"), "{reason}");
    }
}

#[test]
fn with_the_process_of_rank_0_its_store_goes_and_rank_0_is_lost() {
    for transport in BOTH {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = free.local_addr().expect("bound").to_string();
        drop(free);
        let mut victim = victim(&address, 0, transport, false);
        let settings = Settings { transport, ..Settings::new(Rank::new(1), 2, address, secret()) };
        let mut fabric = Fabric::join(hasty(settings)).expect("joins");
        wait_until_ready(&mut victim);
        let reason = kill(victim, &mut fabric, 0);
        assert!(reason.contains("rank 0 hosts the store"), "{reason}");
    }
}
