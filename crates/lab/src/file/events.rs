//! From what a file says to what happens: traffic, changes, programs.

use std::collections::BTreeSet;

use laxity_interface::{Bytes, Fraction, Rate, Span, Time};
use laxity_switch::Change;

use super::{
    check::loss,
    error::{FileError, wrong},
    network::{
        Background, Network, Pattern, Program, TimedChange, host_id, host_ports, trunk_ports,
    },
    raw::{RawBackground, RawChange, RawLab, RawProgram, State, Transport},
    text::List,
};

/// How long a program may run where nobody says.
const TIME_LIMIT: Span = Span::from_secs(60);
/// Traffic loops end, whatever a file says.
const LONGEST: Span = Span::from_secs(24 * 3600);

/// What traffic the lab makes.
pub(super) fn background(raw: &RawLab, network: &Network) -> Result<Vec<Background>, FileError> {
    let entries = raw.background.iter().enumerate();
    entries.map(|(at, entry)| one_background(at, entry, network)).collect()
}

fn one_background(
    at: usize,
    entry: &RawBackground,
    network: &Network,
) -> Result<Background, FileError> {
    let path = format!("background[{at}]");
    let from = find_hosts(&entry.from, network, &format!("{path}.from"))?;
    let to = find_hosts(&entry.to, network, &format!("{path}.to"))?;
    if !from.iter().any(|from| to.iter().any(|to| from != to)) {
        return wrong(format!("{path}.to"), "nobody sends to anybody else: name another host");
    }
    if entry.duration.is_zero() || entry.duration > LONGEST {
        return wrong(format!("{path}.duration"), "must be more than nothing and at most a day");
    }
    let transport = entry.transport.unwrap_or_default();
    if transport == Transport::Udp && entry.congestion.is_some() {
        return wrong(format!("{path}.congestion"), "is for TCP; UDP sends at its `rate`");
    }
    let pattern = match (entry.on, entry.off, entry.sizes.is_empty(), entry.load) {
        (Some(on), off, true, None) if !on.is_zero() => {
            Pattern::OnOff { on, off: off.unwrap_or(Span::ZERO) }
        }
        (None, None, false, Some(load)) => {
            let rate = offered(&to, load, network, &path)?;
            check_sizes(&entry.sizes, &format!("{path}.sizes"))?;
            Pattern::Sizes { points: entry.sizes.clone(), rate }
        }
        _ => {
            let reason = "say either how it pulsates, with `on` and `off`, or how large its flows \
                          are, with `sizes` and `load`";
            return wrong(path, reason);
        }
    };
    // UDP has nobody who tells it how fast to send.
    let rate = match (entry.rate, transport) {
        (Some(rate), _) if rate.as_bps() == 0 => {
            return wrong(format!("{path}.rate"), "0 sends nothing: leave the entry out");
        }
        (None, Transport::Udp) => {
            return wrong(
                format!("{path}.rate"),
                "is missing: UDP needs to be told how fast to send",
            );
        }
        (rate, _) => rate,
    };
    Ok(Background {
        name: entry.name.clone().unwrap_or_else(|| (at + 1).to_string()),
        from,
        to,
        transport,
        start: entry.start.unwrap_or(Span::ZERO),
        duration: entry.duration,
        rate,
        pattern,
        congestion: entry.congestion.clone(),
    })
}

/// The load as a rate of all receivers together.
fn offered(to: &[usize], load: Fraction, network: &Network, path: &str) -> Result<Rate, FileError> {
    let mut all = 0;
    for host in to {
        let host = &network.hosts[*host];
        let Some(rate) = host.down.rate else {
            let reason = format!("a load of what? The link of `{}` has no `rate`", host.name);
            return wrong(format!("{path}.load"), reason);
        };
        all += rate.as_bps();
    }
    let rate = Rate::bps(all).mul_f64(load.get());
    if rate.as_bps() == 0 {
        return wrong(format!("{path}.load"), "0 sends nothing: leave the entry out");
    }
    Ok(rate)
}

fn check_sizes(points: &[(Bytes, Fraction)], path: &str) -> Result<(), FileError> {
    let rises = points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
    if !rises {
        return wrong(path, "sizes must grow from point to point, and fractions must not fall");
    }
    let (first, last) = (points[0], points[points.len() - 1]);
    if first.0.is_zero() {
        return wrong(path, "a flow of 0 bytes is none: begin with a size above that");
    }
    if last.1.get() < 1.0 {
        return wrong(path, "the last point must have the fraction 1: every flow has a size");
    }
    Ok(())
}

/// What changes, in the order of time.
pub(super) fn changes(raw: &RawLab, network: &Network) -> Result<Vec<TimedChange>, FileError> {
    let mut changes = Vec::new();
    for (at, entry) in raw.changes.iter().enumerate() {
        let (what, words) = change(entry, network, &format!("changes[{at}]"))?;
        changes.push(TimedChange { at: Time::ZERO + entry.at, what, words });
    }
    changes.sort_by_key(|change| change.at);
    Ok(changes)
}

/// What one change means to the fabric, and in words.
pub(crate) fn change(
    entry: &RawChange,
    network: &Network,
    path: &str,
) -> Result<(Vec<Change>, String), FileError> {
    let direction = entry.direction.unwrap_or_default();
    let (ports, host, name) = match (&entry.host, &entry.between) {
        (Some(name), None) => {
            let host = find_host(name, network, &format!("{path}.host"))?;
            (host_ports(host, direction), Some(host), name.clone())
        }
        (None, Some([one, other])) => {
            let trunk = network.trunks.iter().position(|trunk| {
                trunk.between.map(|at| network.switches[at].as_str()) == [one.as_str(), other]
            });
            let Some(trunk) = trunk else {
                let reason =
                    format!("no link leads from `{one}` to `{other}`; write it as in `links`");
                return wrong(format!("{path}.between"), reason);
            };
            (trunk_ports(network.hosts.len(), trunk, direction), None, format!("{one}-{other}"))
        }
        _ => return wrong(path, "say what changes: a `host`, or the link `between` two switches"),
    };
    let mut what = Vec::new();
    let mut words = name;
    if let Some(state) = entry.state {
        let up = state == State::Back;
        what.push(match host {
            Some(host) => Change::Host { host: host_id(host), up },
            None => Change::Link { port: ports[0], up },
        });
        words += if up { " comes back" } else { " disappears" };
    }
    let loss = loss(entry.loss, entry.burst_loss, path)?;
    for port in ports {
        what.extend(entry.rate.map(|rate| Change::Rate { port, rate: Some(rate) }));
        what.extend(entry.delay.map(|delay| Change::Delay { port, delay }));
        what.extend(loss.map(|loss| Change::Loss { port, loss }));
    }
    if entry.rate.is_some_and(|rate| rate.as_bps() == 0) {
        return wrong(format!("{path}.rate"), "nothing gets through at 0; use `state = \"gone\"`");
    }
    if what.is_empty() {
        return wrong(
            path,
            "nothing changes: give a `rate`, `delay`, `loss`, `burst-loss` or `state`",
        );
    }
    words += &entry.rate.map(|rate| format!(" rate {rate}")).unwrap_or_default();
    words += &entry.delay.map(|delay| format!(" delay {delay}")).unwrap_or_default();
    words += &entry.loss.map(|loss| format!(" loss {loss}")).unwrap_or_default();
    words += entry.burst_loss.map_or("", |_| " loss in bursts");
    Ok((what, words))
}

/// What `lab run` runs.
pub(super) fn programs(raw: &RawLab, network: &Network) -> Result<Vec<Program>, FileError> {
    let mut names = BTreeSet::new();
    let mut programs = Vec::new();
    for (at, entry) in raw.programs.iter().enumerate() {
        let path = format!("programs[{at}]");
        find_host(&entry.host, network, &format!("{path}.host"))?;
        let name = program_name(entry, &names);
        let good = !name.is_empty() && !name.contains(['/', '\0']) && !name.starts_with('.');
        if !good {
            let reason = format!("`{name}` cannot be the name of a file, which it will be");
            return wrong(format!("{path}.name"), reason);
        }
        if !names.insert(name.clone()) {
            return wrong(format!("{path}.name"), format!("two programs are called `{name}`"));
        }
        let command = match &entry.command {
            List::One(text) if !text.trim().is_empty() => {
                ["/bin/sh", "-c", text].map(str::to_owned).to_vec()
            }
            List::Many(words) if words.first().is_some_and(|word| !word.is_empty()) => {
                words.clone()
            }
            _ => return wrong(format!("{path}.command"), "is empty: say what to run"),
        };
        let time_limit = entry.time_limit.unwrap_or(TIME_LIMIT);
        if time_limit.is_zero() || time_limit > LONGEST {
            let reason = "must be more than nothing and at most a day";
            return wrong(format!("{path}.time-limit"), reason);
        }
        programs.push(Program {
            name,
            host: entry.host.clone(),
            command,
            start: entry.start.unwrap_or(Span::ZERO),
            time_limit,
            env: entry.env.clone(),
            must_succeed: entry.must_succeed.unwrap_or(true),
            server: entry.server,
        });
    }
    if !programs.is_empty() && programs.iter().all(|program| program.server) {
        let reason = "all are servers, so the run would be over at once: let one not be `server`";
        return wrong("programs", reason);
    }
    Ok(programs)
}

fn program_name(entry: &RawProgram, taken: &BTreeSet<String>) -> String {
    if let Some(name) = &entry.name {
        return name.clone();
    }
    let mut names = std::iter::once(entry.host.clone())
        .chain((2..).map(|number| format!("{}-{number}", entry.host)));
    names.find(|name| !taken.contains(name)).unwrap_or_default()
}

fn find_hosts(names: &List, network: &Network, path: &str) -> Result<Vec<usize>, FileError> {
    let names = names.as_slice();
    if names.is_empty() {
        return wrong(path, "is empty: name a host");
    }
    names.iter().map(|name| find_host(name, network, path)).collect()
}

fn find_host(name: &str, network: &Network, path: &str) -> Result<usize, FileError> {
    let known = || {
        let names: Vec<_> = network.hosts.iter().take(8).map(|host| host.name.as_str()).collect();
        let more = if network.hosts.len() > 8 { " and others" } else { "" };
        format!("no host is called `{name}`; there is `{}`{more}", names.join("`, `"))
    };
    network.host(name).map_or_else(|| wrong(path, known()), Ok)
}
