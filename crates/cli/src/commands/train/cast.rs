//! Who does what: the ranks of a training with a parameter server.

use laxity_fabric::{Rank, roles::Mode};

use super::args::{Method, TrainArgs};

/// A rank's part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// Computes updates; its number.
    Worker(u32),
    Server,
    Replica,
    Aggregator,
    Scheduler,
}

impl Part {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Worker(_) => "worker",
            Self::Server => "server",
            Self::Replica => "replica",
            Self::Aggregator => "aggregator",
            Self::Scheduler => "scheduler",
        }
    }
}

/// All ranks: workers first, then the server, its replica, aggregators and the scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cast {
    pub(super) workers: u32,
    replica: bool,
    aggregators: u32,
    scheduler: bool,
    /// Without a server, all ranks are workers.
    server: bool,
}

impl Cast {
    pub(super) fn new(args: &TrainArgs) -> Self {
        let server = args.mode != Method::Allreduce;
        Self {
            workers: args.ranks(),
            replica: server && args.replica,
            aggregators: if server { args.aggregators } else { 0 },
            // Aggregators do nothing that nobody plans.
            scheduler: server && (args.scheduler || args.aggregators > 0),
            server,
        }
    }

    /// How many ranks there are.
    pub(super) fn ranks(&self) -> u32 {
        let one = u32::from;
        self.workers + one(self.server) + one(self.replica) + self.aggregators + one(self.scheduler)
    }

    /// How many ranks there are and of what kind, for people.
    pub(super) fn words(&self) -> String {
        let mut text = format!("{} ranks: {} workers", self.ranks(), self.workers);
        for (part, count) in [
            ("server", u32::from(self.server)),
            ("replica", u32::from(self.replica)),
            ("aggregator", self.aggregators),
            ("scheduler", u32::from(self.scheduler)),
        ] {
            match count {
                0 => {}
                1 if part == "aggregator" => text += ", an aggregator",
                1 => text += &format!(", a {part}"),
                _ => text += &format!(", {count} {part}s"),
            }
        }
        text
    }

    pub(super) fn server(&self) -> Rank {
        Rank::new(self.workers)
    }

    pub(super) fn replica(&self) -> Option<Rank> {
        self.replica.then_some(Rank::new(self.workers + 1))
    }

    pub(super) fn aggregators(&self) -> Vec<Rank> {
        let first = self.workers + 1 + u32::from(self.replica);
        (first..first + self.aggregators).map(Rank::new).collect()
    }

    pub(super) fn scheduler(&self) -> Option<Rank> {
        self.scheduler.then(|| Rank::new(self.ranks() - 1))
    }

    pub(super) fn workers(&self) -> Vec<Rank> {
        (0..self.workers).map(Rank::new).collect()
    }

    /// What a rank does.
    pub(super) fn part(&self, rank: Rank) -> Part {
        match rank {
            rank if rank.get() < self.workers => Part::Worker(rank.get()),
            rank if rank == self.server() => Part::Server,
            rank if Some(rank) == self.replica() => Part::Replica,
            rank if Some(rank) == self.scheduler() => Part::Scheduler,
            _ => Part::Aggregator,
        }
    }

    /// The last rank with this part: of workers not the first, which speaks for all.
    pub(super) fn last(&self, name: &str) -> Option<Rank> {
        (0..self.ranks()).map(Rank::new).rev().find(|rank| self.part(*rank).name() == name)
    }
}

/// How many updates a worker may be ahead of the slowest, unless told otherwise.
const AHEAD: u64 = 2;

/// The server's mode; nothing for an all-reduce.
pub(super) fn mode(args: &TrainArgs) -> Option<Mode> {
    let staleness = args.staleness;
    match args.mode {
        Method::Allreduce => None,
        Method::Sync => Some(Mode::Sync { enough: None }),
        Method::Async => Some(Mode::Async { staleness }),
        Method::Ssp => Some(Mode::StaleSync { ahead: args.ahead.unwrap_or(AHEAD), staleness }),
    }
}

/// What is on its way in a training that keeps a link busy in both directions: a model, what is computed, an update.
const BUSY: u32 = 3;

/// How many updates the server awaits at once; nothing where a round waits for everybody.
///
/// One for each worker, so that all can compute. With two each, which workers would like to have on their way, updates
/// are twice as old, and where they wait for the server's link no faster. An update that is allowed to be s commits old
/// has s others before it.
pub(super) fn awaits(args: &TrainArgs) -> Option<usize> {
    let all = args.ranks().max(BUSY) as usize;
    let young = |bound: u64| usize::try_from(bound).unwrap_or(all).saturating_add(1);
    match args.mode {
        Method::Allreduce | Method::Sync => None,
        Method::Async | Method::Ssp => {
            Some(args.staleness.map_or(all, |bound| young(bound).min(all)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_awaits_an_update_of_each_worker() {
        use clap::Parser;
        #[derive(Parser)]
        struct Line {
            #[command(flatten)]
            args: TrainArgs,
        }
        let of = |line: &str| awaits(&Line::parse_from(line.split(' ')).args);
        assert_eq!(of("train --mode async"), Some(4));
        assert_eq!(of("train --mode ssp --ranks 8"), Some(8));
        // Less than three would leave a direction of the link idle.
        assert_eq!(of("train --mode async --ranks 1"), Some(3));
        assert_eq!(of("train --mode async --ranks 8 --staleness 4"), Some(5));
        assert_eq!(of("train --mode sync"), None);
    }

    #[test]
    fn every_rank_has_one_part() {
        let cast =
            Cast { workers: 3, replica: true, aggregators: 2, scheduler: true, server: true };
        let parts: Vec<_> = (0..cast.ranks()).map(|rank| cast.part(Rank::new(rank))).collect();
        let names: Vec<_> = parts.iter().map(|part| part.name()).collect();
        let expect = "worker worker worker server replica aggregator aggregator scheduler";
        assert_eq!(names.join(" "), expect);
        assert_eq!(cast.aggregators(), [Rank::new(5), Rank::new(6)]);
        let words = "8 ranks: 3 workers, a server, a replica, 2 aggregators, a scheduler";
        assert_eq!(cast.words(), words);
        assert!(Cast { aggregators: 1, ..cast }.words().contains(", an aggregator, a scheduler"));
        assert_eq!(cast.scheduler(), Some(Rank::new(7)));
        assert_eq!(cast.last("worker"), Some(Rank::new(2)));
        let alone = Cast { replica: false, aggregators: 0, scheduler: false, ..cast };
        assert_eq!((alone.ranks(), alone.last("replica")), (4, None));
        let reduce = Cast { server: false, ..alone };
        assert_eq!(reduce.ranks(), 3);
    }
}
