//! Scenario files: a network, what is sent over it by what, and which values a sweep goes through.
//!
//! ```
//! use laxity_packetsim::scenario::Scenario;
//! let scenario = Scenario::from_toml(
//!     r#"
//!     seeds = [1, 2, 3]
//!     topology = { kind = "star", hosts = 17, rate = "10Gbps", delay = "1us" }
//!
//!     [switch]
//!     buffer = "256KB"
//!
//!     [[workloads]]
//!     kind = "incast"
//!     scheme = ["dctcp", "udp"]
//!     senders = { from = 4, to = 16, times = 2 }
//!     size = "64KB"
//!     "#,
//! )?;
//! assert_eq!((scenario.points(), scenario.seeds()), (6, &[1, 2, 3][..]));
//! let point = scenario.point(3);
//! assert_eq!(point.settings, [("scheme".into(), "udp".into()), ("senders".into(), "8".into())]);
//! # Ok::<(), laxity_packetsim::scenario::FileError>(())
//! ```

mod amount;
mod check;
mod dry;
mod error;
#[cfg(test)]
mod fault_tests;
mod faults;
#[cfg(test)]
mod gap_tests;
mod hosts;
mod many;
mod memory;
mod point;
mod raw;
mod source;
mod sweep;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use laxity_interface::{Bytes, Span, Time};
use laxity_topology::Topology;
use toml::Spanned;

use crate::{Limits, Routing, Scheme};

pub use amount::Amount;
use check::Check;
pub use dry::{Dry, DryWorkload};
pub use error::FileError;
use error::Text;
use faults::CheckFaults;
pub use many::{Task, each, run_all};
use memory::shared_memory;
pub use point::{Point, Ran};
use raw::{Named, RawRouting, RawScenario};
pub use source::{Source, Workload};
use sweep::Picker;

/// More points than this are a mistake.
const MOST_POINTS: u64 = 100_000;
/// Simulated time after which a simulation ends if nothing is said.
const UNTIL: Span = Span::from_secs(10);

/// A scenario file that passed every check.
#[derive(Clone, Debug)]
pub struct Scenario {
    text: String,
    raw: RawScenario,
    net: Arc<Topology>,
    points: u64,
    seeds: Vec<u64>,
}

impl Scenario {
    /// Reads a scenario and checks each of its points.
    pub fn from_toml(text: &str) -> Result<Self, FileError> {
        let raw: RawScenario = toml::from_str(text).map_err(|error| FileError::Syntax {
            reason: error.to_string().trim_end().to_owned(),
        })?;
        let at = Text(text);
        let net = raw
            .topology
            .get_ref()
            .build()
            .map_err(|error| at.wrong(raw.topology.span(), "topology", error.to_string()))?;
        if net.hosts().len() > usize::from(u16::MAX) {
            let reason = format!("{} hosts: at most 65535", net.hosts().len());
            return Err(at.wrong(raw.topology.span(), "topology", reason));
        }
        if raw.workloads.is_empty() || raw.workloads.len() > 256 {
            let reason =
                format!("{} of them: write 1 to 256 tables [[workloads]]", raw.workloads.len());
            return Err(at.wrong(0..0, "workloads", reason));
        }
        let seeds = raw.seeds.as_ref().map_or_else(|| vec![1], |seeds| seeds.get_ref().0.clone());
        let mut all = Self { text: text.to_owned(), raw, net: net.into(), points: 1, seeds };
        all.points = all.resolve(0)?.1;
        if all.points > MOST_POINTS {
            let reason = format!("the lists make {} points: at most {MOST_POINTS}", all.points);
            return Err(Text(text).wrong(0..0, "workloads", reason));
        }
        for point in 1..all.points {
            all.resolve(point)?;
        }
        Ok(all)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.raw.name.as_deref().unwrap_or("scenario")
    }

    /// What it is for.
    pub fn about(&self) -> Option<&str> {
        self.raw.about.as_deref()
    }

    /// How many combinations of values there are.
    pub const fn points(&self) -> u64 {
        self.points
    }

    /// The seeds that every point is run with.
    pub fn seeds(&self) -> &[u64] {
        &self.seeds
    }

    /// The network.
    pub fn topology(&self) -> &Topology {
        &self.net
    }

    /// One combination of values.
    ///
    /// # Panics
    /// If there is no such point.
    pub fn point(&self, point: u64) -> Point {
        assert!(point < self.points, "point {point} of {}", self.points);
        self.resolve(point).expect("every point was checked").0
    }

    /// A point, and how many there are.
    fn resolve(&self, index: u64) -> Result<(Point, u64), FileError> {
        let (text, raw) = (Text(&self.text), &self.raw);
        let mut picker = Picker::new(index);
        let switch = &raw.switch;
        let buffer = switch.buffer.as_ref().map(|all| picker.pick("buffer", all.get_ref()));
        let mark = switch.mark_above.as_ref().map(|all| picker.pick("mark-above", all.get_ref()));
        let layout = switch.layout.as_ref().map(|all| picker.pick("layout", all.get_ref()));
        let memory = switch.memory.as_ref().map(|all| picker.pick("memory", all.get_ref()));
        let share = switch.share.as_ref().map(|all| picker.pick("share", all.get_ref()));
        let memory = shared_memory(text, switch, memory, share)?;
        if let (Some(layout), Some(_)) = (&switch.layout, &switch.ports) {
            let reason = "ports are those of a layout or those of a scheme: leave out one of them";
            return Err(text.wrong(layout.span(), "switch.layout", reason));
        }
        let whole = memory.map_or(Bytes::new(1_500_000), |memory| memory.total);
        let buffer = buffer.unwrap_or(whole);
        if buffer < Bytes::new(1518) {
            let place = switch.buffer.as_ref().map_or(0..0, Spanned::span);
            let reason = format!("{buffer} hold no full packet: give at least 1518B");
            return Err(text.wrong(place, "switch.buffer", reason));
        }
        let mut names: Vec<String> = Vec::new();
        let mut workloads = Vec::new();
        for (at, raw) in raw.workloads.iter().enumerate() {
            let raw_workload = raw.get_ref();
            let path = format!("workloads[{at}]");
            let name = match &raw_workload.name {
                Some(name) => name.get_ref().clone(),
                None => raw_workload.kind.name().to_owned(),
            };
            if let Some(given) = raw_workload.name.as_ref().filter(|_| names.contains(&name)) {
                let reason = format!("`{name}` is there twice: names tell workloads apart");
                return Err(text.wrong(given.span(), format!("{path}.name"), reason));
            }
            let name = if names.contains(&name) { format!("{name}-{at}") } else { name };
            names.push(name.clone());
            let called = if self.raw.workloads.len() > 1 { name.clone() } else { String::new() };
            let (net, place) = (&self.net, raw.span());
            let mut check = Check { text, net, picker: &mut picker, path, called, place };
            workloads.push(check.workload(raw_workload, name)?);
        }
        let routing = raw.routing.map(|routing| match routing {
            RawRouting::Ecmp => Routing::Ecmp,
            RawRouting::Spray => Routing::Spray,
        });
        let ports =
            switch.ports.as_ref().map_or_else(|| workloads[0].scheme, |Named(scheme)| *scheme);
        let here = point::schemes(&workloads);
        let all = raw.workloads.iter().flat_map(|own| &own.get_ref().scheme.get_ref().0);
        let anywhere: Vec<Scheme> = all.map(|Named(scheme)| *scheme).collect();
        let (net, picker_here) = (&*self.net, &mut picker);
        let (here, anywhere) = (&here[..], &anywhere[..]);
        let mut check = CheckFaults { text, net, picker: picker_here, here, anywhere };
        let faults = check.faults(&raw.faults)?;
        let limits = Limits {
            until: Time::ZERO + raw.limits.until.unwrap_or(UNTIL),
            max_events: raw.limits.max_events.unwrap_or(u64::MAX),
        };
        let mark_above = mark.unwrap_or(Amount::Packets(65));
        let (settings, topology) = (picker.chosen, self.net.clone());
        let point = Point {
            index,
            settings,
            topology,
            buffer,
            memory,
            mark_above,
            layout,
            ports,
            routing,
            workloads,
            faults,
            limits,
        };
        Ok((point, picker.points))
    }
}
