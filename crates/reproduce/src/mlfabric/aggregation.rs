//! Figures 2 and 6: updates that are summed on the way.

use laxity_flowsim::updates::{Cluster, Rules, Stop, Story, Transfers, run};
use laxity_interface::{Bytes, Rate, Span, Time};
use laxity_report::{
    Row,
    chart::{Axis, BarChart, BarSeries},
};
use laxity_topology::Topology;

use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

#[derive(Debug)]
pub(super) struct Aggregation;

/// Updates of the example.
const UPDATES: u32 = 6;

impl Experiment for Aggregation {
    fn name(&self) -> &'static str {
        "mlfabric-aggregation"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        let cluster = figure_six()?;
        let mut findings = Findings::new();
        let direct = run(&cluster, &Transfers::ordered(), Stop::rounds(1))?;
        let summed = run(&cluster, &planned(), Stop::rounds(1))?;
        for update in 0..UPDATES as usize {
            let of = |story: &Story| {
                let one = story.commits.iter().find(|one| one.worker == update);
                one.map(|one| (one.at.since(Time::ZERO).as_secs_f64(), one.summed.is_some()))
            };
            let way = of(&summed).map(|(_, sum)| if sum { "summed" } else { "direct" });
            let paper = match update {
                0..3 => "direct",
                3 | 4 => "summed",
                _ => "not in that sum",
            };
            findings.row(
                Row::new()
                    .with("update", format!("u{}", update + 1))
                    .with("way", way.unwrap_or("lost"))
                    .with("paper_way", paper)
                    .with("commit_s", of(&summed).map(|(at, _)| at))
                    .with("direct_commit_s", of(&direct).map(|(at, _)| at)),
            );
        }
        judge(&mut findings, &direct, &summed);
        let (servers, gains) = more(options, &mut findings)?;
        findings.chose(
            "figure 6 gives no sizes: updates take 1 s each, and the host that sums receives at 10/12 of \
             that rate, so that u4 and u5 are there after 2.4 s and u6 would be after 3.6 s, when u1 to u3 \
             have reached the server after 3 s",
        );
        findings.chose(
            "figure 2 is a cluster of the same kind: N updates at once, with 0 to 4 idle hosts; it shows the \
             load that sums take off the server's link",
        );
        let chart = BarChart::new("Summing updates on the way")
            .subtitle("mean commit time over all direct; 16 updates at once")
            .categories(servers)
            .x_caption("idle hosts that may sum")
            .y(Axis::linear("mean commit over direct"))
            .series(BarSeries::new("planned", gains))
            .reference(1.0, "all direct");
        findings.chart("helpers", chart.to_svg());
        Ok(findings)
    }
}

fn planned() -> Transfers {
    Transfers::Planned(Rules { aggregate: true, ..Rules::default() })
}

/// Six workers, a server, and an idle host that receives a little more slowly.
fn figure_six() -> Result<Cluster, ReproduceError> {
    let mut net = Topology::builder();
    let hosts: Vec<_> = (0..UPDATES + 2).map(|at| net.host(format!("h{at}"))).collect();
    let switch = net.switch("switch");
    let rate = Rate::from_mbps(80);
    for (at, host) in hosts.iter().enumerate() {
        let down = if at == 7 { Rate::bps(rate.as_bps() * 10 / 12) } else { rate };
        net.link(*host, switch, rate, Span::ZERO);
        net.link(switch, *host, down, Span::ZERO);
    }
    let mut cluster = Cluster::new(net.build()?, hosts[0], &hosts[1..7]);
    cluster.helpers = vec![hosts[7]];
    cluster.update = Bytes::new(10_000_000);
    Ok(cluster)
}

fn judge(findings: &mut Findings, direct: &Story, summed: &Story) {
    let together: Vec<_> = summed.commits.iter().filter(|one| one.summed.is_some()).collect();
    let mut names: Vec<_> = together.iter().map(|one| format!("u{}", one.worker + 1)).collect();
    names.sort();
    findings.claim(
        "u1 to u3 go direct, u4 and u5 are summed, u6 stays out of their sum",
        "{u4, u5} summed",
        format!("{{{}}} summed", names.join(", ")),
        names == ["u4", "u5"],
    );
    let (before, after) = (direct.mean_wait().as_secs_f64(), summed.mean_wait().as_secs_f64());
    findings.claim(
        "summing brings commits forward",
        "sooner",
        format!("mean commit {after:.2} s instead of {before:.2} s"),
        after < before,
    );
}

/// Sixteen updates at once with more and more idle hosts.
fn more(
    options: &Options,
    findings: &mut Findings,
) -> Result<(Vec<String>, Vec<f64>), ReproduceError> {
    let workers = options.pick(16, 24);
    let mut gains = Vec::new();
    let mut loads = Vec::new();
    for helpers in 0..=4u32 {
        options.progress.tell("idle hosts", u64::from(helpers), 5);
        let net = Topology::star(workers + helpers + 1, Rate::from_mbps(80), Span::ZERO)?;
        let hosts = net.hosts().to_vec();
        let server = hosts[workers as usize];
        let mut cluster = Cluster::new(net, server, &hosts[..workers as usize]);
        cluster.helpers = hosts[workers as usize + 1..].to_vec();
        cluster.update = Bytes::new(10_000_000);
        let transfers = if helpers == 0 { Transfers::ordered() } else { planned() };
        let story = run(&cluster, &transfers, Stop::rounds(1))?;
        let links = cluster.net.links().iter().zip(&story.messages);
        let load: u64 =
            links.filter(|(link, _)| link.to == server).map(|(_, messages)| messages).sum();
        let mean = story.mean_wait().as_secs_f64();
        findings.row(
            Row::new()
                .with("update", format!("{workers} at once, {helpers} idle hosts"))
                .with("mean_commit_s", mean)
                .with("messages_into_server", load),
        );
        gains.push(mean);
        loads.push(load);
    }
    let direct = gains[0];
    gains.iter_mut().for_each(|mean| *mean /= direct);
    findings.claim(
        "sums take load off the server's link",
        "fewer messages",
        format!("{} instead of {} messages with four idle hosts", loads[4], loads[0]),
        loads[4] < loads[0],
    );
    Ok(((0..=4).map(|helpers: u32| helpers.to_string()).collect(), gains))
}
