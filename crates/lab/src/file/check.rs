//! From what a file says to a network: hosts, switches, links.

use std::collections::BTreeSet;

use laxity_interface::Span;
use laxity_switch::{BuildError, Loss};

use super::{
    error::{FileError, wrong},
    events,
    network::{Host, Network, Trunk, Way},
    queues,
    raw::{RawBurst, RawLab, RawLink, RawWay},
};
use crate::host::site::MOST_HOSTS;

/// Packets that any link carries: the smallest that IPv4 allows, the largest that a veth takes.
const MTUS: std::ops::RangeInclusive<u32> = 576..=9000;
pub(super) const DEFAULT_MTU: u32 = 1500;
/// As long as a name may be in a report and in `/etc/hosts`.
const LONGEST_NAME: usize = 32;

/// Checks everything and fills in defaults.
pub(super) fn check(raw: &RawLab) -> Result<Network, FileError> {
    queues::check_all(raw)?;
    let switches = switches(raw)?;
    let hosts = hosts(raw, &switches)?;
    let trunks = trunks(raw, &switches)?;
    let mut network = Network {
        seed: raw.seed.unwrap_or(1),
        offload: raw.offload.unwrap_or(true),
        receive: raw.receive.unwrap_or_default(),
        switches,
        hosts,
        trunks,
        background: Vec::new(),
        changes: Vec::new(),
        programs: Vec::new(),
    };
    // Whether everybody reaches everybody is the fabric's own knowledge.
    match network.fabric() {
        Ok(_) => {}
        Err(BuildError::Apart { from, to }) => {
            let [from, to] = [from, to].map(|host| network.node_name(host.into()));
            let reason = format!("no way leads from `{from}` to `{to}`: connect their switches");
            return wrong("links", reason);
        }
        Err(error) => return wrong("links", error.to_string()),
    }
    network.background = events::background(raw, &network)?;
    network.changes = events::changes(raw, &network)?;
    network.programs = events::programs(raw, &network)?;
    Ok(network)
}

fn switches(raw: &RawLab) -> Result<Vec<String>, FileError> {
    if raw.switches.is_empty() {
        return Ok(vec!["switch".to_owned()]);
    }
    let mut seen = BTreeSet::new();
    for (at, switch) in raw.switches.iter().enumerate() {
        let path = format!("switches[{at}].name");
        check_name(&path, &switch.name)?;
        if !seen.insert(&switch.name) {
            return wrong(path, format!("two switches are called `{}`", switch.name));
        }
    }
    Ok(raw.switches.iter().map(|switch| switch.name.clone()).collect())
}

fn hosts(raw: &RawLab, switches: &[String]) -> Result<Vec<Host>, FileError> {
    let mut hosts: Vec<Host> = Vec::new();
    for (at, entry) in raw.hosts.iter().enumerate() {
        let path = format!("hosts[{at}]");
        let names = match entry.count {
            None => vec![entry.name.clone()],
            Some(0) => return wrong(format!("{path}.count"), "0 hosts are none: leave them out"),
            Some(count) if count as usize > MOST_HOSTS => {
                return wrong(format!("{path}.count"), format!("at most {MOST_HOSTS} hosts"));
            }
            Some(count) => (1..=count).map(|number| format!("{}{number}", entry.name)).collect(),
        };
        let switch = match &entry.switch {
            Some(name) => find_switch(&format!("{path}.switch"), name, switches)?,
            None if switches.len() == 1 => 0,
            None => {
                let known = switches.join("`, `");
                let reason = format!("is missing: say on which switch it hangs, `{known}`");
                return wrong(format!("{path}.switch"), reason);
            }
        };
        let mtu = entry.link.mtu.or(raw.link.mtu).unwrap_or(DEFAULT_MTU);
        if !MTUS.contains(&mtu) {
            let path = if entry.link.mtu.is_some() {
                format!("{path}.link.mtu")
            } else {
                "link.mtu".into()
            };
            let reason =
                format!("{mtu} is no size for packets: {} to {}", MTUS.start(), MTUS.end());
            return wrong(path, reason);
        }
        let down = down(raw, &entry.link, mtu, &path)?;
        let up = up(raw, &down, &entry.up, mtu, &path)?;
        for name in names {
            check_name(&format!("{path}.name"), &name)?;
            if hosts.iter().any(|host| host.name == name) || switches.contains(&name) {
                let reason = format!("`{name}` is the name of another host or switch");
                return wrong(format!("{path}.name"), reason);
            }
            hosts.push(Host { name, switch, mtu, down: down.clone(), up: up.clone() });
        }
    }
    if hosts.is_empty() {
        return wrong(
            "hosts",
            "there are none: add `[[hosts]]` with a `name`, and a `count` for several",
        );
    }
    if hosts.len() > MOST_HOSTS {
        return wrong("hosts", format!("{} are too many: at most {MOST_HOSTS}", hosts.len()));
    }
    Ok(hosts)
}

fn trunks(raw: &RawLab, switches: &[String]) -> Result<Vec<Trunk>, FileError> {
    let mut trunks = Vec::new();
    for (at, entry) in raw.links.iter().enumerate() {
        let path = format!("links[{at}]");
        let [one, other] = &entry.between;
        let one = find_switch(&format!("{path}.between[0]"), one, switches)?;
        let other = find_switch(&format!("{path}.between[1]"), other, switches)?;
        if one == other {
            return wrong(format!("{path}.between"), "a link leads from one switch to another");
        }
        if entry.link.mtu.is_some() {
            let reason = "only hosts' links have an MTU: every switch passes what hosts send";
            return wrong(format!("{path}.link.mtu"), reason);
        }
        let mtu = raw.link.mtu.unwrap_or(DEFAULT_MTU);
        let there = down(raw, &entry.link, mtu, &path)?;
        let mut back = there.clone();
        overlay(raw, &mut back, &entry.back, mtu, &format!("{path}.back"))?;
        trunks.push(Trunk { between: [one, other], there, back });
    }
    Ok(trunks)
}

fn find_switch(path: &str, name: &str, switches: &[String]) -> Result<usize, FileError> {
    let found = switches.iter().position(|switch| switch == name);
    found.map_or_else(
        || {
            wrong(
                path,
                format!("no switch is called `{name}`; there is `{}`", switches.join("`, `")),
            )
        },
        Ok,
    )
}

/// A link in its main direction: what it says itself, else what all links say.
fn down(raw: &RawLab, own: &RawLink, mtu: u32, path: &str) -> Result<Way, FileError> {
    let all = &raw.link;
    // Loss is one setting with two spellings: whoever says one of them has said all of it.
    let (loss, at) = if own.loss.is_some() || own.burst_loss.is_some() {
        ((own.loss, own.burst_loss), format!("{path}.link"))
    } else {
        ((all.loss, all.burst_loss), "link".to_owned())
    };
    let (queue, queue_path) = match (&own.queue, &all.queue) {
        (Some(own), _) => (Some(own), format!("{path}.link.queue")),
        (None, all) => (all.as_ref(), "link.queue".to_owned()),
    };
    let rate = own.rate.or(all.rate);
    check_rate(own.rate, &format!("{path}.link.rate"))?;
    check_rate(all.rate, "link.rate")?;
    Ok(Way {
        rate,
        delay: own.delay.or(all.delay).unwrap_or(Span::ZERO),
        loss: self::loss(loss.0, loss.1, &at)?.unwrap_or(Loss::None),
        layout: queues::layout(raw, queue.map(String::as_str), mtu, &queue_path)?,
    })
}

/// The way from a host: the link's delay, and nothing else unless it is said.
///
/// A real host waits for its own card; here nothing tells it to, so a rate would only drop packets.
fn up(raw: &RawLab, down: &Way, own: &RawWay, mtu: u32, path: &str) -> Result<Way, FileError> {
    let layout = laxity_switch::QueueLayout::default();
    let mut way = Way { rate: None, delay: down.delay, loss: Loss::None, layout };
    overlay(raw, &mut way, &raw.up, mtu, "up")?;
    overlay(raw, &mut way, own, mtu, &format!("{path}.up"))?;
    Ok(way)
}

fn overlay(
    raw: &RawLab,
    way: &mut Way,
    own: &RawWay,
    mtu: u32,
    path: &str,
) -> Result<(), FileError> {
    check_rate(own.rate, &format!("{path}.rate"))?;
    way.rate = own.rate.or(way.rate);
    way.delay = own.delay.unwrap_or(way.delay);
    way.loss = loss(own.loss, own.burst_loss, path)?.unwrap_or(way.loss);
    if let Some(queue) = &own.queue {
        way.layout = queues::layout(raw, Some(queue), mtu, &format!("{path}.queue"))?;
    }
    Ok(())
}

fn check_rate(rate: Option<laxity_interface::Rate>, path: &str) -> Result<(), FileError> {
    match rate {
        Some(rate) if rate.as_bps() == 0 => wrong(
            path,
            "nothing gets through at 0; for a link that is cut use a change with `state`",
        ),
        _ => Ok(()),
    }
}

/// Loss as the switch takes it.
pub(super) fn loss(
    random: Option<laxity_interface::Fraction>,
    burst: Option<RawBurst>,
    path: &str,
) -> Result<Option<Loss>, FileError> {
    match (random, burst) {
        (Some(_), Some(_)) => {
            wrong(format!("{path}.burst-loss"), "stands beside `loss`: use one of them")
        }
        (Some(random), None) => Ok(Some(Loss::Random(random))),
        (None, Some(RawBurst { begin, end })) => Ok(Some(Loss::Burst { begin, end })),
        (None, None) => Ok(None),
    }
}

fn check_name(path: &str, name: &str) -> Result<(), FileError> {
    let good = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        && name.len() <= LONGEST_NAME;
    if good {
        return Ok(());
    }
    let reason = format!(
        "`{name}` is no name: use letters, digits and `-`, a letter or digit first, at most \
         {LONGEST_NAME} of them"
    );
    wrong(path, reason)
}
