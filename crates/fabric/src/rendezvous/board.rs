//! The store itself: values, ranks and those who wait for them. No socket, no clock, no thread.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    net::SocketAddr,
};

use laxity_interface::{Span, Time};

use super::{
    identity::{Member, Roster},
    server::Expects,
    settings::Transport,
    words::{Reply, Request},
};
use crate::rank::Rank;

/// A connection to the store, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Client(pub(crate) usize);

/// How much the store may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BoardLimits {
    /// Bytes of a key.
    pub(crate) key_bytes: usize,
    /// Bytes of a value.
    pub(crate) value_bytes: usize,
    /// Bytes of all keys and values.
    pub(crate) total_bytes: usize,
    /// Bytes of all values in one answer: as text, four times as many still fit into a word.
    pub(crate) answer_bytes: usize,
    /// Ranks of a world.
    pub(crate) world: u32,
}

impl Default for BoardLimits {
    fn default() -> Self {
        Self {
            key_bytes: 1 << 10,
            value_bytes: 1 << 20,
            total_bytes: 64 << 20,
            answer_bytes: 3 << 20,
            world: 65_536,
        }
    }
}

/// Everything the store knows.
#[derive(Debug)]
pub(crate) struct Board {
    limits: BoardLimits,
    job: [u8; 16],
    /// How many ranks there are and who said so first.
    world: Option<(u32, String)>,
    /// What carries their parcels, if the host of the store said so.
    transport: Option<(Transport, String)>,
    /// Why ranks were turned away that could still come.
    refused: BTreeMap<u32, String>,
    values: BTreeMap<String, Vec<u8>>,
    bytes: usize,
    members: BTreeMap<u32, Registered>,
    /// All ranks, once they were here together: who is gone after that does not come back.
    complete: Option<Roster>,
    /// Who is gone since.
    gone: BTreeMap<u32, (bool, String)>,
    waiting: BTreeMap<Client, Waiting>,
    watching: BTreeSet<Client>,
    replies: VecDeque<(Client, Reply)>,
}

#[derive(Debug)]
struct Registered {
    client: Client,
    from: SocketAddr,
    member: Member,
    transport: Transport,
}

#[derive(Debug)]
struct Waiting {
    what: What,
    until: Time,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum What {
    Keys(Vec<String>),
    Roster,
    Barrier { name: String, rank: u32 },
}

impl Board {
    pub(crate) fn new(limits: BoardLimits, job: [u8; 16]) -> Self {
        Self {
            limits,
            job,
            world: None,
            transport: None,
            refused: BTreeMap::new(),
            values: BTreeMap::new(),
            bytes: 0,
            members: BTreeMap::new(),
            complete: None,
            gone: BTreeMap::new(),
            waiting: BTreeMap::new(),
            watching: BTreeSet::new(),
            replies: VecDeque::new(),
        }
    }

    /// Whether every rank that is here listens for departures, which is the last step of joining.
    pub(crate) fn is_settled(&self) -> bool {
        self.members.values().all(|member| self.watching.contains(&member.client))
    }

    /// Fixes what all ranks have to agree on; otherwise the first to register does.
    pub(crate) fn expect(&mut self, expects: Expects) {
        let host = format!("the store's host at {}", expects.store);
        self.world = Some((expects.world, host.clone()));
        self.transport = Some((expects.transport, host));
    }

    /// Takes a request of a client at `from`.
    pub(crate) fn handle_request(
        &mut self,
        now: Time,
        client: Client,
        from: SocketAddr,
        request: Request,
    ) {
        if self.waiting.contains_key(&client) {
            return self.refuse(client, "one question at a time: the last is not answered".into());
        }
        let reply = match request {
            Request::Set { key, value } => self.set(key, value),
            Request::Get { key } => Some(Reply::Value(self.values.get(&key).cloned())),
            Request::Add { key, by } => self.add(key, by),
            Request::Wait { keys, patience } => self.wait(now, client, What::Keys(keys), patience),
            Request::Roster { patience } => self.wait(now, client, What::Roster, patience),
            Request::Barrier { name, patience } => match self.rank_of(client) {
                Some(rank) => self.wait(now, client, What::Barrier { name, rank }, patience),
                None => Some(Reply::Refused(format!(
                    "{from} is at barrier `{name}` and has not registered a rank; register first"
                ))),
            },
            Request::Register { rank, world, member, transport } => {
                let reply =
                    self.register(rank, world, Registered { client, from, member, transport });
                self.note_refusal(rank, &reply);
                Some(reply)
            }
            Request::Watch => {
                self.watching.insert(client);
                for (rank, (left, reason)) in &self.gone {
                    let (rank, left, reason) = (*rank, *left, reason.clone());
                    self.replies.push_back((client, Reply::Gone { rank, left, reason }));
                }
                None
            }
            Request::Leave => {
                self.depart(now, client, true, "it said goodbye");
                Some(Reply::Done)
            }
        };
        if let Some(reply) = reply {
            self.replies.push_back((client, reply));
        }
        self.review(now);
    }

    /// A client's connection has ended.
    pub(crate) fn handle_gone(&mut self, now: Time, client: Client, how: &str) {
        self.waiting.remove(&client);
        self.watching.remove(&client);
        self.depart(now, client, false, how);
        self.review(now);
    }

    /// Tells those whose time is up who is missing.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        let due: Vec<_> = self
            .waiting
            .iter()
            .filter(|(_, waiting)| waiting.until <= now)
            .map(|(client, _)| *client)
            .collect();
        for client in due {
            let Some(waiting) = self.waiting.remove(&client) else { continue };
            let reply = match &waiting.what {
                What::Keys(keys) => {
                    let missing = keys.iter().filter(|key| !self.values.contains_key(*key));
                    Reply::MissingKeys(missing.cloned().collect())
                }
                What::Roster => self.missing(&self.members.keys().copied().collect()),
                What::Barrier { name, rank } => {
                    let mut here = self.at_barrier(name);
                    here.insert(*rank);
                    self.missing(&here)
                }
            };
            self.replies.push_back((client, reply));
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        self.waiting.values().map(|waiting| waiting.until).min()
    }

    /// What to say to whom.
    pub(crate) fn poll_reply(&mut self) -> Option<(Client, Reply)> {
        self.replies.pop_front()
    }

    fn refuse(&mut self, client: Client, why: String) {
        self.replies.push_back((client, Reply::Refused(why)));
    }

    fn set(&mut self, key: String, value: Vec<u8>) -> Option<Reply> {
        let limits = self.limits;
        if key.len() > limits.key_bytes || value.len() > limits.value_bytes {
            return Some(Reply::Refused(format!(
                "`{}` has a key of {} and a value of {} bytes; the store takes {} and {}",
                key.chars().take(40).collect::<String>(),
                key.len(),
                value.len(),
                limits.key_bytes,
                limits.value_bytes
            )));
        }
        let old = self.values.get(&key).map_or(0, |old| old.len() + key.len());
        let bytes = self.bytes - old + key.len() + value.len();
        if bytes > limits.total_bytes {
            return Some(Reply::Refused(format!(
                "the store is full: `{key}` would make it {bytes} bytes of {}; set less, or smaller \
                 values",
                limits.total_bytes
            )));
        }
        self.bytes = bytes;
        self.values.insert(key, value);
        Some(Reply::Done)
    }

    fn add(&mut self, key: String, by: i64) -> Option<Reply> {
        let old = match self.values.get(&key) {
            None => 0,
            Some(value) => match std::str::from_utf8(value).ok().and_then(|v| v.parse().ok()) {
                Some(old) => old,
                None => return Some(Reply::Refused(format!("`{key}` does not hold a number"))),
            },
        };
        let sum = i64::saturating_add(old, by);
        match self.set(key, sum.to_string().into_bytes()) {
            Some(Reply::Done) => Some(Reply::Sum(sum)),
            refused => refused,
        }
    }

    fn wait(&mut self, now: Time, client: Client, what: What, patience: Span) -> Option<Reply> {
        self.waiting.insert(client, Waiting { what, until: now + patience });
        None
    }

    fn rank_of(&self, client: Client) -> Option<u32> {
        self.members.iter().find(|(_, member)| member.client == client).map(|(rank, _)| *rank)
    }

    fn register(&mut self, rank: u32, world: u32, new: Registered) -> Reply {
        let Registered { client, from, member, transport } = new;
        if world == 0 || world > self.limits.world {
            return Reply::Refused(format!(
                "{} at {from} says that there are {world} ranks; there may be 1 to {}",
                Rank::new(rank),
                self.limits.world
            ));
        }
        let (ranks, by) = self.world.get_or_insert_with(|| (world, from.to_string()));
        let ranks = *ranks;
        if ranks != world {
            return Reply::Refused(format!(
                "{} at {from} says that there are {world} ranks, {by} said {ranks}; give all the same \
                 WORLD_SIZE",
                Rank::new(rank)
            ));
        }
        if rank >= ranks {
            return Reply::Refused(format!(
                "{from} wants to be {}; a world of {ranks} has ranks 0 to {}",
                Rank::new(rank),
                ranks - 1
            ));
        }
        let name = Rank::new(rank);
        if let Some((_, reason)) = self.gone.get(&rank) {
            return Reply::Refused(format!(
                "{from} wants to be {name}, which the job has lost ({reason}); start the whole job \
                 anew"
            ));
        }
        if let Some(known) = self.members.get(&rank) {
            return Reply::Refused(format!(
                "{from} (listening at {}) wants to be {name}, and so does {} (listening at {}), which \
                 came first; give every process a RANK of its own",
                member.address, known.from, known.member.address
            ));
        }
        if let Some(other) = self.rank_of(client) {
            return Reply::Refused(format!("{from} is {} already", Rank::new(other)));
        }
        let of_host = self.transport.clone().map(|(theirs, by)| (by, theirs));
        let of_first = self.members.iter().next().map(|(first, known)| {
            (format!("{} at {}", Rank::new(*first), known.from), known.transport)
        });
        if let Some((who, theirs)) = of_host.or(of_first).filter(|(_, theirs)| *theirs != transport)
        {
            return Reply::Refused(format!(
                "{name} at {from} uses the transport {}, {who} uses {}; give all the same \
                 LAXITY_TRANSPORT",
                transport.name(),
                theirs.name()
            ));
        }
        self.members.insert(rank, new);
        Reply::Done
    }

    /// Those who wait for a rank in vain are to hear why it was turned away.
    fn note_refusal(&mut self, rank: u32, reply: &Reply) {
        match reply {
            Reply::Refused(why) if self.world.as_ref().is_some_and(|(ranks, _)| rank < *ranks) => {
                self.refused.insert(rank, why.clone());
            }
            Reply::Done => _ = self.refused.remove(&rank),
            _ => {}
        }
    }

    /// A registered rank is gone, in peace or not.
    fn depart(&mut self, _now: Time, client: Client, left: bool, how: &str) {
        let Some(rank) = self.rank_of(client) else { return };
        let Some(registered) = self.members.remove(&rank) else { return };
        self.watching.remove(&client);
        if self.complete.is_none() {
            // Nobody knows it yet: another process may take the rank.
            return;
        }
        let reason = format!(
            "{} at {} ({}): {how}",
            Rank::new(rank),
            registered.member.address,
            if left { "left" } else { "lost" }
        );
        self.gone.insert(rank, (left, reason.clone()));
        for watcher in &self.watching {
            let reason = reason.clone();
            self.replies.push_back((*watcher, Reply::Gone { rank, left, reason }));
        }
    }

    /// Answers those whose wait is over.
    fn review(&mut self, _now: Time) {
        let ranks = self.world.as_ref().map(|(ranks, _)| *ranks);
        let whole = ranks == Some(self.members.len() as u32);
        if whole && self.complete.is_none() {
            let members = self.members.values().map(|registered| registered.member).collect();
            self.complete = Some(Roster { job: self.job, members });
        }
        let ready: Vec<_> = self
            .waiting
            .iter()
            .filter_map(|(client, waiting)| Some((*client, self.answer(&waiting.what)?)))
            .collect();
        for (client, reply) in ready {
            self.waiting.remove(&client);
            self.replies.push_back((client, reply));
        }
    }

    fn answer(&self, what: &What) -> Option<Reply> {
        match what {
            What::Keys(keys) => {
                let values: Option<Vec<_>> = keys.iter().map(|key| self.values.get(key)).collect();
                let values = values?;
                let (bytes, most) = (
                    values.iter().map(|value| value.len()).sum::<usize>(),
                    self.limits.answer_bytes,
                );
                Some(match bytes > most {
                    true => Reply::Refused(format!(
                        "the {} keys hold {bytes} bytes together, and one answer takes {most}; wait \
                         for fewer at once",
                        keys.len()
                    )),
                    false => Reply::Values(values.into_iter().cloned().collect()),
                })
            }
            // Whoever asks late gets it too, though others may have gone by then.
            What::Roster => self.complete.clone().map(Reply::Roster),
            What::Barrier { name, .. } => {
                // Those who have gone in peace are not waited for.
                let peaceful = self.gone.values().filter(|(left, _)| *left).count();
                let ranks = self.world.as_ref()?.0;
                let here = self.at_barrier(name).len();
                if let Some((_, reason)) = self.gone.values().find(|(left, _)| !*left) {
                    return Some(Reply::Refused(format!(
                        "barrier `{name}` cannot be reached by all: {reason}"
                    )));
                }
                (here + peaceful >= ranks as usize).then_some(Reply::Done)
            }
        }
    }

    fn at_barrier(&self, at: &str) -> BTreeSet<u32> {
        let ranks = self.waiting.values().filter_map(|waiting| match &waiting.what {
            What::Barrier { name, rank } if name == at => Some(*rank),
            _ => None,
        });
        ranks.collect()
    }

    fn missing(&self, here: &BTreeSet<u32>) -> Reply {
        /// Enough to see a pattern by.
        const SHOWN: usize = 8;
        let world = self.world.as_ref().map_or(0, |(ranks, _)| *ranks);
        let missing = (0..world).filter(|rank| !here.contains(rank)).collect();
        // Of ranks that are registered somebody else was turned away, which is not why they are missing.
        let missed = |rank: &u32| !here.contains(rank) && !self.members.contains_key(rank);
        let refused = self.refused.iter().filter(|(rank, _)| missed(rank));
        let refused = refused.take(SHOWN).map(|(_, why)| why.clone()).collect();
        let present = here.iter().take(SHOWN);
        let present = present.filter_map(|rank| Some((*rank, self.members.get(rank)?.from)));
        Reply::MissingRanks { missing, world, present: present.collect(), refused }
    }
}

#[cfg(test)]
#[path = "board_tests.rs"]
mod tests;
