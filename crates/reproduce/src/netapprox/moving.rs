//! A job under background that moves from queue to queue (§7.1.2).

use std::sync::{Arc, Mutex};

use laxity_interface::{Bytes, Fraction, Layout, Rate, Span, Time};
use laxity_packetsim::{
    Chance, Context, Flow, FlowId, HostId, Limits, Messages, Packet, PortBase, Ready, Scheme,
    Setup, Simulation, Stack, Tally, World,
    measure::{self, Measured},
    sizes::Sizes,
    stacks::{
        laxity::Form,
        reserved::{Outlook, Reserved},
    },
    workload::{Cargo, Combined, Gaps, Pattern, Planned, Rounds, Started, Tag},
};
use laxity_topology::Topology;

use super::beam::Beam;
use crate::error::ReproduceError;

/// Speed of every link.
const LINE: Rate = Rate::from_gbps(40);
/// What the background sends: three quarters of a link.
pub(super) const BEAM: Rate = Rate::from_gbps(30);
/// Hosts that send the job, each its part, to one.
pub(super) const SENDERS: u16 = 4;
/// Draws from the distribution of sizes, to know what the smallest messages add up to.
const DRAWS: usize = 10_000;

/// Which of two readings of the paper these experiments follow.
pub(super) const READING: &str = "Two statements of the paper do not fit one protocol here. Where lost messages are sent again in the order of all (§4.3, as \
     in the other experiments), the target of equation 1 rises as a job goes on and its queue goes from 4 to 7. Figure 12 has it \
     fall: for that, lost messages have to stay lost while the slack covers them. This experiment does the latter.";

/// One job beside a background.
#[derive(Debug, Clone)]
pub(super) struct Moving {
    pub(super) scheme: Scheme,
    /// Messages of FBKV that every sender has.
    pub(super) messages: u32,
    pub(super) min_delivery: f64,
    /// The background's queues, each from its time on.
    pub(super) queues: Vec<(Time, u8)>,
    pub(super) seed: u64,
}

/// What one sender's rate control did at one moment, and the queue it used last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) at: Time,
    pub(super) outlook: Outlook,
    pub(super) queue: u8,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Moved {
    pub(super) job: Measured,
    /// What the rate control of the first sender did, each time that it changed its mind.
    pub(super) moments: Vec<Moment>,
}

/// The queue in which a job begins: its slack in sevenths, rounded up (§5.2).
pub(super) fn first_queue(min_delivery: f64) -> u8 {
    ((1.0 - min_delivery) * 7.0 - 1e-9).ceil() as u8
}

impl Moving {
    /// The least time that the job can take: that of the smallest messages that are enough, at the
    /// speed of the receiver's link.
    pub(super) fn least_time(&self) -> Span {
        let mut chance = Chance::new(self.seed, "sizes", 0);
        let sizes = sizes();
        let mut drawn: Vec<u64> =
            (0..DRAWS).map(|_| u64::from(sizes.sample(&mut chance))).collect();
        drawn.sort_unstable();
        let enough = (DRAWS as f64 * self.min_delivery) as usize;
        let bytes: u64 = drawn[..enough].iter().sum();
        let flows = f64::from(self.messages) * f64::from(SENDERS) / DRAWS as f64;
        Span::from_secs_f64(bytes as f64 * flows * 8.0 / LINE.as_bps() as f64)
    }

    /// Lets it happen.
    pub(super) fn run(&self) -> Result<Moved, ReproduceError> {
        let what = || format!("{} beside moving background", self.scheme);
        let error = |e: &dyn std::fmt::Display| ReproduceError::other(what(), e.to_string());
        let hosts = u32::from(SENDERS) + 2;
        let topology = Topology::star(hosts, LINE, Span::from_us(1)).map_err(|e| error(&e))?;
        let base = PortBase { buffer: Bytes::new(1_500_000), mark_above_packets: 65, rate: LINE };
        let setup = Setup::new(topology, self.scheme.ports(&base), self.seed);
        let base_rtt = Simulation::new(&setup, |_| Vec::new()).map_err(|e| error(&e))?.base_rtt();
        let world = World { line_rate: LINE, base_rtt, hosts: hosts as usize };
        let seen = Arc::new(Mutex::new(Vec::new()));
        let stacks = |host: HostId| -> Vec<Box<dyn Stack>> {
            let own: Box<dyn Stack> = match self.scheme {
                Scheme::Protocol(form) if form != Form::Laxity => Box::new(Watched {
                    inner: Reserved::new(form, Layout::Slack, host, self.seed).leaving_losses(),
                    watched: (host.0 == 1).then(|| seen.clone()),
                    queue: first_queue(self.min_delivery),
                    last: None,
                }),
                scheme => scheme.stack(host, self.seed, &world),
            };
            vec![own, Box::new(Beam::new(BEAM, self.queues.clone()))]
        };
        let mut simulation = Simulation::new(&setup, stacks).map_err(|e| error(&e))?;
        let mut driver = self.driver();
        let limits = Limits::until(Time::ZERO + Span::from_secs(2));
        let outcome = simulation.run(&mut driver, limits);
        let started = driver.into_started();
        let none = |_: &Started| Span::ZERO;
        let job = measure::measure(2, &started, &outcome.done, outcome.end, none).swap_remove(0);
        let moments = seen.lock().expect("nobody panics with the lock").clone();
        Ok(Moved { job, moments })
    }

    fn driver(&self) -> Combined {
        let min_delivery = Fraction::new(self.min_delivery).expect("a part between 0 and 1");
        let (messages, sizes, gaps) = (self.messages, sizes(), Gaps::AtOnce);
        let cargo = Cargo { stack: 0, min_delivery, messages, sizes, gaps };
        let pattern = Pattern::Incast { senders: SENDERS.into(), receiver: Some(HostId(0)) };
        let hosts = (0..=SENDERS).map(HostId).collect();
        let chance = Chance::new(self.seed, "moving", 0);
        let job = Rounds::new(pattern, hosts, cargo, 1, Time::ZERO, Span::ZERO, chance);
        let beam = Flow {
            from: HostId(SENDERS + 1),
            to: HostId(0),
            stack: 1,
            tag: Tag::new(0, 0).pack(),
            messages: Messages::Equal { count: 1, bytes: 1 },
            ready: Ready::AtOnce,
            min_delivery: Fraction::ONE,
        };
        let beam = Planned::new([(Time::ZERO, beam)]);
        Combined::new(vec![(Box::new(job), true), (Box::new(beam), false)])
    }
}

fn sizes() -> Sizes {
    "fbkv".parse().expect("a distribution that is there")
}

/// One of the papers' forms, and somebody who writes down what its rate control does.
#[derive(Debug)]
struct Watched {
    inner: Reserved,
    watched: Option<Arc<Mutex<Vec<Moment>>>>,
    queue: u8,
    last: Option<Outlook>,
}

impl Watched {
    fn note(&mut self, at: Time) {
        let Some(seen) = &self.watched else { return };
        let Some(outlook) = self.inner.outlook() else { return };
        if self.last.replace(outlook) != Some(outlook) {
            let moment = Moment { at, outlook, queue: self.queue };
            seen.lock().expect("nobody panics with the lock").push(moment);
        }
    }
}

impl Stack for Watched {
    fn handle_start(&mut self, id: FlowId, cx: &mut Context<'_>) {
        self.inner.handle_start(id, cx);
    }

    fn handle_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.inner.handle_packet(packet, cx);
        self.note(cx.now);
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        self.inner.handle_timeout(cx);
        self.note(cx.now);
    }

    fn poll_packet(&mut self, cx: &mut Context<'_>) -> Option<Packet> {
        let packet = self.inner.poll_packet(cx)?;
        if packet.class > 0 {
            self.queue = packet.class;
        }
        Some(packet)
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.inner.poll_timeout()
    }

    fn tally(&self) -> Tally {
        self.inner.tally()
    }
}
