//! From what a file says to a workload that can be played.

use laxity_interface::{Bytes, Fraction, Rate, Span, Time};
use laxity_topology::{NodeKind, Topology};

use super::{
    error::{FileError, Text},
    hosts::{self, HostSet},
    raw::{At, Field, Kind, LoadOf, Named, RawWorkload},
    source::{Source, Workload},
    sweep::{Picker, Sweep},
};
use crate::{
    flow::HostId,
    sizes::Sizes,
    workload::{Cargo, Collective, GapShape, GapSpec, Gaps, Pattern, Until},
};

/// What bulk data is cut into where nothing is said: a chunk that fits one packet.
const CHUNK: Bytes = Bytes::new(1400);

/// One workload under scrutiny.
pub(super) struct Check<'a> {
    pub(super) text: Text<'a>,
    pub(super) net: &'a Topology,
    pub(super) picker: &'a mut Picker,
    /// Such as `workloads[0]`.
    pub(super) path: String,
    /// Its name, under which chosen values appear; empty for the only one.
    pub(super) called: String,
    pub(super) place: std::ops::Range<usize>,
}

impl Check<'_> {
    pub(super) fn workload(
        &mut self,
        raw: &RawWorkload,
        name: String,
    ) -> Result<Workload, FileError> {
        for (field, place) in raw.given() {
            if !raw.kind.fields().contains(&field) {
                let (kind, fields) = (raw.kind.name(), raw.kind.fields().join(", "));
                let reason =
                    format!("a workload of kind `{kind}` has no such field; it has {fields}");
                return Err(self.text.wrong(place, self.at(field), reason));
            }
        }
        // Every field is picked for every point, in this order: it numbers the points.
        let scheme = self.value("scheme", raw.scheme.get_ref()).0;
        let min_delivery = self.or("min-delivery", &raw.min_delivery, Fraction::ONE);
        let messages = self.or("messages", &raw.messages, 1);
        let size = self.optional("size", &raw.size).map(|Named(sizes)| sizes);
        let arrivals = self.optional("arrivals", &raw.arrivals).map(|Named(spec)| spec);
        let arrival_load = self.optional("arrival-load", &raw.arrival_load);
        let rounds = self.or("rounds", &raw.rounds, 1);
        let senders = self.optional("senders", &raw.senders);
        let load = self.optional("load", &raw.load);
        let count = self.optional("count", &raw.count);
        let bytes = self.optional("bytes", &raw.bytes);
        let compute = self.or("compute", &raw.compute, Span::ZERO);
        let iterations = self.or("iterations", &raw.iterations, 1);
        if min_delivery == Fraction::ZERO {
            let reason = "0: nothing would have to arrive; give a part above 0, or 1 for all";
            return Err(self.wrong("min-delivery", &raw.min_delivery, reason));
        }
        for (field, place, value) in [
            ("messages", place(&raw.messages), messages),
            ("rounds", place(&raw.rounds), rounds),
            ("iterations", place(&raw.iterations), iterations),
        ] {
            if value == 0 {
                return Err(self.text.wrong(place, self.at(field), "0: give at least 1"));
            }
        }
        let sizes = size.unwrap_or(Sizes::Fixed(CHUNK));
        let gaps = self.gaps(raw, arrivals, arrival_load, &sizes)?;
        let cargo = Cargo { stack: 0, min_delivery, messages, sizes, gaps };
        let gap = raw.gap.as_ref().map_or(Span::ZERO, |gap| *gap.get_ref());
        let source = match raw.kind {
            Kind::AllToAll | Kind::Permutation | Kind::Random | Kind::Incast => {
                self.needs("size", raw.size.is_some())?;
                let hosts = self.hosts("hosts", &raw.hosts, 2)?;
                let pattern = match raw.kind {
                    Kind::AllToAll => Pattern::AllToAll,
                    Kind::Permutation => Pattern::Permutation,
                    Kind::Random => Pattern::Random,
                    _ => self.incast(raw, senders, &hosts)?,
                };
                Source::Rounds { pattern, hosts, cargo, rounds, gap }
            }
            Kind::Poisson => {
                self.needs("size", raw.size.is_some())?;
                let hosts = self.hosts("hosts", &raw.hosts, 2)?;
                let offered = self.offered(raw, load, &hosts)?;
                let until = self.until(raw, count)?;
                Source::Poisson { hosts, cargo, offered, until }
            }
            Kind::ParameterServer => {
                let workers = self.hosts("workers", &raw.workers, 1)?;
                let servers = self.hosts("servers", &raw.servers, 1)?;
                self.needs("workers", raw.workers.is_some())?;
                self.needs("servers", raw.servers.is_some())?;
                if let Some(both) = workers.iter().find(|host| servers.contains(host)) {
                    let name = self.net.name(self.net.hosts()[both.index()]);
                    let reason =
                        format!("host `{name}` is a worker as well: a host is one of them");
                    return Err(self.wrong("servers", &raw.servers, reason));
                }
                let part = self.part(raw, bytes, cargo, servers.len())?;
                Source::ParameterServer { workers, servers, part, compute, iterations }
            }
            Kind::RingAllReduce | Kind::TransposeAllReduce => {
                let hosts = self.hosts("hosts", &raw.hosts, 2)?;
                if hosts.len() > 2048 {
                    let reason = format!("{} hosts: at most 2048 can sum", hosts.len());
                    return Err(self.wrong("hosts", &raw.hosts, reason));
                }
                let collective = match raw.kind {
                    Kind::RingAllReduce => Collective::Ring,
                    _ => Collective::Transpose,
                };
                let part = self.part(raw, bytes, cargo, hosts.len())?;
                Source::AllReduce { collective, hosts, part, compute, iterations }
            }
            Kind::List => self.list(raw, min_delivery)?,
        };
        let (background, start) = (raw.background, Time::ZERO + raw.start);
        Ok(Workload { name, scheme, background, start, min_delivery, source })
    }

    /// Times between the messages of a flow.
    fn gaps(
        &self,
        raw: &RawWorkload,
        spec: Option<GapSpec>,
        load: Option<f64>,
        sizes: &Sizes,
    ) -> Result<Gaps, FileError> {
        if let Some(load) = load.filter(|load| !(*load > 0.0 && load.is_finite())) {
            let reason = format!(
                "a load of {load}: give the part of a sender's line that its messages take, above 0"
            );
            return Err(self.wrong("arrival-load", &raw.arrival_load, reason));
        }
        let (shape, mean) = match (spec, load) {
            (None, Some(_)) => {
                let reason = "there is no `arrivals`: write `arrivals = \"fbkv\"`, `\"exponential\"` or \
                              `\"even\"`";
                return Err(self.wrong("arrival-load", &raw.arrival_load, reason));
            }
            (None | Some(GapSpec::AtOnce), _) => return Ok(Gaps::AtOnce),
            (Some(GapSpec::Fixed(_)), Some(_)) => {
                let reason = "`arrivals` is a time, from which the load follows: give one of them";
                return Err(self.wrong("arrival-load", &raw.arrival_load, reason));
            }
            (Some(GapSpec::Fixed(mean)), None) => (GapShape::Even, Some(mean)),
            (Some(GapSpec::Drawn(shape)), Some(load)) => {
                let hosts = self.hosts("hosts", &raw.hosts, 2)?;
                let line = fastest(self.net, &hosts);
                (shape, Some(Gaps::mean_at(load, line, sizes.mean())))
            }
            (Some(GapSpec::Drawn(shape)), None) => (shape, shape.published()),
        };
        mean.map(|mean| Gaps::OneByOne { shape, mean }).ok_or_else(|| {
            let reason = format!(
                "how long gaps are is missing: give `arrival-load`, the part of a sender's line that its \
                 messages take, or write a time like `20us` instead of `{shape}`"
            );
            self.wrong("arrivals", &raw.arrivals, reason)
        })
    }

    fn incast(
        &self,
        raw: &RawWorkload,
        senders: Option<u32>,
        hosts: &[HostId],
    ) -> Result<Pattern, FileError> {
        let most = hosts.len() as u32 - 1;
        let senders = senders.unwrap_or(most);
        if !(1..=most).contains(&senders) {
            let reason = format!(
                "{senders} senders and a receiver among {} hosts: give 1 to {most}",
                hosts.len()
            );
            return Err(self.wrong("senders", &raw.senders, reason));
        }
        let receiver = raw.receiver.as_ref().map(|name| {
            let found = hosts::find(self.net, name.get_ref()).and_then(|host| {
                let inside = hosts.contains(&host).then_some(host);
                inside.ok_or_else(|| "it is not among the hosts of this workload".to_owned())
            });
            found.map_err(|reason| self.wrong("receiver", &raw.receiver, reason))
        });
        Ok(Pattern::Incast { senders, receiver: receiver.transpose()? })
    }

    /// What all hosts together offer.
    fn offered(
        &self,
        raw: &RawWorkload,
        load: Option<f64>,
        hosts: &[HostId],
    ) -> Result<Rate, FileError> {
        self.needs("load", load.is_some())?;
        let load = load.unwrap_or_default();
        if !(load > 0.0 && load <= 1.0) {
            let reason =
                format!("a load of {load}: give a part of the capacity, above 0 and at most 1");
            return Err(self.wrong("load", &raw.load, reason));
        }
        let of = raw.of.as_ref().map_or(LoadOf::Hosts, |of| *of.get_ref());
        let capacity = match of {
            LoadOf::Hosts => own_capacity(self.net, hosts),
            LoadOf::Core => core_capacity(self.net, hosts),
        };
        match capacity {
            Some(capacity) => Ok(capacity.mul_f64(load)),
            None => {
                let reason = "nothing of this workload crosses the core: no two of its hosts are on \
                              different switches; write `of = \"hosts\"`";
                Err(self.wrong("of", &raw.of, reason))
            }
        }
    }

    fn until(&self, raw: &RawWorkload, count: Option<u32>) -> Result<Until, FileError> {
        match (count, &raw.duration) {
            (Some(_), Some(_)) => {
                let reason = "give `count` or `duration`, not both";
                Err(self.wrong("duration", &raw.duration, reason))
            }
            (Some(0), None) => Err(self.wrong("count", &raw.count, "0: give at least 1")),
            (Some(count), None) => Ok(Until::Flows(count)),
            (None, Some(lasts)) => Ok(Until::Time(Time::ZERO + raw.start + *lasts.get_ref())),
            (None, None) if raw.background => Ok(Until::Time(Time::MAX)),
            (None, None) => {
                let reason =
                    "give `count` (flows) or `duration`: only a background goes on for ever";
                Err(self.text.wrong(self.place.clone(), self.at("count"), reason))
            }
        }
    }

    /// One part of what is summed.
    fn part(
        &self,
        raw: &RawWorkload,
        bytes: Option<Bytes>,
        cargo: Cargo,
        parts: usize,
    ) -> Result<Cargo, FileError> {
        self.needs("bytes", bytes.is_some())?;
        let bytes = bytes.unwrap_or_default();
        if bytes.is_zero() {
            return Err(self.wrong("bytes", &raw.bytes, "0: give what a host sums, like `25MB`"));
        }
        let message = raw.message.as_ref().map_or(CHUNK, |message| *message.get_ref());
        if message.is_zero() || message.get() > u64::from(u32::MAX) {
            let reason = format!("{message}: a message has 1 byte to 4 GiB");
            return Err(self.wrong("message", &raw.message, reason));
        }
        Ok(cargo.cut(Bytes::new(bytes.get().div_ceil(parts as u64)), message))
    }

    fn list(&self, raw: &RawWorkload, min_delivery: Fraction) -> Result<Source, FileError> {
        let Some(flows) = raw.flows.as_ref().filter(|flows| !flows.get_ref().is_empty()) else {
            let reason = "a list needs flows like `{ from = \"h0\", to = \"h1\", size = \"1MB\" }`";
            return Err(self.text.wrong(self.place.clone(), self.at("flows"), reason));
        };
        let mut list = Vec::new();
        for (at, flow) in flows.get_ref().iter().enumerate() {
            let wrong = |field: &str, reason: String| {
                self.text.wrong(flows.span(), self.at(&format!("flows[{at}].{field}")), reason)
            };
            let from = hosts::find(self.net, &flow.from).map_err(|why| wrong("from", why))?;
            let to = hosts::find(self.net, &flow.to).map_err(|why| wrong("to", why))?;
            if from == to {
                return Err(wrong("to", format!("`{}` would send to itself", flow.to)));
            }
            if flow.messages == 0 || flow.size.is_zero() || flow.size.get() > u64::from(u32::MAX) {
                return Err(wrong("size", "a flow has messages of 1 byte to 4 GiB".into()));
            }
            let (messages, sizes) = (flow.messages, Sizes::Fixed(flow.size));
            let gaps = Gaps::AtOnce;
            let cargo = Cargo { stack: 0, min_delivery, messages, sizes, gaps };
            list.push((flow.at, from, to, cargo));
        }
        Ok(Source::List { flows: list })
    }

    fn hosts(
        &self,
        field: &str,
        set: &Option<At<HostSet>>,
        least: usize,
    ) -> Result<Vec<HostId>, FileError> {
        let chosen = set.as_ref().map_or(&HostSet::ALL, |set| set.get_ref()).choose(self.net);
        let chosen = chosen.map_err(|reason| self.wrong(field, set, reason))?;
        if chosen.len() < least {
            let reason = format!("{} of them: there must be at least {least}", chosen.len());
            return Err(self.wrong(field, set, reason));
        }
        Ok(chosen)
    }

    fn needs(&self, field: &str, given: bool) -> Result<(), FileError> {
        if given {
            return Ok(());
        }
        let reason = "it is missing, and a workload of this kind needs it";
        Err(self.text.wrong(self.place.clone(), self.at(field), reason))
    }

    fn value<T: Clone + std::fmt::Display>(&mut self, field: &str, sweep: &Sweep<T>) -> T {
        let path = if self.called.is_empty() {
            field.to_owned()
        } else {
            format!("{}-{field}", self.called)
        };
        self.picker.pick(&path, sweep)
    }

    fn optional<T: Clone + std::fmt::Display>(
        &mut self,
        field: &str,
        sweep: &Field<T>,
    ) -> Option<T> {
        sweep.as_ref().map(|sweep| self.value(field, sweep.get_ref()))
    }

    fn or<T: Clone + std::fmt::Display>(&mut self, field: &str, sweep: &Field<T>, other: T) -> T {
        self.optional(field, sweep).unwrap_or(other)
    }

    fn at(&self, field: &str) -> String {
        format!("{}.{field}", self.path)
    }

    /// An error at a field, or at the whole workload if the field is not there.
    fn wrong<T>(&self, field: &str, given: &Option<At<T>>, reason: impl Into<String>) -> FileError {
        let place = given.as_ref().map_or_else(|| self.place.clone(), At::span);
        self.text.wrong(place, self.at(field), reason)
    }
}

fn place<T>(field: &Option<At<T>>) -> std::ops::Range<usize> {
    field.as_ref().map_or(0..0, At::span)
}

/// What the interfaces of hosts send at most.
fn own_capacity(net: &Topology, hosts: &[HostId]) -> Option<Rate> {
    let links = hosts.iter().flat_map(|host| net.out_links(net.hosts()[host.index()]));
    Some(Rate::bps(links.map(|link| net.link(*link).capacity.as_bps()).sum()))
}

/// The fastest interface of some hosts.
fn fastest(net: &Topology, hosts: &[HostId]) -> Rate {
    let links = hosts.iter().flat_map(|host| net.out_links(net.hosts()[host.index()]));
    links.map(|link| net.link(*link).capacity).max().unwrap_or(Rate::ZERO)
}

/// What random pairs of hosts have to send in all to fill the links from switches with hosts to
/// others; `None` if no pair crosses them.
fn core_capacity(net: &Topology, hosts: &[HostId]) -> Option<Rate> {
    let first = |host: &HostId| {
        let node = net.hosts()[host.index()];
        net.out_links(node).first().map(|link| net.link(*link).to)
    };
    let edges: Vec<_> = hosts.iter().map(first).collect();
    let n = hosts.len();
    let apart = edges.iter().flat_map(|a| edges.iter().filter(move |b| a != *b)).count();
    if apart == 0 {
        return None;
    }
    let mut switches: Vec<_> = edges.iter().flatten().copied().collect();
    switches.sort_unstable();
    switches.dedup();
    let up = switches.iter().flat_map(|switch| net.out_links(*switch));
    let up = up.filter(|link| net.kind(net.link(**link).to) == NodeKind::Switch);
    let capacity: u64 = up.map(|link| net.link(*link).capacity.as_bps()).sum();
    let crossing = apart as f64 / (n * (n - 1)) as f64;
    Some(Rate::bps(capacity).mul_f64(1.0 / crossing))
}
