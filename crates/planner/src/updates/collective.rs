//! All-reduce: a tree for the present bandwidths against a ring and recursive halving-doubling.

use laxity_interface::{Bytes, Span, Time};
use laxity_topology::{NodeId, Path, RouteError, Topology};

use crate::{error::PlanError, network::Network};

/// A way to sum and share among hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Collective {
    /// Parts go round: 2(n−1) steps of 1/n of the data.
    Ring,
    /// Pairs exchange half, a quarter, … and back: 2·log₂ n steps.
    HalvingDoubling,
    /// Sums go up a tree and come down again, in chunks one behind the other.
    Tree(Tree),
}

/// Who sends its sum to whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The host at the top.
    pub root: NodeId,
    /// The host above each host, in the order in which hosts were given; nothing for the root.
    pub parents: Vec<Option<NodeId>>,
    /// How many hosts may send to one.
    pub fan_in: usize,
    /// How many links of the tree lie between the root and the farthest host.
    pub depth: u32,
    /// Into how many chunks the data is cut.
    pub chunks: u32,
}

/// How long a way is expected to take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prediction {
    /// The way.
    pub collective: Collective,
    /// How long.
    pub takes: Span,
}

/// The fastest way, and what the others would take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Ring, halving-doubling and the best tree, fastest first.
    pub predictions: Vec<Prediction>,
}

impl Choice {
    /// The fastest.
    pub fn best(&self) -> &Prediction {
        &self.predictions[0]
    }
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = |way: &Collective| match way {
            Collective::Ring => "ring".to_owned(),
            Collective::HalvingDoubling => "halving-doubling".to_owned(),
            Collective::Tree(tree) => format!("tree below host {}", tree.root),
        };
        let (best, rest) = self.predictions.split_first().expect("three ways are compared");
        write!(f, "{} is fastest with {}", name(&best.collective), best.takes)?;
        for one in rest {
            write!(f, "; {} would take {}", name(&one.collective), one.takes)?;
        }
        Ok(())
    }
}

/// What is asked.
struct Question<'a, R> {
    net: &'a Topology,
    /// What is left of each link, in bits per second.
    left: Vec<u64>,
    hosts: &'a [NodeId],
    size: f64,
    route: R,
}

/// Chooses how to all-reduce `size` bytes among hosts at the bandwidths that they have now.
///
/// A step takes as long as its slowest link, on which all its transfers share, and the delay of its
/// longest path. Trees are tried below every host, with the faster hosts nearer to the top, with
/// several fan-ins and numbers of chunks: a slow host is then a leaf, which sends and receives the
/// data once, where a ring passes it twice through every host.
pub fn all_reduce(
    now: Time,
    net: &Topology,
    network: &Network,
    hosts: &[NodeId],
    size: Bytes,
    route: impl Fn(NodeId, NodeId) -> Result<Path, RouteError>,
) -> Result<Choice, PlanError> {
    if hosts.len() < 2 {
        return Err(PlanError::TooFewHosts { given: hosts.len() });
    }
    let left = network.left(now).iter().map(|rate| rate.as_bps()).collect();
    let question = Question { net, left, hosts, size: size.get() as f64 * 8.0, route };
    let (tree, tree_takes) = best_tree(&question)?;
    let mut predictions = [
        (Collective::Ring, ring(&question)?),
        (Collective::HalvingDoubling, halving_doubling(&question)?),
        (Collective::Tree(tree), tree_takes),
    ]
    .map(|(collective, secs)| Prediction { collective, takes: Span::from_secs_f64(secs) });
    predictions.sort_by_key(|one| one.takes);
    Ok(Choice { predictions: predictions.into() })
}

impl<R: Fn(NodeId, NodeId) -> Result<Path, RouteError>> Question<'_, R> {
    /// How long it takes, in seconds, when these pairs send `bits` each at the same time.
    fn step(&self, pairs: &[(NodeId, NodeId)], bits: f64) -> Result<f64, PlanError> {
        let mut count = vec![0u32; self.left.len()];
        let mut delay = Span::ZERO;
        for (from, to) in pairs {
            let path = (self.route)(*from, *to)?;
            delay = delay.max(path.iter().map(|link| self.net.link(*link).delay).sum());
            for link in path.iter() {
                count[link.index()] += 1;
            }
        }
        let busy = count.iter().zip(&self.left).filter(|(count, _)| **count > 0);
        let slowest = busy.map(|(count, left)| f64::from(*count) * bits / *left as f64);
        Ok(slowest.fold(0.0, f64::max) + delay.as_secs_f64())
    }

    /// What a host can send to another now.
    fn rate(&self, from: NodeId, to: NodeId) -> Result<u64, PlanError> {
        let path = (self.route)(from, to)?;
        Ok(path.iter().map(|link| self.left[link.index()]).min().unwrap_or(0))
    }
}

fn ring<R: Fn(NodeId, NodeId) -> Result<Path, RouteError>>(
    question: &Question<'_, R>,
) -> Result<f64, PlanError> {
    let hosts = question.hosts;
    let n = hosts.len();
    let pairs: Vec<_> = (0..n).map(|at| (hosts[at], hosts[(at + 1) % n])).collect();
    let step = question.step(&pairs, question.size / n as f64)?;
    Ok(step * 2.0 * (n - 1) as f64)
}

fn halving_doubling<R: Fn(NodeId, NodeId) -> Result<Path, RouteError>>(
    question: &Question<'_, R>,
) -> Result<f64, PlanError> {
    let hosts = question.hosts;
    let power = 1 << hosts.len().ilog2();
    // Hosts beyond a power of two hand their data to a partner first and get the sum at the end.
    let extra: Vec<_> = hosts[power..].iter().copied().zip(hosts.iter().copied()).collect();
    let mut secs = 0.0;
    if !extra.is_empty() {
        let back: Vec<_> = extra.iter().map(|(a, b)| (*b, *a)).collect();
        secs += question.step(&extra, question.size)? + question.step(&back, question.size)?;
    }
    let (mut distance, mut bits) = (power / 2, question.size / 2.0);
    while distance > 0 {
        let pairs: Vec<_> = (0..power).map(|at| (hosts[at], hosts[at ^ distance])).collect();
        // Once on the way down and once on the way back.
        secs += 2.0 * question.step(&pairs, bits)?;
        (distance, bits) = (distance / 2, bits / 2.0);
    }
    Ok(secs)
}

fn best_tree<R: Fn(NodeId, NodeId) -> Result<Path, RouteError>>(
    question: &Question<'_, R>,
) -> Result<(Tree, f64), PlanError> {
    let hosts = question.hosts;
    let mut best: Option<(Tree, f64)> = None;
    for root in hosts {
        let mut rest = Vec::new();
        for (at, host) in hosts.iter().enumerate().filter(|(_, host)| *host != root) {
            let both = question.rate(*host, *root)?.min(question.rate(*root, *host)?);
            rest.push((std::cmp::Reverse(both), at));
        }
        rest.sort_unstable();
        let line: Vec<_> =
            [*root].into_iter().chain(rest.iter().map(|(_, at)| hosts[*at])).collect();
        for fan_in in [1, 2, 3, 4, 8, hosts.len() - 1] {
            if fan_in >= hosts.len() {
                continue;
            }
            let above = |place: usize| (place - 1) / fan_in;
            let edges = || (1..line.len()).map(|place| (line[place], line[above(place)]));
            let both: Vec<_> = edges().chain(edges().map(|(a, b)| (b, a))).collect();
            let mut depth = vec![0u32; line.len()];
            for place in 1..line.len() {
                depth[place] = depth[above(place)] + 1;
            }
            let depth = depth.last().copied().unwrap_or(0);
            for chunks in [1u32, 4, 16, 64, 256] {
                let step = question.step(&both, question.size / f64::from(chunks))?;
                // Up and down, the chunks one behind the other.
                let secs = step * f64::from(chunks + 2 * depth - 1);
                if best.as_ref().is_none_or(|(_, least)| secs < *least) {
                    let parent = |host: &NodeId| edges().find(|(a, _)| a == host).map(|(_, b)| b);
                    let parents = hosts.iter().map(parent).collect();
                    best = Some((Tree { root: *root, parents, fan_in, depth, chunks }, secs));
                }
            }
        }
    }
    Ok(best.expect("two hosts make a tree"))
}
