//! A scheduler's state as bytes, so that it can be started again where it was.
//!
//! Saved are the hosts, the servers with their versions, the network as measured, and the history.
//! Announcements that waited are not: their workers send by themselves after their patience.

use laxity_interface::{Rate, Time};
use laxity_planner::Steps;

use super::{
    Scheduler, SchedulerOptions, View, history::Explained, round::ServerFacts, view::Link,
};
use crate::{
    rank::Rank,
    roles::{
        codec::{Reader, WordError, Writer},
        reason::Reason,
        words::{Entry, Word},
    },
};

const MAGIC: u64 = u64::from_le_bytes(*b"laxsched");
const LAYOUT: u8 = 1;
/// Bounds on what is read, whatever the bytes say.
const MOST_HOSTS: usize = 1 << 20;
const MOST_STEPS: usize = 1 << 16;
/// Numbers of sums continue so far behind the saved ones that none is used twice, even where the state
/// was saved long before the end.
const SUMS_SKIPPED: u64 = 1 << 32;

/// Why bytes are no saved scheduler.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// Something else.
    #[error("this is not the saved state of a scheduler: start without it")]
    NotOne,
    /// Of another version.
    #[error(
        "the scheduler's state was saved in layout {0}, and this version reads {LAYOUT}: start without it"
    )]
    Layout(u8),
    /// Damaged.
    #[error("the scheduler's saved state is damaged ({0}): start without it")]
    Damaged(#[from] WordError),
}

impl Scheduler {
    /// The state as bytes.
    pub fn save(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.u64(MAGIC);
        w.u8(LAYOUT);
        w.u64(self.rounds);
        w.u64(self.next_sum);
        let servers: Vec<_> = self.servers.iter().collect();
        w.list(&servers, |w, (rank, facts)| {
            w.rank(**rank);
            w.u64(facts.commits);
            w.u32(facts.epoch);
            w.option(facts.staleness, Writer::u64);
            w.u8(facts.sync.into());
        });
        let workers: Vec<_> = self.workers.iter().collect();
        w.list(&workers, |w, rank| w.rank(**rank));
        let aggregators: Vec<_> = self.aggregators.iter().collect();
        w.list(&aggregators, |w, rank| w.rank(**rank));
        w.rate(self.view.usual());
        let links: Vec<_> = self.view.known().collect();
        w.list(&links, |w, (link, steps)| {
            let (kind, a, b) = match link {
                Link::Up(host) => (0, *host, *host),
                Link::Down(host) => (1, *host, *host),
                Link::Pair(from, to) => (2, *from, *to),
            };
            w.u8(kind);
            w.rank(a);
            w.rank(b);
            let pieces: Vec<_> = steps.pieces().collect();
            w.list(&pieces, |w, (at, rate)| {
                w.u64(at.as_ps());
                w.rate(*rate);
            });
        });
        let history: Vec<_> = self.history.iter().collect();
        w.list(&history, |w, one| {
            w.rank(one.server);
            w.u64(one.round);
            w.u64(one.at.as_ps());
            let (update, action, reason) = (one.update, one.action, one.reason);
            Word::Entry(Entry { update, action, reason }).encode(w);
            w.option(one.outcome, |w, outcome| {
                w.option(outcome.ok(), Writer::version);
                w.option(outcome.err(), |w, reason| reason.encode(w));
            });
        });
        w.finish()
    }

    /// A scheduler that goes on where another was saved.
    pub fn restore(
        me: Rank,
        options: SchedulerOptions,
        bytes: &[u8],
    ) -> Result<Self, RestoreError> {
        let mut r = Reader::new(bytes);
        if r.u64("mark") != Ok(MAGIC) {
            return Err(RestoreError::NotOne);
        }
        let layout = r.u8("layout")?;
        if layout != LAYOUT {
            return Err(RestoreError::Layout(layout));
        }
        let (rounds, next_sum) = (r.u64("rounds")?, r.u64("sums")?);
        let servers = r.list("servers", MOST_HOSTS, 18, |r| {
            let rank = r.rank("server")?;
            let facts = ServerFacts {
                commits: r.u64("version")?,
                epoch: r.u32("epoch")?,
                staleness: r.option("staleness bound", |r| r.u64("staleness bound"))?,
                sync: r.flag("mode")?,
            };
            Ok((rank, facts))
        })?;
        let workers = r.list("workers", MOST_HOSTS, 4, |r| r.rank("worker"))?;
        let aggregators = r.list("aggregators", MOST_HOSTS, 4, |r| r.rank("aggregator"))?;
        let mut view = View::new(r.rate("rate")?);
        let links = r.list("links", MOST_HOSTS, 13, read_link)?;
        links.into_iter().for_each(|(link, steps)| view.restore(link, steps));
        let history = r.list("decisions", options.history, 60, read_explained)?;
        r.end()?;

        let mut made = Self::new(me, view, options);
        made.rounds = rounds;
        made.next_sum = next_sum.saturating_add(SUMS_SKIPPED);
        made.servers = servers.into_iter().collect();
        made.workers = workers.into_iter().collect();
        made.aggregators = aggregators.into_iter().collect();
        history.into_iter().for_each(|one| made.history.insert(one));
        Ok(made)
    }
}

fn read_link(r: &mut Reader<'_>) -> Result<(Link, Steps), WordError> {
    let kind = r.u8("link")?;
    let (a, b) = (r.rank("host")?, r.rank("host")?);
    let link = match kind {
        0 => Link::Up(a),
        1 => Link::Down(a),
        2 => Link::Pair(a, b),
        value => return Err(WordError::Unknown { what: "link", value: value.into() }),
    };
    let pieces = r.list("rates", MOST_STEPS, 16, |r| {
        Ok((Time::from_ps(r.u64("time")?), Rate::bps(r.u64("rate")?)))
    })?;
    Ok((link, Steps::new(pieces)))
}

fn read_explained(r: &mut Reader<'_>) -> Result<Explained, WordError> {
    let (server, round) = (r.rank("server")?, r.u64("round")?);
    let at = Time::from_ps(r.u64("time")?);
    let Word::Entry(Entry { update, action, reason }) = Word::decode(r)? else {
        return Err(WordError::Frame { what: "a decision that is none" });
    };
    let outcome = r.option("outcome", |r| {
        let version = r.option("version", Reader::version)?;
        let reason = r.option("reason", Reason::decode)?;
        match (version, reason) {
            (Some(version), None) => Ok(Ok(version)),
            (None, Some(reason)) => Ok(Err(reason)),
            _ => Err(WordError::Frame { what: "an outcome that is none" }),
        }
    })?;
    Ok(Explained { update, server, round, at, action, reason, outcome })
}
