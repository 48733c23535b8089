//! A network with hosts, and its run.

mod host;
mod ideal;
mod memory;
mod network;
mod outcome;
mod run;

use laxity_interface::{Rate, Span, Time};
use laxity_topology::{LinkId, Routes};

use self::{
    host::{Common, Host},
    memory::Memories,
    network::{Line, Network},
    run::Run,
};
use crate::{
    fault::{Rules, Trouble},
    flow::{Done, Driver, HostId},
    kernel::{Class, MOST_TARGETS, Pool, Queue},
    port::{self, Port},
    random::stream,
    series::{Series, SeriesSetup},
    setup::{Discipline, Setup, SetupError},
    stack::Stack,
    trace::{Observer, TraceHash},
};

pub use ideal::{ideal_time, ideal_time_on};
pub use outcome::{Drops, Limits, Outcome, Stopped};

/// A network, its hosts and everything under way, at one moment of virtual time.
#[derive(Debug)]
pub struct Simulation {
    net: Network,
    hosts: Vec<Host>,
    common: Common,
    /// The host and stack of every timer.
    timers: Vec<(u16, u8)>,
    /// Which flows ended.
    finished: Vec<bool>,
    /// Ends that were handled and not given out yet.
    collected: Vec<Done>,
    /// What happens to links, and when.
    changes: Vec<Change>,
    /// When the driver's event comes.
    driver_armed: u64,
    series: Option<(SeriesSetup, Series)>,
    events: u64,
}

/// A link goes down or comes up, or routes notice.
#[derive(Debug, Clone, Copy)]
struct Change {
    link: LinkId,
    down: bool,
    /// Whether routes change, or packets are lost.
    routes: bool,
}

impl Simulation {
    /// Puts a network together. `stacks` gives the stacks of each host; flows and packets name them
    /// by their position.
    pub fn new(
        setup: &Setup,
        mut stacks: impl FnMut(HostId) -> Vec<Box<dyn Stack>>,
    ) -> Result<Self, SetupError> {
        let topology = setup.topology.clone();
        if setup.nic.queue_packets == 0 {
            return Err(SetupError::NoNicQueue);
        }
        if let Some(memory) =
            setup.memory.filter(|memory| memory.share.is_nan() || memory.share <= 0.0)
        {
            return Err(SetupError::BadShare { share: memory.share });
        }
        within("links", topology.links().len())?;
        let (rules, changes) = faults(setup)?;
        let mut queue = Queue::default();
        for (at, (time, _)) in changes.iter().enumerate() {
            queue.push(time.as_ps(), Class::Fault, at as u32);
        }
        let routes = Routes::new(&topology);
        let lines = (0..topology.links().len() as u32).map(LinkId).map(|id| {
            let link = topology.link(id);
            let discipline = match topology.host_index(link.from) {
                Some(_) => Discipline::Strict,
                None => setup.switch.discipline,
            };
            Line::new(&topology, id, Port::new(link.capacity, discipline), !rules.is_empty())
        });
        let lines = lines.collect();
        let (mut hosts, mut timers) = (Vec::new(), Vec::new());
        for (index, node) in topology.hosts().iter().enumerate() {
            let links = topology.out_links(*node);
            let rates = links.iter().map(|link| topology.link(*link).capacity);
            let Some(line_rate) = rates.max() else {
                return Err(SetupError::Unconnected { host: topology.name(*node).to_string() });
            };
            let id = HostId(index as u16);
            let stacks = stacks(id);
            let first_timer = timers.len() as u32;
            timers.extend((0..stacks.len()).map(|stack| (id.0, stack as u8)));
            hosts.push(Host {
                id,
                node: *node,
                armed: vec![u64::MAX; stacks.len()],
                stacks,
                lines: links.iter().map(|link| link.0).collect(),
                line_rate,
                rng: stream(setup.seed, "host", index as u64),
                first_timer,
                turn: 0,
            });
        }
        within("stacks", timers.len())?;
        let common = Common {
            base_rtt: ideal::base_rtt(&topology, &routes),
            nic_packets: setup.nic.queue_packets,
            flows: Vec::new(),
            done: Vec::new(),
        };
        let net = Network {
            now: 0,
            queue,
            pool: Pool::default(),
            lines,
            topology,
            routes,
            routing: setup.routing,
            limits: port::Limits::new(&setup.switch),
            memories: setup.memory.map(|memory| Memories::new(&memory, &setup.topology)),
            rules,
            spray: crate::random::mix(setup.seed),
            hash: TraceHash::default(),
            hops: 0,
            sent: 0,
            delivered: 0,
            drops: Drops::default(),
            marks: 0,
            trimmed: 0,
        };
        Ok(Self {
            net,
            hosts,
            common,
            timers,
            finished: Vec::new(),
            collected: Vec::new(),
            changes: changes.into_iter().map(|(_, change)| change).collect(),
            driver_armed: u64::MAX,
            series: None,
            events: 0,
        })
    }

    /// Asks for samples of queues and links from now on.
    pub fn record(&mut self, setup: SeriesSetup) {
        assert!(!setup.interval.is_zero(), "samples need time between them");
        let first = self.net.time();
        if self.series.is_none() {
            self.net.queue.push(first.as_ps(), Class::Sample, 0);
        }
        let series = Series::new(&setup, first);
        self.series = Some((setup, series));
    }

    /// Lets things happen. May be called again to go on.
    ///
    /// # Panics
    /// If the driver starts a flow from a host to itself, with a stack that the host has not or with
    /// times of messages that do not ascend, or if a stack ends a flow twice.
    pub fn run(&mut self, driver: &mut dyn Driver, limits: Limits) -> Outcome {
        Run::new(self, driver, None).run(limits)
    }

    /// The same, and `observer` sees everything that happens.
    pub fn run_observed(
        &mut self,
        driver: &mut dyn Driver,
        limits: Limits,
        observer: &mut dyn Observer,
    ) -> Outcome {
        Run::new(self, driver, Some(observer)).run(limits)
    }

    /// Lets things happen without looking back: no [`Outcome`], whose cost grows with the flows so
    /// far. For drivers that stop and go on very often.
    ///
    /// # Panics
    /// As [`run`](Self::run) does.
    pub fn advance(&mut self, driver: &mut dyn Driver, limits: Limits) -> Stopped {
        let stopped = Run::new(self, driver, None).go(limits);
        self.collected.clear();
        stopped
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.net.time()
    }

    /// Round trip of a full packet and its answer between the hosts that are farthest apart, in an
    /// empty network.
    pub fn base_rtt(&self) -> Span {
        self.common.base_rtt
    }

    /// The fastest interface of a host.
    pub fn line_rate(&self, host: HostId) -> Rate {
        self.hosts[host.index()].line_rate
    }

    /// The stacks of a host.
    pub fn stacks(&self, host: HostId) -> &[Box<dyn Stack>] {
        &self.hosts[host.index()].stacks
    }
}

fn within(what: &'static str, count: usize) -> Result<(), SetupError> {
    match count {
        0..MOST_TARGETS => Ok(()),
        _ => Err(SetupError::TooMany { what, count, most: MOST_TARGETS }),
    }
}

/// What happens to links, and when.
type Changes = Vec<(Time, Change)>;

/// The rules of every link, and what happens to links when.
fn faults(setup: &Setup) -> Result<(Vec<Rules>, Changes), SetupError> {
    let links = setup.topology.links().len();
    let mut changes = Vec::new();
    if setup.faults.is_empty() {
        return Ok((Vec::new(), changes));
    }
    let mut rules: Vec<_> = (0..links).map(|_| Rules::default()).collect();
    for (number, fault) in setup.faults.iter().enumerate() {
        for link in fault.links(links) {
            let Some(own) = rules.get_mut(link.index()) else {
                return Err(SetupError::NoSuchLink { fault: number, link: link.0, links });
            };
            own.add(fault, setup.seed, number, link.0);
            if let Trouble::Down { from, until, detect } = fault.what {
                for (time, down) in [(Some(from), true), (until, false)] {
                    let Some(time) = time else { continue };
                    changes.push((time, Change { link, down, routes: false }));
                    changes.push((time + detect, Change { link, down, routes: true }));
                }
            }
        }
    }
    Ok((rules, changes))
}
