//! Figure 8: messages over links by class of bandwidth.

use laxity_flowsim::{
    Reservation,
    updates::{Cluster, Rules, Stop, Story, Transfers, run},
};
use laxity_interface::{Bytes, Rate, Span, Time};
use laxity_report::{
    Row,
    chart::{Axis, BarChart, BarSeries},
};
use laxity_topology::{LinkId, NodeId, Topology};

use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

#[derive(Debug)]
pub(super) struct Links;

/// What contention leaves of a host's 10 Gbit/s, in Gbit/s.
const CLASSES: [f64; 4] = [10.0, 5.0, 2.5, 1.0];

/// What contention does lasts this long.
const EPISODE: Span = Span::from_secs(5);

impl Experiment for Links {
    fn name(&self) -> &'static str {
        "mlfabric-links"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        let workers = options.pick(16, 30);
        let seconds = options.pick(60, 240);
        let until = Time::ZERO + Span::from_secs(seconds);
        let cluster = cluster(workers, until, options.seed)?;
        options.progress.tell("plain parameter server", 0, 2);
        let plain = run(&cluster, &Transfers::Together, Stop::at(until))?;
        options.progress.tell("planned", 1, 2);
        let rules = Rules {
            staleness: Some(3 * u64::from(workers)),
            patience: 4.0,
            aggregate: true,
            replica: None,
        };
        let planned = run(&cluster, &Transfers::Planned(rules), Stop::at(until))?;
        let mut findings = Findings::new();
        let shares = [rates(&cluster, &plain), rates(&cluster, &planned)];
        for (at, gbps) in CLASSES.iter().enumerate() {
            let [plain, planned] = &shares;
            findings.row(
                Row::new()
                    .with("link_gbps", *gbps)
                    .with("messages_per_link_minute", planned[at])
                    .with("plain_messages_per_link_minute", plain[at]),
            );
        }
        judge(&mut findings, &shares, (&plain, &planned), seconds);
        findings.chose(format!(
            "figure 8 gives no setting: {workers} workers and 4 idle hosts behind 10 Gbit/s; contention \
             leaves a host 10, 5, 2.5 or 1 Gbit/s, drawn anew every {EPISODE}"
        ));
        findings.chose(format!(
            "updates and models of 100 MB, 0.5 s of computing, staleness at most {}, an update that takes \
             four times the usual time is left out; {seconds} s",
            3 * workers
        ));
        findings.differs(
            "the paper counts messages of one training run and prints a histogram without numbers; here \
             updates and sums (not models) that cross a host's link are counted by what the link has at that \
             moment, per minute in which it has that",
        );
        let chart = BarChart::new("Messages over links by bandwidth")
            .subtitle(
                "updates and sums on each host's links, by what contention leaves of 10 Gbit/s",
            )
            .categories(CLASSES.map(|gbps| format!("{gbps} Gb/s")))
            .y(Axis::linear("messages on a link in a minute"))
            .series(BarSeries::new("plain parameter server", shares[0].iter().copied()))
            .series(BarSeries::new("planned", shares[1].iter().copied()));
        findings.chart("messages", chart.to_svg());
        Ok(findings)
    }
}

/// A cluster with contention.
fn cluster(workers: u32, until: Time, seed: u64) -> Result<Cluster, ReproduceError> {
    let helpers = 4;
    let full = Rate::from_gbps(10);
    let net = Topology::star(workers + helpers + 1, full, Span::ZERO)?;
    let hosts = net.hosts().to_vec();
    let ends: Vec<(NodeId, NodeId)> = net.links().iter().map(|link| (link.from, link.to)).collect();
    let mut cluster =
        Cluster::new(net, hosts[(workers + helpers) as usize], &hosts[..workers as usize]);
    cluster.helpers = hosts[workers as usize..(workers + helpers) as usize].to_vec();
    cluster.update = Bytes::new(100_000_000);
    cluster.model = cluster.update;
    cluster.compute = vec![Span::from_ms(500); workers as usize];
    let mut random = Random(seed);
    for host in &hosts[..(workers + helpers) as usize] {
        let mut from = Time::ZERO;
        while from < until {
            let class = random.next() as usize % CLASSES.len();
            let rate = Rate::bps(full.as_bps() - (CLASSES[class] * 1e9) as u64);
            let links = ends.iter().enumerate().filter(|(_, (a, b))| a == host || b == host);
            for (link, _) in links.filter(|_| class > 0) {
                let (link, until) = (LinkId(link as u32), from + EPISODE);
                cluster.reservations.push(Reservation { link, from, until, rate });
            }
            from += EPISODE;
        }
    }
    Ok(cluster)
}

/// The class of a link of a worker or helper at a moment.
fn class(cluster: &Cluster, link: LinkId, at: Time) -> usize {
    let mut taken = cluster
        .reservations
        .iter()
        .filter(|reserved| reserved.link == link && reserved.from <= at && at < reserved.until);
    let left = taken.next().map_or(10.0, |reserved| 10.0 - reserved.rate.as_gbps_f64());
    CLASSES.iter().position(|class| (class - left).abs() < 0.01).unwrap_or(0)
}

/// Messages on a link in a minute during which it is of each class; links of the server do not count.
fn rates(cluster: &Cluster, story: &Story) -> Vec<f64> {
    let (mut messages, mut minutes) = ([0.0; 4], [0.0; 4]);
    let links = cluster.net.links().iter().enumerate();
    let links = links.filter(|(_, link)| link.from != cluster.server && link.to != cluster.server);
    let links: Vec<_> = links.map(|(at, _)| LinkId(at as u32)).collect();
    for link in &links {
        let mut at = Time::ZERO;
        while at < story.end {
            minutes[class(cluster, *link, at)] += EPISODE.as_secs_f64() / 60.0;
            at += EPISODE;
        }
    }
    for (at, link) in story.crossed.iter().filter(|(_, link)| links.contains(link)) {
        messages[class(cluster, *link, *at)] += 1.0;
    }
    messages.iter().zip(minutes).map(|(count, minutes)| count / f64::max(minutes, 1e-9)).collect()
}

fn judge(
    findings: &mut Findings,
    [plain, planned]: &[Vec<f64>; 2],
    (before, after): (&Story, &Story),
    seconds: u64,
) {
    let falls = planned.windows(2).all(|pair| pair[1] <= pair[0] * 1.05);
    let show = |list: &[f64]| list.iter().map(|x| format!("{x:.0}")).collect::<Vec<_>>().join(", ");
    findings.claim(
        "slow links carry fewer messages",
        "fewer",
        format!("{} on links of 10, 5, 2.5, 1 Gbit/s", show(planned)),
        falls && planned[3] < planned[0],
    );
    let relative = |list: &[f64]| list[3] / list[0].max(1.0);
    findings.claim(
        "the rules move messages away from slow links more than plain transfers do",
        "more",
        format!(
            "the slowest carry {:.2} of the fastest, plain {:.2}",
            relative(planned),
            relative(plain)
        ),
        relative(planned) < relative(plain),
    );
    let rate = |story: &Story| story.commits.len() as f64 / seconds as f64;
    findings.claim(
        "more updates are committed in the same time",
        "faster",
        format!("{:.1} instead of {:.1} a second", rate(after), rate(before)),
        rate(after) > rate(before),
    );
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) >> 11
    }
}
