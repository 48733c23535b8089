//! Which steps an operation is carried out by.

use std::fmt;

use laxity_interface::{Bytes, Rate, Span};
use laxity_protocol::ElementType;

use super::tree;
use crate::{
    element::accumulator_of,
    options::{Algorithm, OnLoss, Operation, Options},
    rank::Group,
};

/// What is known of the network. All ranks of a group must hold the same, or they would choose
/// differently; `Communicator::measure` sees to that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Network {
    /// From submitting a small parcel until its receiver has it.
    pub latency: Span,
    /// What one rank sends to one other while it receives from one: a round of a ring.
    pub bandwidth: Rate,
    /// What one rank receives while all others send to it: a stage of a transpose. Less, where queues
    /// overflow and what was lost has to be sent again.
    pub crowded: Rate,
    /// What one more parcel costs a rank, beside its bytes.
    pub parcel: Span,
}

impl Default for Network {
    /// An ordinary Ethernet: 50 µs, 10 Gbit/s, three quarters of that under incast, 5 µs.
    fn default() -> Self {
        Self {
            latency: Span::from_us(50),
            bandwidth: Rate::from_gbps(10),
            crowded: Rate::from_mbps(7500),
            parcel: Span::from_us(5),
        }
    }
}

/// How much longer bytes take where whole parts are exchanged and folded one after the other, and not
/// segment by segment: links wait for processors. `laxity bench allreduce` found 1.3 for 25 MB.
const IN_ONE_PIECE: f64 = 1.3;

/// Why an algorithm was taken.
#[derive(Clone, PartialEq, Debug)]
pub enum Reason {
    /// The caller asked for it.
    Asked,
    /// There is only one way to do it.
    OnlyWay,
    /// Parts or ranks may be lost: a shard with one owner loses least, and one rank decides.
    MayLose,
    /// It is expected to be the fastest.
    Fastest {
        /// What each is expected to take, fastest first.
        expected: Vec<(&'static str, Span)>,
    },
    /// It is long, so that a chain that sends everything once beats a tree with fewer steps.
    Long,
    /// It is short, so that the number of steps decides.
    Short,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("the options ask for it"),
            Self::OnlyWay => f.write_str("there is no other way"),
            Self::MayLose => f.write_str(
                "parts or ranks may be lost: a loss then touches one pair and one shard only",
            ),
            Self::Fastest { expected } => {
                let texts = expected.iter().map(|(name, takes)| format!("{name} {takes}"));
                write!(f, "expected times: {}", texts.collect::<Vec<_>>().join(", "))
            }
            Self::Long => f.write_str("it is long: everything is sent once, along a chain"),
            Self::Short => f.write_str("it is short: the number of steps decides"),
        }
    }
}

/// How an operation on `bytes` of `element` in a group is carried out, and why.
///
/// What was asked for is done, except where it cannot be: operations that may lose parts or ranks
/// always have shards with owners.
pub fn choose(
    operation: Operation,
    group: &Group,
    element: ElementType,
    bytes: Bytes,
    options: &Options,
    network: &Network,
) -> (Algorithm, Reason) {
    let size = group.size();
    let may_lose = options.on_loss != OnLoss::Fail
        || (operation.reduce_op().is_some() && options.importance.is_lossy());
    let ring_or_direct = matches!(operation, Operation::ReduceScatter(_) | Operation::AllGather);
    let fits = match (&options.algorithm, operation) {
        (Algorithm::Auto, _) => false,
        (_, Operation::AllReduce(_)) => true,
        (Algorithm::Transpose | Algorithm::Ring, _) => ring_or_direct,
        (Algorithm::Tree(parents), Operation::Broadcast(root) | Operation::Reduce(_, root)) => {
            group.position(root).is_some_and(|root| parents.get(root) == Some(&None))
        }
        _ => false,
    };
    match operation {
        Operation::Gather(_)
        | Operation::Scatter(_)
        | Operation::AllToAll
        | Operation::Barrier
        | Operation::Send(..)
        | Operation::Recv(..) => (Algorithm::Transpose, Reason::OnlyWay),
        _ if may_lose => (Algorithm::Transpose, Reason::MayLose),
        _ if fits => (options.algorithm.clone(), Reason::Asked),
        Operation::Broadcast(root) | Operation::Reduce(_, root) => {
            let root = group.position(root).unwrap_or(0);
            // A chain has n−1 steps, in segments; a tree sends everything log n times.
            let long = network.bandwidth.time_for(bytes) > network.latency * size as u64;
            if long && size > 2 {
                (Algorithm::Tree(tree::chain(size, root).into()), Reason::Long)
            } else {
                (Algorithm::Tree(tree::binomial(size, root).into()), Reason::Short)
            }
        }
        _ => fastest(operation, size, element, bytes, network),
    }
}

/// The fastest by a model in which a step costs a latency, each parcel its own price, and bytes
/// their time on the link, by whether one or all send to a rank at a time.
fn fastest(
    operation: Operation,
    size: usize,
    element: ElementType,
    bytes: Bytes,
    network: &Network,
) -> (Algorithm, Reason) {
    let (n, secs) = (size as f64, Span::as_secs_f64);
    let (latency, parcel) = (secs(network.latency), secs(network.parcel));
    let whole = secs(network.bandwidth.time_for(bytes));
    // Sums on their way are wider than what they are sums of.
    let wide = operation
        .reduce_op()
        .map_or(1.0, |op| accumulator_of(element, op, false).size() as f64 / element.size() as f64);
    let log = f64::from(size.next_power_of_two().ilog2());
    let share = (n - 1.0) / n;
    let (part, crowded) = (whole * share, secs(network.crowded.time_for(bytes)) * share);
    let (odd_bytes, odd_steps) =
        if size.is_power_of_two() { (0.0, 0.0) } else { (whole * 2.0, 2.0) };
    let both = matches!(operation, Operation::AllReduce(_));
    let stages = if both { 2.0 } else { 1.0 };
    let moved_wide = if operation.reduce_op().is_some() { wide } else { 1.0 };
    let last = if both { 1.0 } else { 0.0 };
    let mut ways = vec![
        (Algorithm::Transpose, "transpose", stages * (latency + (n - 1.0) * parcel + crowded)),
        (
            Algorithm::Ring,
            "ring",
            stages * (n - 1.0) * (latency + parcel) + part * (moved_wide + last),
        ),
    ];
    if both {
        let bytes = (part * (wide + 1.0) + odd_bytes) * IN_ONE_PIECE;
        let time = (2.0 * log + odd_steps) * (latency + parcel) + bytes;
        ways.push((Algorithm::HalvingDoubling, "halving-doubling", time));
    }
    // Which is listed first wins where times are equal, whatever the last bit of a sum is.
    ways.sort_by(|a, b| (a.2 * 1e12).round().total_cmp(&(b.2 * 1e12).round()));
    let expected = ways.iter().map(|(_, name, secs)| (*name, Span::from_secs_f64(*secs))).collect();
    let best = ways.swap_remove(0).0;
    (best, Reason::Fastest { expected })
}

#[cfg(test)]
mod tests {
    use laxity_interface::Fraction;

    use super::*;
    use crate::options::ReduceOp;

    fn chosen(ranks: u32, bytes: u64, options: &Options) -> (Algorithm, Reason) {
        let sum = Operation::AllReduce(ReduceOp::Sum);
        let group = Group::world(ranks);
        choose(sum, &group, ElementType::F32, Bytes::new(bytes), options, &Network::default())
    }

    #[test]
    fn many_ranks_with_little_data_go_in_pairs() {
        let options = Options::default();
        assert_eq!(chosen(64, 64, &options).0, Algorithm::HalvingDoubling);
        // Among few ranks two steps are the fewest.
        assert_eq!(chosen(8, 64, &options).0, Algorithm::Transpose);
    }

    #[test]
    fn much_data_goes_round_unless_a_crowd_is_as_fast() {
        let options = Options::default();
        let (ring, reason) = chosen(8, 25_000_000, &options);
        assert_eq!(ring, Algorithm::Ring);
        assert!(reason.to_string().starts_with("expected times: ring"), "{reason}");
        // Where nothing is lost when all send at once, fewer steps are better.
        let calm = Network { crowded: Rate::from_gbps(10), ..Network::default() };
        let all = |bytes, network| {
            let sum = Operation::AllReduce(ReduceOp::Sum);
            let (group, bytes) = (Group::world(8), Bytes::new(bytes));
            choose(sum, &group, ElementType::F32, bytes, &options, network).0
        };
        assert_eq!(all(25_000_000, &calm), Algorithm::Transpose);
        // A slow network makes little data much, a long one makes much data little.
        let slow = Network { bandwidth: Rate::from_mbps(1), crowded: Rate::bps(500_000), ..calm };
        assert_eq!(all(10_000, &slow), Algorithm::Ring);
        let long = Network { latency: Span::from_ms(50), ..Network::default() };
        assert_ne!(all(1_000_000, &long), Algorithm::Ring);
    }

    #[test]
    fn halves_do_not_go_where_sums_travel_twice_as_wide() {
        let sum = Operation::AllReduce(ReduceOp::Sum);
        let (group, bytes) = (Group::world(8), Bytes::new(25_000_000));
        let options = Options::default();
        let of = |element| choose(sum, &group, element, bytes, &options, &Network::default()).0;
        assert_eq!(of(ElementType::F16), Algorithm::Transpose);
        assert_eq!(of(ElementType::F32), Algorithm::Ring);
    }

    #[test]
    fn what_may_lose_has_owners_whatever_was_asked() {
        let lossy = Options {
            algorithm: Algorithm::Ring,
            ..Options::at_least(Fraction::new(0.9).unwrap())
        };
        assert_eq!(chosen(8, 1000, &lossy), (Algorithm::Transpose, Reason::MayLose));
        let ring = Options { algorithm: Algorithm::Ring, ..Options::default() };
        assert_eq!(chosen(8, 1000, &ring), (Algorithm::Ring, Reason::Asked));
    }
}
