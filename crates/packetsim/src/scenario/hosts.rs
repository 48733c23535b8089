//! Which hosts take part.

use std::fmt;

use laxity_topology::Topology;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};

use crate::flow::HostId;

/// Hosts by name, `["h0", "h3"]`, or by place: `{ first = 8, of = 16 }` are the first eight of every
/// sixteen, `{ last = 8, of = 16 }` the others, `{ first = 32 }` the first 32 of all.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum HostSet {
    /// By name.
    Names(Vec<String>),
    /// By place.
    Places(Places),
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Places {
    first: Option<usize>,
    last: Option<usize>,
    of: Option<usize>,
}

impl HostSet {
    /// Everybody.
    pub(super) const ALL: Self = Self::Places(Places { first: None, last: None, of: None });

    /// The hosts, in the order of the network (by place) or of the list.
    pub(super) fn choose(&self, net: &Topology) -> Result<Vec<HostId>, String> {
        let chosen = match self {
            Self::Names(names) => {
                names.iter().map(|name| find(net, name)).collect::<Result<_, _>>()?
            }
            Self::Places(places) => places.choose(net.hosts().len())?,
        };
        let mut sorted = chosen.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => {
                let name = net.name(net.hosts()[pair[0].index()]);
                Err(format!("host `{name}` is there twice"))
            }
            None => Ok(chosen),
        }
    }
}

/// A host by name.
pub(super) fn find(net: &Topology, name: &str) -> Result<HostId, String> {
    let node = net.host(name).map_err(|error| error.to_string())?;
    let index = net.host_index(node).expect("hosts have an index");
    Ok(HostId(index as u16))
}

impl Places {
    fn choose(&self, hosts: usize) -> Result<Vec<HostId>, String> {
        let block = self.of.unwrap_or(hosts);
        if block == 0 || block > hosts {
            return Err(format!("`of` is {block}: give 1 to {hosts}, the number of hosts"));
        }
        let inside = match (self.first, self.last) {
            (None, None) => 0..block,
            (Some(n), None) if (1..=block).contains(&n) => 0..n,
            (None, Some(n)) if (1..=block).contains(&n) => block - n..block,
            (Some(n), None) | (None, Some(n)) => {
                return Err(format!("{n} of {block} hosts: give 1 to {block}"));
            }
            (Some(_), Some(_)) => return Err("give `first` or `last`, not both".into()),
        };
        let all = (0..hosts).filter(|host| inside.contains(&(host % block)));
        Ok(all.map(|host| HostId(host as u16)).collect())
    }
}

impl<'de> Deserialize<'de> for HostSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = HostSet;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of hosts, or places like `{ first = 8, of = 16 }`")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<HostSet, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = items.next_element()? {
                    names.push(name);
                }
                Ok(HostSet::Names(names))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<HostSet, A::Error> {
                Places::deserialize(MapAccessDeserializer::new(map)).map(HostSet::Places)
            }
        }

        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use laxity_interface::{Rate, Span};

    use super::*;

    fn choose(text: &str) -> Result<Vec<u16>, String> {
        #[derive(Deserialize)]
        struct File {
            hosts: HostSet,
        }
        let net = Topology::star(12, Rate::from_gbps(1), Span::ZERO).unwrap();
        let file: File = toml::from_str(&format!("hosts = {text}")).map_err(|e| e.to_string())?;
        Ok(file.hosts.choose(&net)?.into_iter().map(|host| host.0).collect())
    }

    #[test]
    fn names_and_places() {
        assert_eq!(choose("['h3', 'h1']"), Ok(vec![3, 1]));
        assert_eq!(choose("{ first = 2, of = 6 }"), Ok(vec![0, 1, 6, 7]));
        assert_eq!(choose("{ last = 1, of = 5 }"), Ok(vec![4, 9]));
        assert_eq!(choose("{ first = 3 }"), Ok(vec![0, 1, 2]));
        for (text, words) in [
            ("{ first = 7, of = 6 }", "7 of 6"),
            ("{ first = 1, last = 1 }", "not both"),
            ("{ of = 20 }", "20"),
            ("['h3', 'h3']", "twice"),
            ("['x']", "x"),
            ("{ firts = 1 }", "firts"),
        ] {
            let error = choose(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
