//! What goes wrong, as a file says it.

use std::{fmt, ops::Range};

use laxity_interface::{Bytes, Fraction, Span, Time};
use laxity_topology::{LinkId, Topology};
use serde::{
    Deserialize, Deserializer,
    de::{self, SeqAccess, Visitor},
};

use super::{
    error::{FileError, Text},
    raw::{At, Field, Named},
    sweep::Picker,
};
use crate::{
    fault::{Fault, On, Only, Trouble},
    scheme::Scheme,
};

/// All fields of all kinds; the checks say which belong to which.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawFault {
    kind: Kind,
    /// Everywhere if left out.
    links: Option<At<LinkSet>>,
    probability: Field<Fraction>,
    begin: Field<Fraction>,
    end: Field<Fraction>,
    positions: Option<At<Vec<u64>>>,
    extra: Field<Span>,
    detect: Option<At<Span>>,
    /// When it begins and ends.
    from: Option<At<Span>>,
    until: Option<At<Span>>,
    /// Only packets of this scheme.
    scheme: Option<At<Named<Scheme>>>,
    /// Only packets of more bytes on the wire.
    larger_than: Option<At<Bytes>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Loss,
    Bursts,
    Nth,
    Late,
    Down,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Bursts => "bursts",
            Self::Nth => "nth",
            Self::Late => "late",
            Self::Down => "down",
        }
    }

    /// Its fields besides `links`.
    const fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Loss => &["probability", "from", "until", "scheme", "larger-than"],
            Self::Bursts => &["begin", "end", "from", "until", "scheme", "larger-than"],
            Self::Nth => &["positions", "from", "until", "scheme", "larger-than"],
            Self::Late => &["probability", "extra", "from", "until", "scheme", "larger-than"],
            Self::Down => &["from", "until", "detect"],
        }
    }
}

/// Links: `"all"`, `"hosts"`, `"switches"`, or names such as `["h0->leaf0", "leaf0--spine1"]`.
#[derive(Clone, Debug, PartialEq)]
enum LinkSet {
    All,
    /// Into and out of hosts.
    Hosts,
    /// Between switches.
    Switches,
    Names(Vec<String>),
}

impl<'de> Deserialize<'de> for LinkSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = LinkSet;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "`all`, `hosts`, `switches`, or a list of links like `[\"h0->leaf0\", \"leaf0--spine1\"]`",
                )
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<LinkSet, E> {
                match text {
                    "all" => Ok(LinkSet::All),
                    "hosts" => Ok(LinkSet::Hosts),
                    "switches" => Ok(LinkSet::Switches),
                    one => Ok(LinkSet::Names(vec![one.to_owned()])),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<LinkSet, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = items.next_element()? {
                    names.push(name);
                }
                Ok(LinkSet::Names(names))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

impl LinkSet {
    fn choose(&self, net: &Topology) -> Result<On, String> {
        let of_host = |id: &LinkId| {
            let link = net.link(*id);
            net.host_index(link.from).is_some() || net.host_index(link.to).is_some()
        };
        let all = (0..net.links().len() as u32).map(LinkId);
        let links: Vec<LinkId> = match self {
            Self::All => return Ok(On::All),
            Self::Hosts => all.filter(of_host).collect(),
            Self::Switches => all.filter(|link| !of_host(link)).collect(),
            Self::Names(names) => {
                let mut links = Vec::new();
                for name in names {
                    links.extend(named(net, name)?);
                }
                links.sort_unstable();
                if let Some(pair) = links.windows(2).find(|pair| pair[0] == pair[1]) {
                    return Err(format!("link `{}` is there twice", net.link_name(pair[0])));
                }
                links
            }
        };
        match links.is_empty() {
            true => Err("there is no such link in this network".into()),
            false => Ok(On::Links(links)),
        }
    }
}

/// The links of a name: `a->b` one way, `a--b` both ways; all cables where there are several.
fn named(net: &Topology, name: &str) -> Result<Vec<LinkId>, String> {
    let (ends, both) = match (name.split_once("->"), name.split_once("--")) {
        (Some(ends), _) => (ends, false),
        (None, Some(ends)) => (ends, true),
        (None, None) => {
            return Err(format!(
                "`{name}` is no link: write `h0->leaf0`, or `h0--leaf0` for both ways"
            ));
        }
    };
    let node = |name: &str| {
        net.node(name.trim()).ok_or_else(|| format!("`{}` is no host or switch", name.trim()))
    };
    let (a, b) = (node(ends.0)?, node(ends.1)?);
    let mut links = Vec::new();
    for (from, to) in [(a, b), (b, a)].into_iter().take(if both { 2 } else { 1 }) {
        let before = links.len();
        links.extend(net.out_links(from).iter().filter(|link| net.link(**link).to == to));
        if links.len() == before {
            let near = net.out_links(from).iter().take(4).map(|link| net.link_name(*link));
            let near = near.collect::<Vec<_>>().join(", ");
            let (from, to) = (net.name(from), net.name(to));
            return Err(format!("there is no link `{from}->{to}`; `{from}` has {near}"));
        }
    }
    Ok(links)
}

/// A file's faults under scrutiny.
pub(super) struct CheckFaults<'a> {
    pub(super) text: Text<'a>,
    pub(super) net: &'a Topology,
    pub(super) picker: &'a mut Picker,
    /// Schemes of the workloads at this point, by stack, and at any point.
    pub(super) here: &'a [Scheme],
    pub(super) anywhere: &'a [Scheme],
}

impl CheckFaults<'_> {
    pub(super) fn faults(&mut self, all: &[At<RawFault>]) -> Result<Vec<Fault>, FileError> {
        let several = all.len() > 1;
        all.iter().enumerate().map(|(at, raw)| self.fault(at, several, raw)).collect()
    }

    fn fault(&mut self, at: usize, several: bool, raw: &At<RawFault>) -> Result<Fault, FileError> {
        let (text, net, whole, raw) = (self.text, self.net, raw.span(), raw.get_ref());
        let path = |field: &str| format!("faults[{at}].{field}");
        let wrong = |place: Option<Range<usize>>, field: &str, reason: String| {
            text.wrong(place.unwrap_or_else(|| whole.clone()), path(field), reason)
        };
        for (field, place) in given(raw) {
            if !raw.kind.fields().contains(&field) {
                let (kind, fields) = (raw.kind.name(), raw.kind.fields().join(", "));
                let reason =
                    format!("a fault of kind `{kind}` has no such field; it has links, {fields}");
                return Err(wrong(Some(place), field, reason));
            }
        }
        // Every field is picked for every point, in this order: it numbers the points.
        let mut pick = |field: &str, sweep: &Field<Fraction>| {
            let called =
                if several { format!("fault-{at}-{field}") } else { format!("fault-{field}") };
            sweep.as_ref().map(|sweep| self.picker.pick(&called, sweep.get_ref()))
        };
        let (probability, begin, end) = (
            pick("probability", &raw.probability),
            pick("begin", &raw.begin),
            pick("end", &raw.end),
        );
        let called = if several { format!("fault-{at}-extra") } else { "fault-extra".to_owned() };
        let extra = raw.extra.as_ref().map(|sweep| self.picker.pick(&called, sweep.get_ref()));
        let missing = |field: &'static str, like: &str| {
            let kind = raw.kind.name();
            wrong(
                None,
                field,
                format!("it is missing, and a fault of kind `{kind}` needs it: {like}"),
            )
        };
        let part = |value: Option<Fraction>, field: &'static str| {
            value.ok_or_else(|| missing(field, &format!("write `{field} = 0.01`")))
        };
        let time = |given: &Option<At<Span>>| given.as_ref().map(|at| Time::ZERO + *at.get_ref());
        let (from, until) = (time(&raw.from), time(&raw.until));
        if let (Some(begin), Some(end)) = (from.or(Some(Time::ZERO)), until)
            && end <= begin
        {
            let place = raw.until.as_ref().map(At::span);
            let reason = format!("{} ends before it begins: give a later time", words(end));
            return Err(wrong(place, "until", reason));
        }
        let what = match raw.kind {
            Kind::Loss => Trouble::Loss { probability: part(probability, "probability")? },
            Kind::Bursts => {
                Trouble::Bursts { begin: part(begin, "begin")?, end: part(end, "end")? }
            }
            Kind::Nth => {
                let given = raw.positions.as_ref().filter(|list| !list.get_ref().is_empty());
                let positions =
                    given.ok_or_else(|| missing("positions", "write `positions = [0, 3]`"))?;
                Trouble::Nth { positions: positions.get_ref().clone() }
            }
            Kind::Late => Trouble::Late {
                probability: part(probability, "probability")?,
                extra: extra.ok_or_else(|| missing("extra", "write `extra = \"50us\"`"))?,
            },
            Kind::Down => Trouble::Down {
                from: from.ok_or_else(|| missing("from", "write `from = \"1ms\"`"))?,
                until,
                detect: raw.detect.as_ref().map_or(Span::ZERO, |detect| *detect.get_ref()),
            },
        };
        let on = raw.links.as_ref().map_or(Ok(On::All), |links| {
            let chosen = links.get_ref().choose(net);
            chosen.map_err(|reason| wrong(Some(links.span()), "links", reason))
        })?;
        let stack = match &raw.scheme {
            None => None,
            Some(named) => {
                let scheme = named.get_ref().0;
                if !self.anywhere.contains(&scheme) {
                    let known: Vec<_> = self.anywhere.iter().map(Scheme::to_string).collect();
                    let reason = format!(
                        "no workload is carried by `{scheme}`; there are {}",
                        known.join(", ")
                    );
                    return Err(wrong(Some(named.span()), "scheme", reason));
                }
                // At a point without that scheme it is about nobody.
                let place = self.here.iter().position(|own| *own == scheme);
                Some(place.map_or(u8::MAX, |place| place as u8))
            }
        };
        let larger_than = raw.larger_than.as_ref().map(|bytes| {
            let least = bytes.get_ref().get();
            u32::try_from(least).map_err(|_| {
                wrong(
                    Some(bytes.span()),
                    "larger-than",
                    format!("{least}B: packets have up to 1518B"),
                )
            })
        });
        let only = match raw.kind {
            Kind::Down => Only::default(),
            _ => Only { stack, larger_than: larger_than.transpose()?, from, until },
        };
        Ok(Fault { on, what, only })
    }
}

/// Fields that only some kinds have and that are given, with their places.
fn given(raw: &RawFault) -> Vec<(&'static str, Range<usize>)> {
    fn at<T>(field: &Option<At<T>>) -> Option<Range<usize>> {
        field.as_ref().map(At::span)
    }
    let all = [
        ("probability", at(&raw.probability)),
        ("begin", at(&raw.begin)),
        ("end", at(&raw.end)),
        ("positions", at(&raw.positions)),
        ("extra", at(&raw.extra)),
        ("detect", at(&raw.detect)),
        ("from", at(&raw.from)),
        ("until", at(&raw.until)),
        ("scheme", at(&raw.scheme)),
        ("larger-than", at(&raw.larger_than)),
    ];
    all.into_iter().filter_map(|(name, at)| Some((name, at?))).collect()
}

fn words(time: Time) -> String {
    format!("{}us", time.as_ps() as f64 / 1e6)
}

/// A fault for people.
pub(super) fn in_words(fault: &Fault, net: &Topology, schemes: &[Scheme]) -> String {
    let percent = |part: Fraction| format!("{} %", (part.get() * 1e8).round() / 1e6);
    let mut text = match &fault.what {
        Trouble::Loss { probability } => format!("{} of packets are lost", percent(*probability)),
        Trouble::Bursts { begin, end } => format!(
            "bursts of losses: {} of packets begin one, {} end it",
            percent(*begin),
            percent(*end)
        ),
        Trouble::Nth { positions } => format!("packets {positions:?} are lost, counted from 0"),
        Trouble::Late { probability, extra } => {
            format!("{} of packets are {extra} late", percent(*probability))
        }
        Trouble::Down { from, until, detect } => {
            let until =
                until.map_or_else(|| "for ever".to_owned(), |t| format!("until {}", words(t)));
            format!("down from {} {until}; routes notice {detect} later", words(*from))
        }
    };
    text += &match &fault.on {
        On::All => "; on every link".to_owned(),
        On::Links(links) => {
            let some: Vec<_> = links.iter().take(4).map(|link| net.link_name(*link)).collect();
            let more = if links.len() > 4 { ", …" } else { "" };
            format!("; on {} links: {}{more}", links.len(), some.join(", "))
        }
    };
    let only = &fault.only;
    if let Some(stack) = only.stack {
        let name = schemes
            .get(usize::from(stack))
            .map_or_else(|| "nobody here".to_owned(), Scheme::to_string);
        text += &format!("; packets of {name} only");
    }
    if let Some(bytes) = only.larger_than {
        text += &format!("; packets of more than {bytes} bytes");
    }
    if let Some(from) = only.from {
        text += &format!("; from {}", words(from));
    }
    if let Some(until) = only.until {
        text += &format!("; until {}", words(until));
    }
    text
}
