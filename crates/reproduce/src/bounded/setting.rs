//! The paper's simulated network (§3.1), and who trains on it.

use laxity_interface::{Bytes, Layout as PortLayout, Span};
use laxity_packetsim::{
    Discipline, PortSetup, Scheme, Simulation, World,
    scenario::{FileError, Point, Scenario},
};

use super::model::{MODELS, Model};
use crate::{findings::Findings, options::Options};

/// What ports keep for the farewells that end UDP's flows.
const FAREWELLS: u64 = 6_000;
/// What the paper calls TCP: DCTCP as papers compare with it.
pub(super) const TCP: &str = "dctcp-plain";
/// Our transport on the paper's ports, which have one queue.
pub(super) const LAXITY: &str = "laxity";
/// The same on ports with queues by class, where it stands behind the background's exact traffic.
pub(super) const BEHIND: &str = "laxity-behind";
const BUFFER: u64 = 450_000;
const MARK_ABOVE: u64 = 90_000;
/// From the end of an iteration to the begin of the next, in the simulation.
pub(super) const GAP: Span = Span::from_us(100);

/// How large the network and the jobs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Size {
    /// Racks of 16 hosts.
    pub(super) racks: u32,
    /// What models are divided by (1, but for tests).
    pub(super) smaller: u64,
    /// Iterations of one run.
    pub(super) iterations: u32,
    /// Background before the training begins.
    pub(super) warm_us: u64,
    /// Seeds, counted from the one that was asked for.
    pub(super) seeds: u64,
}

impl Size {
    const FULL: Self = Self { racks: 8, smaller: 1, iterations: 10, warm_us: 5_000, seeds: 3 };
    const QUICK: Self = Self { iterations: 2, warm_us: 1_000, seeds: 1, ..Self::FULL };

    pub(super) fn of(options: &Options) -> Self {
        options.pick(Self::QUICK, Self::FULL)
    }
}

/// Hosts of a rack's 16 that are in a ring.
pub(super) const RING_A_RACK: u32 = 8;
/// The rate of every line.
pub(super) const LINE_GBPS: u32 = 40;

/// Who sends to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layout {
    /// Seven workers and a parameter server in every rack.
    Servers,
    /// Four workers and four parameter servers in every rack.
    Halves,
    /// All eight in a ring, rack by rack.
    Ring,
}

impl Layout {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Servers => "7 workers, 1 server a rack",
            Self::Halves => "4 workers, 4 servers a rack",
            Self::Ring => "ring",
        }
    }

    /// Transfers that follow each other in an iteration.
    pub(super) fn steps(self, size: &Size) -> u32 {
        match self {
            Self::Servers | Self::Halves => 2,
            Self::Ring => 2 * (8 * size.racks - 1),
        }
    }

    fn workload(self, size: &Size) -> String {
        let workers = match self {
            Self::Ring => {
                return format!(
                    "kind = \"ring-all-reduce\"\nhosts = {{ first = {RING_A_RACK}, of = 16 }}\n"
                );
            }
            Self::Servers => 7,
            Self::Halves => 4,
        };
        let servers = (0..size.racks).flat_map(|rack| (workers..8).map(move |at| 16 * rack + at));
        let servers: Vec<_> = servers.map(|host| format!("\"h{host}\"")).collect();
        format!(
            "kind = \"parameter-server\"\nworkers = {{ first = {workers}, of = 16 }}\nservers = [{}]\n",
            servers.join(", ")
        )
    }
}

/// One training to simulate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) model: &'static Model,
    pub(super) layout: Layout,
    /// What carries it; [`BEHIND`] is [`LAXITY`] on other ports.
    pub(super) scheme: &'static str,
}

impl Case {
    fn is_laxity(&self) -> bool {
        [LAXITY, BEHIND].contains(&self.scheme)
    }
}

/// All models with these layouts and schemes.
pub(super) fn cases(layouts: &[Layout], schemes: &[&'static str]) -> Vec<Case> {
    let mut all = Vec::new();
    for model in &MODELS {
        for &layout in layouts {
            all.extend(schemes.iter().map(|&scheme| Case { model, layout, scheme }));
        }
    }
    all
}

/// What the paper leaves open.
pub(super) fn open(findings: &mut Findings, size: &Size) {
    findings.chose(
        "The paper prints neither sizes nor computing times nor numbers of epochs of its models. Sizes are those of the usual \
         examples for its data sets. Computing times are those that make its table 1 true: with plain DCTCP, servers and the \
         simulated network, an iteration takes as many times longer than with mean flows as the table says. Speed-ups by \
         operations of a batch over a speed are in the rows besides:",
    );
    for model in &MODELS {
        let (bytes, compute) = (model.bytes() as f64 / 1e6, model.compute_ms());
        findings.chose(format!(
            "{}: {bytes:.2} MB; by operations {compute:.4} ms a batch ({}).",
            model.name, model.why
        ));
    }
    findings.chose(
        "Epochs are not simulated: within the bounds of table 3 all of a model's runs need the same number, so they cancel. \
         Times are of one iteration, compute + 2 x network.",
    );
    findings.chose(format!(
        "One job on all hosts for training ({}); parameter servers: 7 workers and 1 server a rack unless said otherwise. \
         The paper does not say how many jobs there are or who is a server.",
        8 * size.racks
    ));
    findings.chose(
        "Network time is half of the mean time that a simulated iteration takes without computing (push and pull, or both \
         halves of the ring's steps), over consecutive iterations 0.1 ms apart. The paper's 2 x network comes to the same.",
    );
    findings.chose(format!(
        "Background: flows of the DCTCP paper's web search over plain DCTCP at load 0.5 of the core, from {} ms before \
         training. All links 40 Gbit/s, so a rack's 16 hosts share 160 Gbit/s (4:1). 1 us of delay per link. A port has \
         450 KB. Plain DCTCP has timeouts of 10 ms and no probes; strong DCTCP (`dctcp`) has probes and 1 ms.",
        size.warm_us as f64 / 1e3
    ));
    findings.chose(format!(
        "{} iterations of every training, with each of {} seeds.",
        size.iterations, size.seeds
    ));
    if size.iterations < Size::FULL.iterations {
        findings
            .chose("Quick: the paper's network and whole models, but few iterations of one seed.");
    }
}

/// A training beside the background.
pub(super) fn scenario(case: &Case, size: &Size) -> Result<Scenario, FileError> {
    // A message is what fits a packet; Laxity's packets have more headers.
    let (message, scheme) = match case.is_laxity() {
        true => (1400, LAXITY),
        false => (1460, case.scheme),
    };
    Scenario::from_toml(&format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = {}\nspines = 4\nhosts = 16\noversubscription = 4\nrate = \"{LINE_GBPS}Gbps\"\ndelay = \"1us\"\n\
         [switch]\nbuffer = \"{BUFFER}B\"\nmark-above = \"{MARK_ABOVE}B\"\n[limits]\nuntil = \"5s\"\n\
         [[workloads]]\nname = \"training\"\n{}scheme = \"{}\"\nbytes = \"{}B\"\nmessage = \"{message}B\"\n\
         iterations = {}\ncompute = \"{}us\"\nstart = \"{}us\"\nmin-delivery = {}\n\
         [[workloads]]\nname = \"background\"\nkind = \"poisson\"\nscheme = \"dctcp-plain\"\n\
         hosts = {{ last = 8, of = 16 }}\nbackground = true\nsize = \"web-search\"\nload = 0.5\nof = \"core\"\n",
        size.racks,
        case.layout.workload(size),
        scheme,
        case.model.bytes() / size.smaller,
        size.iterations,
        GAP.as_us(),
        size.warm_us,
        1.0 - case.model.bound,
    ))
}

/// Ports are the paper's, one queue each; only [`BEHIND`] has queues by class, with the same buffer and
/// threshold.
pub(super) fn simulation(
    case: &Case,
    point: &Point,
    seed: u64,
) -> Result<Simulation, laxity_packetsim::SetupError> {
    let mut setup = point.setup(seed);
    let layout = if case.scheme == BEHIND { PortLayout::Shared } else { PortLayout::Single };
    if layout == PortLayout::Single {
        // Only UDP's packets may be dropped early: its farewells pass, everybody else sees no difference.
        let fifo = PortSetup::fifo(Bytes::new(BUFFER), Some(Bytes::new(MARK_ABOVE)))
            .with_droppable_above(Bytes::new(BUFFER - FAREWELLS));
        setup.switch = PortSetup { discipline: Discipline::Single, ..fifo };
    }
    let base_rtt = Simulation::new(&setup, |_| Vec::new())?.base_rtt();
    let hosts = point.topology.hosts().len();
    let world = World { line_rate: point.line_rate(), base_rtt, hosts };
    let schemes = point.schemes();
    let stack = |scheme: &Scheme, host| scheme.stack_on(layout, host, seed, &world);
    Simulation::new(&setup, |host| schemes.iter().map(|scheme| stack(scheme, host)).collect())
}
