//! The passing of time while workers train.

use laxity_interface::{Bytes, Time};
use laxity_planner::{
    Network,
    updates::{Replica, ReplicaAction, Update, UpdateReason, divergence_bound, replicate},
};
use laxity_topology::{NodeId, Path, RouteError, Routes};

use super::{
    Cluster, Committed, Copied, Dropped, Stop, Story, Transfers,
    decide::{View, decide},
    moving::{Carries, Moving, Transfer},
};
use crate::{error::SimError, world::World};

/// Copies use what nobody else wants.
const COPY_PLACE: u32 = u32::MAX - 1;
/// Models, and copies that a commit waits for.
const FIRST_PLACE: u32 = 0;

/// An update of a worker, from its computation to its commit.
#[derive(Debug, Clone, Copy)]
struct Pending {
    worker: usize,
    version: u64,
    available: Time,
    /// Whether it has begun, is in a group or goes before one, and is not planned again.
    fixed: bool,
    summed: Option<NodeId>,
}

/// Updates that are summed at a host.
#[derive(Debug)]
struct Sum {
    at: NodeId,
    members: Vec<usize>,
    missing: usize,
    open: bool,
    /// Its place in the order of transfers.
    place: u32,
    /// When it is expected to be ready.
    ready: Time,
}

/// What the replica lacks.
#[derive(Debug)]
struct Copying {
    state: Replica,
    most: f64,
    /// How many of the missing updates are on their way.
    under_way: Option<usize>,
    /// Whether a commit waits for it.
    held: bool,
}

pub(super) struct Drive<'a> {
    cluster: &'a Cluster,
    transfers: &'a Transfers,
    stop: Stop,
    routes: Routes,
    network: Network,
    /// Only for when operations end on slow hosts.
    hosts: World,
    moving: Moving,
    /// When each worker ends its computation, and the version it read.
    computing: Vec<Option<(Time, u64)>>,
    rounds: Vec<u64>,
    version: u64,
    /// How many updates were dropped.
    lost: u64,
    pending: Vec<Pending>,
    sums: Vec<Sum>,
    /// The first place in the order of transfers that is not taken for good.
    free_place: u32,
    /// Updates (alone or of a sum) at the server that wait for the replica.
    arrived: Vec<Vec<usize>>,
    copying: Option<Copying>,
    story: Story,
}

impl<'a> Drive<'a> {
    pub(super) fn new(
        cluster: &'a Cluster,
        transfers: &'a Transfers,
        stop: Stop,
    ) -> Result<Self, SimError> {
        let mut network = Network::of(&cluster.net);
        for reserved in &cluster.reservations {
            network.reserve(reserved.link, reserved.from, reserved.until, reserved.rate);
        }
        let mut hosts = World::new(cluster.net.clone());
        hosts.slow.clone_from(&cluster.slow);
        let copying = transfers.rules().and_then(|rules| rules.replica).map(|(momentum, most)| {
            let state = Replica { momentum, history: 0.0, missing: Vec::new() };
            Copying { state, most, under_way: None, held: false }
        });
        let count = cluster.workers.len();
        let links = cluster.net.links().len();
        let mut drive = Self {
            cluster,
            transfers,
            stop,
            routes: Routes::new(&cluster.net),
            network,
            hosts,
            moving: Moving::new(transfers),
            computing: vec![None; count],
            rounds: vec![0; count],
            version: 0,
            lost: 0,
            pending: Vec::new(),
            sums: Vec::new(),
            free_place: FIRST_PLACE + 1,
            arrived: Vec::new(),
            copying: copying.filter(|_| cluster.replica.is_some()),
            story: Story { messages: vec![0; links], ..Story::default() },
        };
        for worker in 0..count {
            drive.path(cluster.workers[worker], cluster.server)?;
            drive.compute(Time::ZERO, worker, 0);
        }
        Ok(drive)
    }

    fn path(&self, from: NodeId, to: NodeId) -> Result<Path, SimError> {
        self.route(from, to).map_err(|source| {
            let flow = format!("{} to {}", self.cluster.net.name(from), self.cluster.net.name(to));
            SimError::Route { work: "updates".to_owned(), flow, source }
        })
    }

    fn route(&self, from: NodeId, to: NodeId) -> Result<Path, RouteError> {
        self.routes.path(&self.cluster.net, from, to, 0)
    }

    /// A worker has the model of this version and computes.
    fn compute(&mut self, now: Time, worker: usize, version: u64) {
        if self.rounds[worker] >= self.stop.rounds {
            return;
        }
        self.rounds[worker] += 1;
        let takes = self.cluster.compute.get(worker).copied().unwrap_or_default();
        let end = self.hosts.ends(Some(self.cluster.workers[worker]), now, takes);
        self.computing[worker] = Some((end, version));
    }

    pub(super) fn go(mut self) -> Result<Story, SimError> {
        let mut now = Time::ZERO;
        loop {
            let mut changed = false;
            for worker in 0..self.computing.len() {
                if let Some((_, version)) = self.computing[worker].take_if(|(end, _)| *end <= now) {
                    self.available(now, worker, version)?;
                    changed = true;
                }
            }
            if changed || !self.waiting().is_empty() {
                self.ask(now)?;
            }
            self.copy()?;
            self.moving.plan(now, &self.network)?;
            let computed = self.computing.iter().flatten().map(|(end, _)| *end).min();
            let change = self.network.next_change(now).filter(|_| !self.moving.all.is_empty());
            let next = [computed, self.moving.next_end(now), change].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= self.stop.until) else { break };
            let ended = self.moving.advance(now, next);
            now = next;
            for transfer in ended {
                self.ended(now, transfer)?;
            }
            self.commit(now)?;
        }
        self.story.end = if self.stop.until == Time::MAX { now } else { self.stop.until };
        if self.stop.until == Time::MAX && !(self.moving.all.is_empty() && self.arrived.is_empty())
        {
            let waiting = self.moving.all.len() + self.arrived.len();
            return Err(SimError::Stuck { at: now, waiting, first: "an update".to_owned() });
        }
        Ok(self.story)
    }

    /// A worker has an update.
    fn available(&mut self, now: Time, worker: usize, version: u64) -> Result<(), SimError> {
        let update = self.pending.len();
        let fixed = self.transfers.rules().is_none();
        self.pending.push(Pending { worker, version, available: now, fixed, summed: None });
        if fixed {
            self.send(
                Carries::Update(update),
                self.cluster.workers[worker],
                self.cluster.server,
                0,
            )?;
        }
        Ok(())
    }

    /// Updates that the rules may still decide about.
    fn waiting(&self) -> Vec<usize> {
        (0..self.pending.len()).filter(|at| !self.pending[*at].fixed).collect()
    }

    /// Starts a transfer of an update, a sum or a copy.
    fn send(
        &mut self,
        carries: Carries,
        from: NodeId,
        to: NodeId,
        place: u32,
    ) -> Result<(), SimError> {
        let path = self.path(from, to)?;
        let size = match carries {
            Carries::Model(_) => self.cluster.model,
            _ => self.cluster.update,
        };
        self.moving.add(carries, path, (from, to), size, place);
        Ok(())
    }

    /// Asks the rules about everything that has not begun.
    fn ask(&mut self, now: Time) -> Result<(), SimError> {
        let Some(rules) = self.transfers.rules() else { return Ok(()) };
        // What was planned and has not begun is planned anew.
        for transfer in self.moving.all.iter().filter(|transfer| transfer.begun()) {
            if let Carries::Update(update) = transfer.carries {
                self.pending[update].fixed = true;
                self.free_place = self.free_place.max(transfer.place + 1);
            }
        }
        let pending = &self.pending;
        self.moving.all.retain(|t| match t.carries {
            Carries::Update(update) => pending[update].fixed,
            _ => true,
        });
        let waiting = self.waiting();
        if waiting.is_empty() {
            return Ok(());
        }
        let updates = waiting.iter().map(|at| {
            let pending = &self.pending[*at];
            let worker = self.cluster.workers[pending.worker];
            Ok(Update {
                worker,
                path: self.path(worker, self.cluster.server)?,
                size: self.cluster.update,
                norm: self.cluster.norm,
                version: pending.version,
                available: pending.available,
            })
        });
        let updates: Vec<_> = updates.collect::<Result<_, SimError>>()?;
        let busy = |host: &NodeId| self.sums.iter().any(|sum| sum.open && sum.at == *host);
        let idle: Vec<_> =
            self.cluster.helpers.iter().copied().filter(|host| !busy(host)).collect();
        let taken = self.taken(now)?;
        // Updates that are on their way are committed before those that wait.
        let decided = self.pending.iter().filter(|pending| pending.fixed).count() as u64;
        let view = View {
            now,
            network: &self.network,
            server: self.cluster.server,
            helpers: &idle,
            version: decided - self.lost,
        };
        let verdict = decide(&view, rules, &taken, &updates, |from, to| self.route(from, to))?;
        self.story.decisions += 1;
        for (at, reason) in verdict.dropped {
            self.pending[waiting[at]].fixed = true;
            self.lost += 1;
            let worker = self.pending[waiting[at]].worker;
            self.story.dropped.push(Dropped { worker, at: now, reason });
            self.read(now, worker)?;
        }
        let sums = verdict.groups.iter().rposition(|group| group.at.is_some());
        let mut place = self.free_place;
        for (number, group) in verdict.groups.into_iter().enumerate() {
            // What goes before a sum stays there: the sum was planned around it.
            let stays = sums.is_some_and(|last| number <= last);
            let members: Vec<_> = group.updates.iter().map(|at| waiting[*at]).collect();
            match group.at {
                None => {
                    for update in members {
                        let worker = self.cluster.workers[self.pending[update].worker];
                        self.pending[update].fixed = stays;
                        self.send(Carries::Update(update), worker, self.cluster.server, place)?;
                        place += 1;
                    }
                }
                Some(host) => {
                    self.gather(host, members, place, group.ready)?;
                    place += 1;
                }
            }
            if stays {
                self.free_place = place;
            }
        }
        Ok(())
    }

    /// What is on its way or will be for sure, in the order of places: path, earliest start, size.
    fn taken(&self, now: Time) -> Result<Vec<(Path, Time, Bytes)>, SimError> {
        let moving = self.moving.all.iter();
        let moving = moving.filter(|t| !matches!(t.carries, Carries::Model(_) | Carries::Copy));
        let mut taken: Vec<_> =
            moving.map(|t| (t.place, (t.path.clone(), now, t.remaining()))).collect();
        for sum in self.sums.iter().filter(|sum| sum.missing > 0) {
            let path = self.path(sum.at, self.cluster.server)?;
            taken.push((sum.place, (path, sum.ready.max(now), self.cluster.update)));
        }
        taken.sort_by_key(|(place, _)| *place);
        Ok(taken.into_iter().map(|(_, what)| what).collect())
    }

    /// Sends updates to a host that sums them.
    fn gather(
        &mut self,
        host: NodeId,
        members: Vec<usize>,
        place: u32,
        ready: Time,
    ) -> Result<(), SimError> {
        let group = self.sums.len();
        let missing = members.len();
        for update in &members {
            self.pending[*update].fixed = true;
            self.pending[*update].summed = Some(host);
        }
        let open = true;
        self.sums.push(Sum { at: host, members: members.clone(), missing, open, place, ready });
        for update in members {
            let worker = self.cluster.workers[self.pending[update].worker];
            if worker == host {
                self.sums[group].missing -= 1;
            } else {
                self.send(Carries::Member { group, update }, worker, host, place)?;
            }
        }
        Ok(())
    }

    fn ended(&mut self, now: Time, transfer: Transfer) -> Result<(), SimError> {
        if !matches!(transfer.carries, Carries::Model(_)) {
            for link in transfer.path.iter() {
                self.story.messages[link.index()] += 1;
                self.story.crossed.push((now, *link));
            }
        }
        match transfer.carries {
            Carries::Update(update) => {
                self.pending[update].fixed = true;
                self.arrived.push(vec![update]);
            }
            Carries::Member { group, .. } => {
                self.sums[group].missing -= 1;
                if self.sums[group].missing == 0 {
                    let (at, place) = (self.sums[group].at, self.sums[group].place);
                    self.send(Carries::Sum(group), at, self.cluster.server, place)?;
                }
            }
            Carries::Sum(group) => {
                self.sums[group].open = false;
                self.arrived.push(self.sums[group].members.clone());
            }
            Carries::Model(worker) => self.compute(now, worker, self.version),
            Carries::Copy => self.copied(now),
        }
        Ok(())
    }

    /// Commits what has arrived, as far as the replica allows.
    fn commit(&mut self, now: Time) -> Result<(), SimError> {
        while let Some(updates) = self.arrived.first().cloned() {
            let delays: Vec<_> =
                updates.iter().map(|at| self.version - self.pending[*at].version).collect();
            // What grew too old on the way is thrown away; a sum cannot be taken apart.
            let bound = self.transfers.rules().and_then(|rules| rules.staleness);
            let old = delays.iter().copied().find(|delay| bound.is_some_and(|most| *delay > most));
            if old.is_none() && !self.replica_allows(now, updates.len())? {
                return self.copy();
            }
            self.arrived.remove(0);
            for (update, delay) in updates.into_iter().zip(delays) {
                let Pending { worker, available, summed, .. } = self.pending[update];
                if let (Some(delay), Some(bound)) = (old, bound) {
                    let reason = UpdateReason::TooStale { delay, bound };
                    self.story.dropped.push(Dropped { worker, at: now, reason });
                    self.lost += 1;
                } else {
                    self.version += 1;
                    let commit = Committed { worker, available, at: now, delay, summed };
                    self.story.commits.push(commit);
                }
                self.read(now, worker)?;
            }
        }
        Ok(())
    }

    /// Whether this many updates may be committed now; if so, the replica lacks them from now on.
    fn replica_allows(&mut self, now: Time, updates: usize) -> Result<bool, SimError> {
        let Some(copying) = &mut self.copying else { return Ok(true) };
        let norm = self.cluster.norm * updates as f64;
        let wrong = |source| SimError::Plan { at: now, source };
        // The copy is not there yet, or it would not be missing any more.
        let action = replicate(&copying.state, norm, now, Time::MAX, copying.most);
        let close = matches!(action.map_err(wrong)?, ReplicaAction::Commit { .. });
        // A replica that lacks nothing cannot be brought any closer.
        if !close && !copying.state.missing.is_empty() {
            copying.held = true;
            return Ok(false);
        }
        copying.state.missing.push(norm);
        self.story.apart.push(divergence_bound(&copying.state).map_err(wrong)?);
        Ok(true)
    }

    /// A worker asks for the model.
    fn read(&mut self, now: Time, worker: usize) -> Result<(), SimError> {
        if self.rounds[worker] >= self.stop.rounds {
            return Ok(());
        }
        if self.cluster.model == Bytes::ZERO {
            self.compute(now, worker, self.version);
            return Ok(());
        }
        let (from, to) = (self.cluster.server, self.cluster.workers[worker]);
        self.send(Carries::Model(worker), from, to, FIRST_PLACE)
    }

    /// Sends the replica what it lacks, with the bandwidth that is left or, if a commit waits, first.
    fn copy(&mut self) -> Result<(), SimError> {
        let (Some(copying), Some(replica)) = (&mut self.copying, self.cluster.replica) else {
            return Ok(());
        };
        let place = if copying.held { FIRST_PLACE } else { COPY_PLACE };
        let start = copying.under_way.is_none() && !copying.state.missing.is_empty();
        if start {
            copying.under_way = Some(copying.state.missing.len());
            self.send(Carries::Copy, self.cluster.server, replica, place)?;
        }
        for transfer in self.moving.all.iter_mut().filter(|t| t.carries == Carries::Copy) {
            transfer.place = place;
        }
        Ok(())
    }

    /// A sum of missing updates has reached the replica.
    fn copied(&mut self, now: Time) {
        let Some(copying) = &mut self.copying else { return };
        let count = copying.under_way.take().unwrap_or(0);
        let Replica { momentum, history, missing } = &mut copying.state;
        for norm in missing.drain(..count) {
            *history = *momentum * *history + norm;
        }
        let held = std::mem::replace(&mut copying.held, false);
        self.story.copies.push(Copied { at: now, updates: count, held });
    }
}
