//! Ranks in virtual time: a small network, deaths, and workers that train.

use std::collections::{BTreeMap, BTreeSet};

use laxity_fabric::{
    Rank,
    carrier::{Arrival, Event, Parcel},
    roles::{Node, Notice, Push, UpdateId, Version},
};
use laxity_interface::{Bytes, Fraction, Rate, Span, Time};
use laxity_planner::Steps;

pub(crate) const fn rank(number: u32) -> Rank {
    Rank::new(number)
}

pub(crate) fn secs(secs: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(secs)
}

/// Numbers by chance, the same for the same seed.
#[derive(Clone, Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % most.max(1)
    }
}

#[derive(Debug)]
pub(crate) enum Due {
    Carrier { to: Rank, from: Rank, event: Event },
    Computed { worker: Rank, version: Version },
}

/// What a worker's program does: get, compute, push, again.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) server: Rank,
    pub(crate) rounds: u64,
    pub(crate) compute: Span,
    /// The update, by the number of the round.
    pub(crate) update: fn(Rank, u64) -> Vec<f32>,
    pub(crate) min_delivery: Fraction,
    /// Waits for a version after its own (synchronous mode).
    pub(crate) wait_for_next: bool,
    /// How many updates may be undecided when it asks for the next model, and one more.
    pub(crate) at_once: u64,
    asked: u64,
    pub(crate) done: u64,
    pub(crate) pushed: Vec<UpdateId>,
    pub(crate) acked: Vec<(UpdateId, Version, u64)>,
    pub(crate) dropped: Vec<(UpdateId, String)>,
    pub(crate) failed: Vec<String>,
}

impl Program {
    pub(crate) fn new(
        server: Rank,
        rounds: u64,
        compute: Span,
        update: fn(Rank, u64) -> Vec<f32>,
    ) -> Self {
        Self {
            server,
            rounds,
            compute,
            update,
            min_delivery: Fraction::ONE,
            wait_for_next: false,
            at_once: 1,
            asked: 0,
            done: 0,
            pushed: Vec::new(),
            acked: Vec::new(),
            dropped: Vec::new(),
            failed: Vec::new(),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) nodes: BTreeMap<Rank, Node>,
    pub(crate) programs: BTreeMap<Rank, Program>,
    pub(crate) notices: Vec<(Time, Rank, Notice)>,
    pub(crate) due: BTreeMap<(Time, u64), Due>,
    pub(crate) number: u64,
    /// What hosts send and receive; without an entry transfers take no time.
    pub(crate) up: BTreeMap<Rank, Steps>,
    pub(crate) down: BTreeMap<Rank, Steps>,
    pub(crate) latency: Span,
    /// Adds up to this to each latency, so that parcels overtake each other.
    pub(crate) jitter: Span,
    pub(crate) detect: Span,
    pub(crate) dice: Option<Dice>,
    /// Loses part of what may be lost.
    pub(crate) lossy: bool,
    pub(crate) dead: BTreeSet<Rank>,
    /// Who has been told that who is dead.
    pub(crate) told: BTreeSet<(Rank, Rank)>,
    pub(crate) steps: u64,
}

impl World {
    pub(crate) fn add(&mut self, node: Node) {
        self.nodes.insert(node.rank(), node);
    }

    /// A host with so many bits per second in each direction.
    pub(crate) fn host(&mut self, host: Rank, rate: Rate) {
        self.up.insert(host, Steps::constant(rate));
        self.down.insert(host, Steps::constant(rate));
    }

    pub(crate) fn program(&mut self, worker: Rank, program: Program) {
        self.programs.insert(worker, program);
        self.ask(worker);
    }

    /// Asks for the next model if it may, and does not wait for one already.
    fn ask(&mut self, rank: Rank) {
        let worker = rank;
        let Some(program) = self.programs.get_mut(&worker) else { return };
        if program.done < program.rounds {
            let waits = program.asked > program.pushed.len() as u64;
            let undecided = program.asked - program.done;
            if waits || program.asked == program.rounds || undecided >= program.at_once {
                return;
            }
            program.asked += 1;
            let at_least = match program.acked.last() {
                Some((_, version, _)) if program.wait_for_next => *version,
                _ => Version::default(),
            };
            let server = program.server;
            if let Some(worker) = self.nodes.get_mut(&worker).and_then(Node::worker) {
                worker.get(server, at_least);
            }
        } else if let Some(worker) = self.nodes.get_mut(&worker).and_then(Node::worker) {
            worker.finish(self.programs[&rank].server);
        }
    }

    fn plan(&mut self, at: Time, due: Due) {
        self.due.insert((at, self.number), due);
        self.number += 1;
    }

    /// The process of a rank ends without a word; the others are told after a while.
    pub(crate) fn kill(&mut self, victim: Rank) -> Option<Node> {
        let node = self.nodes.remove(&victim)?;
        self.programs.remove(&victim);
        self.dead.insert(victim);
        // Some of what was on its way arrives, some does not, nothing after the news.
        let news = self.now + self.detect;
        let mut dice = self.dice.clone().unwrap_or(Dice(1));
        self.due.retain(|(at, _), due| match due {
            Due::Carrier { from, to, .. } => {
                *to != victim && (*from != victim || (*at < news && dice.below(2) == 0))
            }
            Due::Computed { worker, .. } => *worker != victim,
        });
        for to in self.nodes.keys().copied().collect::<Vec<_>>() {
            let event = Event::Lost {
                peer: victim,
                reason: "its process has ended".to_owned(),
                left: false,
            };
            self.plan(news, Due::Carrier { to, from: victim, event });
        }
        Some(node)
    }

    /// A rank is there again.
    pub(crate) fn revive(&mut self, node: Node) {
        let rank = node.rank();
        self.dead.remove(&rank);
        self.told.retain(|(_, dead)| *dead != rank);
        self.due.retain(|_, due| !matches!(due, Due::Carrier { from, event: Event::Lost { .. }, .. } if *from == rank));
        self.add(node);
    }

    fn submit(&mut self, from: Rank, parcel: Parcel) {
        let Parcel { to, envelope, body, slack } = parcel;
        if self.dead.contains(&to) {
            if self.told.contains(&(from, to)) {
                let reason = format!("{to} is gone");
                let event = Event::Failed { peer: to, envelope, reason };
                self.plan(self.now, Due::Carrier { to: from, from, event });
            }
            return;
        }
        let mut at = self.now;
        // Words are small beside tensors, and take no time of their own.
        if envelope.channel.part > 0
            && let (Some(up), Some(down)) = (self.up.get(&from), self.down.get(&to))
        {
            let residual = up.min(down);
            let size = Bytes::new(body.len() as u64);
            at = residual.t_end(self.now, size).expect("links carry something");
            let used = residual.used(self.now, at);
            self.up.get_mut(&from).unwrap().reserve_steps(&used);
            self.down.get_mut(&to).unwrap().reserve_steps(&used);
        }
        let event = Event::Sent { to, envelope, missing: Vec::new() };
        self.plan(at, Due::Carrier { to: from, from: to, event });
        let mut body = body.to_vec();
        let mut missing = Vec::new();
        if let Some(dice) = &mut self.dice {
            at += Span::from_ps(dice.below(self.jitter.as_ps() + 1));
            let elements = body.len() / 4;
            let may = elements - slack.min_delivery.of(elements as u64) as usize;
            if self.lossy && envelope.channel.part > 0 && may > 0 {
                let lost = dice.below(may as u64 + 1) as usize;
                let start = dice.below((elements - lost) as u64 + 1) as usize;
                body[start * 4..(start + lost) * 4].fill(0);
                missing.extend((lost > 0).then_some(start..start + lost));
            }
        }
        let arrival = Arrival { from, envelope, body: body.into(), missing };
        let event = Event::Arrived(arrival);
        self.plan(at + self.latency, Due::Carrier { to, from, event });
    }

    /// Lets all nodes send and speak until nothing is to be done at this moment.
    fn settle(&mut self) {
        loop {
            let mut quiet = true;
            for rank in self.nodes.keys().copied().collect::<Vec<_>>() {
                let now = self.now;
                while let Some(parcel) = self.nodes.get_mut(&rank).and_then(|n| n.poll_parcel(now))
                {
                    quiet = false;
                    self.submit(rank, parcel);
                }
                while let Some(notice) = self.nodes.get_mut(&rank).and_then(Node::poll_notice) {
                    quiet = false;
                    self.noticed(rank, notice);
                }
            }
            if quiet {
                return;
            }
        }
    }

    fn noticed(&mut self, rank: Rank, notice: Notice) {
        let mut next = false;
        if let Some(program) = self.programs.get_mut(&rank) {
            match &notice {
                Notice::Model { version, .. } => {
                    let due = Due::Computed { worker: rank, version: *version };
                    let at = self.now + program.compute;
                    self.plan(at, due);
                }
                Notice::Committed { update, version, delay } => {
                    program.acked.push((*update, *version, *delay));
                    program.done += 1;
                    next = true;
                }
                Notice::Dropped { update, reason } => {
                    program.dropped.push((*update, reason.to_string()));
                    program.done += 1;
                    next = true;
                }
                Notice::NoModel { reason, .. } => program.failed.push(reason.to_string()),
                _ => {}
            }
        }
        if next {
            self.ask(rank);
        }
        self.notices.push((self.now, rank, notice));
    }

    fn computed(&mut self, worker: Rank, version: Version) {
        let now = self.now;
        let Some(program) = self.programs.get_mut(&worker) else { return };
        let number = program.pushed.len() as u64;
        let mut push = Push::new(&(program.update)(worker, number), version);
        push.min_delivery = program.min_delivery;
        let server = program.server;
        let node = self.nodes.get_mut(&worker).and_then(Node::worker).expect("a worker");
        let update = node.push(now, server, push).expect("few at a time");
        program.pushed.push(update);
        self.ask(worker);
    }

    /// One thing happens; false when nothing does until `until`.
    pub(crate) fn step(&mut self, until: Time) -> bool {
        self.settle();
        let timer =
            self.nodes.iter().filter_map(|(rank, n)| Some((n.poll_timeout()?, *rank))).min();
        let timer = timer.map(|(at, rank)| (at.max(self.now), rank));
        let due = self.due.first_key_value().map(|((at, _), _)| *at);
        let next = [timer.map(|(at, _)| at), due].into_iter().flatten().min();
        let Some(next) = next.filter(|next| *next <= until) else {
            self.now = self.now.max(until);
            return false;
        };
        self.now = next;
        self.steps += 1;
        if due == Some(next) {
            let (_, due) = self.due.pop_first().expect("just seen");
            match due {
                Due::Computed { worker, version } => self.computed(worker, version),
                Due::Carrier { to, from, event } => {
                    if let Event::Lost { .. } = event {
                        self.told.insert((to, from));
                    }
                    if let Some(node) = self.nodes.get_mut(&to) {
                        node.handle_event(next, event);
                    }
                }
            }
        } else if let Some((_, rank)) = timer {
            self.nodes.get_mut(&rank).expect("has a timer").handle_timeout(next);
        }
        self.settle();
        true
    }

    pub(crate) fn run(&mut self, until: Time) {
        while self.step(until) {}
    }

    /// Runs until all programs are done; says whether they are by then.
    pub(crate) fn train(&mut self, until: Time) -> bool {
        let working = |world: &Self| world.programs.values().any(|p| p.done < p.rounds);
        while working(self) {
            if !self.step(until) {
                return false;
            }
        }
        true
    }

    /// What a rank's application was told.
    pub(crate) fn told(&self, rank: Rank) -> impl Iterator<Item = &Notice> {
        self.notices.iter().filter(move |(_, who, _)| *who == rank).map(|(_, _, notice)| notice)
    }
}
