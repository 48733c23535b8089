//! Asynchronous training by the planner's rules: what a pencil gives.

use laxity_flowsim::{
    Reservation,
    updates::{Cluster, Rules, Stop, Transfers, run},
};
use laxity_interface::{Bytes, Rate, Span, Time};
use laxity_planner::updates::UpdateReason;
use laxity_topology::{LinkId, Topology};

/// The last host is the server; an update of 10 MB takes a second at 80 Mbit/s.
fn cluster(workers: u32, more: u32) -> Cluster {
    let net = Topology::star(workers + more + 1, Rate::from_mbps(80), Span::ZERO).unwrap();
    let hosts = net.hosts().to_vec();
    let (workers, rest) = hosts.split_at(workers as usize);
    let mut cluster = Cluster::new(net, rest[more as usize], workers);
    cluster.helpers = rest[..more as usize].to_vec();
    cluster.update = Bytes::new(10_000_000);
    cluster
}

fn secs(seconds: u64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

#[test]
fn one_after_the_other_halves_the_wait() {
    for workers in [2, 5, 16] {
        let cluster = cluster(workers, 0);
        let wait = |transfers| run(&cluster, &transfers, Stop::rounds(1)).unwrap().mean_wait();
        let all = Span::from_secs(u64::from(workers));
        assert_eq!(wait(Transfers::Together), all);
        let ordered = wait(Transfers::ordered());
        assert_eq!(ordered, Span::from_ms(500 * (u64::from(workers) + 1)));
    }
}

/// Each worker's update waits for one commit of every other in the mean, whatever the order and
/// however fast each worker is: the sum over workers of (all commits − its own) / all commits.
#[test]
fn the_mean_delay_of_n_workers_is_n_minus_one() {
    let mut cluster = cluster(6, 0);
    cluster.compute = (0..6).map(|w| Span::from_ms(700 + 900 * w)).collect();
    for transfers in [Transfers::Together, Transfers::NodeOrdered, Transfers::ordered()] {
        let story = run(&cluster, &transfers, Stop::at(secs(2000))).unwrap();
        assert!(story.commits.len() > 500, "{}", story.commits.len());
        assert!((story.mean_delay() - 5.0).abs() < 0.1, "{transfers:?}: {}", story.mean_delay());
    }
}

#[test]
fn a_helper_sums_what_would_have_to_wait() {
    // Three updates reach the server in 3 s; meanwhile two more are summed and arrive at 4 s.
    let cluster = cluster(5, 1);
    let rules = Rules { aggregate: true, ..Rules::default() };
    let story = run(&cluster, &Transfers::Planned(rules), Stop::rounds(1)).unwrap();
    let at: Vec<_> = story.commits.iter().map(|one| one.at).collect();
    // Two direct, then a sum of two that was ready at 2 s, then the fifth: better than three direct.
    let alone = run(&cluster, &Transfers::ordered(), Stop::rounds(1)).unwrap();
    assert!(story.mean_wait() < alone.mean_wait(), "{at:?}");
    let summed: Vec<_> = story.commits.iter().filter(|one| one.summed.is_some()).collect();
    assert!(summed.len() >= 2, "{at:?}");
    assert!(summed.iter().all(|one| one.at == summed[0].at));
    // A sum is one message into the server: fewer than five arrive.
    let into_server = |story: &laxity_flowsim::updates::Story| {
        let links = cluster.net.links().iter().zip(&story.messages);
        links.filter(|(link, _)| link.to == cluster.server).map(|(_, count)| count).sum::<u64>()
    };
    assert_eq!(into_server(&alone), 5);
    assert_eq!(into_server(&story), 6 - summed.len() as u64);
}

/// What the planner predicts for figure 6 is what happens: 1, 2, 3, then a sum of two at 4, then 5.
#[test]
fn a_sum_waits_for_those_before_it() {
    let mut net = Topology::builder();
    let hosts: Vec<_> = (0..8).map(|host| net.host(format!("h{host}"))).collect();
    let switch = net.switch("switch");
    for (at, host) in hosts.iter().enumerate() {
        net.link(*host, switch, Rate::from_mbps(80), Span::ZERO);
        let down = if at == 7 { 80_000_000 * 10 / 12 } else { 80_000_000 };
        net.link(switch, *host, Rate::bps(down), Span::ZERO);
    }
    let mut cluster = Cluster::new(net.build().unwrap(), hosts[0], &hosts[1..7]);
    cluster.update = Bytes::new(10_000_000);
    cluster.helpers = vec![hosts[7]];
    let rules = Rules { aggregate: true, ..Rules::default() };
    let story = run(&cluster, &Transfers::Planned(rules), Stop::rounds(1)).unwrap();
    let commits: Vec<_> = story.commits.iter().map(|one| (one.worker, one.at)).collect();
    let expected = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 4), (5, 5)];
    assert_eq!(commits, expected.map(|(worker, at)| (worker, secs(at))));
}

#[test]
fn no_commit_is_older_than_the_bound() {
    let mut cluster = cluster(8, 0);
    // Updates of a tenth of a second: a worker that computes for 5 s misses dozens of others.
    cluster.update = Bytes::new(1_000_000);
    cluster.compute = (0..8).map(|w| Span::from_ms(100 + 2500 * (w % 3))).collect();
    let rules = Rules { staleness: Some(9), ..Rules::default() };
    let story = run(&cluster, &Transfers::Planned(rules), Stop::at(secs(300))).unwrap();
    assert!(story.worst_delay() <= 9, "{}", story.worst_delay());
    assert!(!story.dropped.is_empty());
    let without = run(&cluster, &Transfers::ordered(), Stop::at(secs(300))).unwrap();
    assert!(without.worst_delay() > 9, "the bound must have something to do");
    assert!(without.dropped.is_empty());
}

#[test]
fn a_worker_behind_a_slow_link_is_left_out() {
    // Figure 5: one worker has a hundredth of the bandwidth.
    let mut cluster = cluster(4, 0);
    let slow = cluster.workers[0];
    let links = cluster.net.links().iter().enumerate();
    let links: Vec<_> = links.filter(|(_, link)| link.from == slow).collect();
    for (at, _) in links {
        cluster.reservations.push(Reservation {
            link: LinkId(at as u32),
            from: Time::ZERO,
            until: Time::MAX,
            rate: Rate::bps(79_200_000),
        });
    }
    cluster.compute = vec![Span::from_secs(1); 4];
    let rules = Rules { staleness: Some(20), patience: 10.0, ..Rules::default() };
    let story = run(&cluster, &Transfers::Planned(rules), Stop::at(secs(60))).unwrap();
    assert!(story.commits.iter().all(|one| one.worker != 0));
    let held = |dropped: &&laxity_flowsim::updates::Dropped| {
        dropped.worker == 0 && matches!(dropped.reason, UpdateReason::HoldsUp { .. })
    };
    assert!(story.dropped.iter().filter(held).count() > 10);
}

#[test]
fn the_replica_stays_within_its_bound() {
    let mut cluster = cluster(4, 1);
    cluster.replica = cluster.helpers.pop();
    cluster.compute = vec![Span::from_ms(500); 4];
    // The way to the replica is half as fast as the one to the server.
    let into = cluster.net.links().iter().position(|link| Some(link.to) == cluster.replica);
    cluster.reservations.push(Reservation {
        link: LinkId(into.unwrap() as u32),
        from: Time::ZERO,
        until: Time::MAX,
        rate: Rate::from_mbps(40),
    });
    let planned = |most| {
        let rules = Rules { replica: Some((0.0, most)), ..Rules::default() };
        run(&cluster, &Transfers::Planned(rules), Stop::at(secs(100))).unwrap()
    };
    // Without momentum the bound is the number of updates that are missing, each of norm 1.
    let (tight, loose) = (planned(1.0), planned(8.0));
    assert!(tight.worst_apart() <= 1.0 && loose.worst_apart() <= 8.0);
    assert!(loose.worst_apart() > 1.0, "a looser bound is made use of");
    assert!(tight.copies.iter().any(|copy| copy.held), "the tight one holds commits");
    assert!(loose.commits.len() >= tight.commits.len());
    // Everything that was committed long before the end has been copied.
    let copied: usize = loose.copies.iter().map(|copy| copy.updates).sum();
    assert!(copied + 8 >= loose.commits.len(), "{copied} of {}", loose.commits.len());
}

#[test]
fn the_same_cluster_has_the_same_story() {
    let mut cluster = cluster(6, 2);
    cluster.compute = (0..6).map(|w| Span::from_ms(300 + 77 * w)).collect();
    cluster.model = Bytes::new(5_000_000);
    let rules = Rules { aggregate: true, staleness: Some(30), ..Rules::default() };
    let once = || run(&cluster, &Transfers::Planned(rules.clone()), Stop::rounds(6)).unwrap();
    let story = once();
    assert_eq!(story, once());
    // Every update of every round is committed or dropped.
    assert_eq!(story.commits.len() + story.dropped.len(), 36);
}
