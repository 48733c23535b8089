//! Every result of the four papers, by name.

use crate::family::Family;

/// A result of a paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Its name, which begins with that of its family.
    pub name: &'static str,
    /// The paper.
    pub family: Family,
    /// What is run.
    pub what: &'static str,
    /// What the paper found.
    pub paper: &'static str,
}

impl Entry {
    /// The entry of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        CATALOGUE.iter().find(|entry| entry.name == name)
    }
}

const fn entry(
    family: Family,
    name: &'static str,
    what: &'static str,
    paper: &'static str,
) -> Entry {
    Entry { name, family, what, paper }
}

use Family::{Bounded, Cadentflow, Mlfabric, Netapprox};

/// Every result of the four papers, whether it runs yet or not.
pub const CATALOGUE: &[Entry] = &[
    entry(
        Cadentflow,
        "cadentflow-fig1",
        "2 flows of 500 Mb on 1 Gbit/s, 3 operations of 0.5 s",
        "coflow 2.5 s, objective-aware 2.0 s",
    ),
    entry(
        Cadentflow,
        "cadentflow-training",
        "iteration time of coflow and CadentFlow over TCP, 11 models, 8/8 and 16/16 workers and servers",
        "up to 25 % less (ResNet-v1-200, 8/8); coflow +11 % on CifarNet; never worse than TCP; \
         priority and deadline equal",
    ),
    entry(
        Cadentflow,
        "cadentflow-flexibility",
        "how much later flows may end than they could, in the same settings",
        "Inception-v3: 20 % less time with 9.5 % flexibility",
    ),
    entry(
        Cadentflow,
        "cadentflow-inference",
        "inference with 16 workers and 16 servers",
        "coflow up to +68.5 % (ResNet-v1-101); CadentFlow comparable to TCP",
    ),
    entry(
        Cadentflow,
        "cadentflow-sharing",
        "two jobs of one model that share a link of 60 Gbit/s and need 40 each",
        "coflow up to 46.3 % over deadline CadentFlow (ResNet-v2-50)",
    ),
    entry(
        Bounded,
        "bounded-tail",
        "tail over mean job completion time under DCTCP: RNN, MLP, MF, CNN",
        "1.10, 1.77, 1.93, 1.32",
    ),
    entry(
        Bounded,
        "bounded-tolerance",
        "epochs to converge against the loss rate",
        "epochs unchanged up to x1, no convergence above x2: MLP (15, 55) %, RNN (10, 90) %",
    ),
    entry(
        Bounded,
        "bounded-bounds",
        "tolerance bound per model and per data set",
        "RNN .10 MLP .15 MF .35 CNN .15; RNN1/2 .10/.15 CNN1/2 .15/.15",
    ),
    entry(
        Bounded,
        "bounded-alternatives",
        "job completion time: dropping at the sender with TCP; servers against ring; TCP, UDP, bounded",
        "only the transport helps",
    ),
    entry(
        Bounded,
        "bounded-speedup",
        "speed-up of job completion over TCP for servers and ring; flow completion times of MLP",
        "1.1 to 2.2 times; mean flow completion similar, tail cut",
    ),
    entry(
        Netapprox,
        "netapprox-overall",
        "all-to-all job completion by scheme and maximum loss, two workloads",
        "ATP first; up to 80 % less time; loss 8.8 % against UDP's 35 %",
    ),
    entry(Netapprox, "netapprox-queues", "queue length by scheme", "ATP under one packet"),
    entry(Netapprox, "netapprox-incast", "all to one", "ATP first; pFabric and Aeolus collapse"),
    entry(
        Netapprox,
        "netapprox-timeline",
        "loss, target loss rate, rate and queue over time with moving background",
        "the priority moves 4, 3, 2, 1",
    ),
    entry(
        Netapprox,
        "netapprox-dynamic",
        "DCTCP-ES, fixed target loss rate, fixed priority, full ATP",
        "full best; order as listed",
    ),
    entry(
        Netapprox,
        "netapprox-breakdown",
        "ATP in steps: base, rate control, smallest remaining first, full",
        "steps of up to 42 %, 39 %, 47 %",
    ),
    entry(
        Netapprox,
        "netapprox-coexist",
        "exact jobs beside ATP against beside DCTCP-ES, by share and maximum loss",
        "up to 79 % better",
    ),
    entry(
        Netapprox,
        "netapprox-fairness",
        "a light key-value job beside two heavy Hadoop jobs",
        "full ATP closest to running alone",
    ),
    entry(
        Netapprox,
        "netapprox-topk",
        "top-15 pick-up places against the sampling rate; gradient dropping below a threshold",
        "near 100 % above half",
    ),
    entry(
        Netapprox,
        "netapprox-spark",
        "average of hourly ride distance, error bound swept",
        "21.1 to 54.8 % less time, under 1 % error",
    ),
    entry(
        Netapprox,
        "netapprox-spark-groups",
        "average by key with groups",
        "groups keep every key within its bound",
    ),
    entry(
        Netapprox,
        "netapprox-kafka-flink",
        "one-minute windows, goodput and accuracy",
        "above both schemes that sample at the sender",
    ),
    entry(
        Netapprox,
        "netapprox-pytorch",
        "CIFAR-10 by ring all-reduce, groups by size of gradients",
        "90 % accuracy in 46 against 75 minutes",
    ),
    entry(
        Mlfabric,
        "mlfabric-ordering",
        "concurrent, node-shared and time-shared transfers of updates: mean commit time and delay",
        "time sharing halves the mean delay",
    ),
    entry(
        Mlfabric,
        "mlfabric-aggregation",
        "the examples of figures 2 and 6",
        "u1 to u3 direct, {u4, u5} summed",
    ),
    entry(
        Mlfabric,
        "mlfabric-async",
        "time to a target loss, asynchronous, 3 compute and 3 network contention settings, against \
         plain asynchronous servers",
        "times faster: CS1 1.74 1.23 1.42, CS2 2.96 2.00 2.32, CS3 1.90 1.33 1.42",
    ),
    entry(
        Mlfabric,
        "mlfabric-sync",
        "synchronous training against ring all-reduce and servers under the same settings",
        "faster in dynamic settings",
    ),
    entry(Mlfabric, "mlfabric-lda", "topic models, asynchronous and synchronous", "faster"),
    entry(
        Mlfabric,
        "mlfabric-replica",
        "server load and divergence, chain replication against bounded divergence; a server dies",
        "the bound is kept, failover without restart",
    ),
    entry(
        Mlfabric,
        "mlfabric-links",
        "messages over links by class of bandwidth",
        "slow links carry fewer",
    ),
];
