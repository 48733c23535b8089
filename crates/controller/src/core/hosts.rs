//! Hosts, by name and by number.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
};

use laxity_interface::{HostName, Rate, Time};

use super::{SessionId, network::HostId, record::SavedHost};
use crate::auth::{TOKEN_BYTES, hex, unhex};

/// What is known of a host.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Host {
    pub(crate) name: HostName,
    /// What it signs with; nothing while it is only the end of a flow.
    pub(crate) token: Option<[u8; TOKEN_BYTES]>,
    pub(crate) addresses: Vec<String>,
    pub(crate) up: Option<Rate>,
    pub(crate) down: Option<Rate>,
    pub(crate) session: Option<SessionId>,
    /// Where it was seen last.
    pub(crate) at: Option<SocketAddr>,
    /// When it came or went.
    pub(crate) since: Time,
    /// How many flows of jobs begin or end here.
    pub(crate) flows: u32,
    /// Flows whose plans it has not been told, by key.
    pub(crate) untold: BTreeSet<u64>,
}

impl Host {
    fn new(name: HostName, now: Time) -> Self {
        Self {
            name,
            token: None,
            addresses: Vec::new(),
            up: None,
            down: None,
            session: None,
            at: None,
            since: now,
            flows: 0,
            untold: BTreeSet::new(),
        }
    }

    pub(crate) fn saved(&self) -> Option<SavedHost> {
        Some(SavedHost {
            name: self.name.clone(),
            token: hex(&self.token?),
            addresses: self.addresses.clone(),
            up: self.up,
            down: self.down,
            seen_ps: self.since.as_ps(),
        })
    }
}

/// All hosts. Numbers of hosts that are forgotten are given to new ones.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Hosts {
    names: BTreeMap<HostName, HostId>,
    slots: Vec<Option<Host>>,
    free: Vec<HostId>,
}

impl Hosts {
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn find(&self, name: &HostName) -> Option<HostId> {
        self.names.get(name).copied()
    }

    /// The host of this name, new if need be.
    pub(crate) fn intern(&mut self, name: &HostName, now: Time) -> HostId {
        if let Some(id) = self.find(name) {
            return id;
        }
        let host = Some(Host::new(name.clone(), now));
        let id = match self.free.pop() {
            Some(id) => {
                self.slots[id.index()] = host;
                id
            }
            None => {
                self.slots.push(host);
                HostId(self.slots.len() as u32 - 1)
            }
        };
        self.names.insert(name.clone(), id);
        id
    }

    pub(crate) fn get(&self, id: HostId) -> Option<&Host> {
        self.slots.get(id.index())?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, id: HostId) -> Option<&mut Host> {
        self.slots.get_mut(id.index())?.as_mut()
    }

    pub(crate) fn name(&self, id: HostId) -> &str {
        self.get(id).map_or("a host that is gone", |host| host.name.as_str())
    }

    /// In the order of names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (HostId, &Host)> {
        self.names.values().filter_map(|id| Some((*id, self.get(*id)?)))
    }

    /// What hosts send and receive, by number.
    pub(crate) fn rates(&self, usual: Rate) -> impl Iterator<Item = (Rate, Rate)> {
        self.slots.iter().map(move |host| match host {
            None => (Rate::ZERO, Rate::ZERO),
            Some(host) => (host.up.unwrap_or(usual), host.down.unwrap_or(usual)),
        })
    }

    pub(crate) fn remove(&mut self, id: HostId) -> Option<Host> {
        let host = self.slots.get_mut(id.index())?.take()?;
        self.names.remove(&host.name);
        self.free.push(id);
        Some(host)
    }

    /// Brings back what was saved.
    pub(crate) fn restore(&mut self, saved: SavedHost) {
        let id = self.intern(&saved.name, Time::from_ps(saved.seen_ps));
        let token = unhex(&saved.token).and_then(|bytes| bytes.try_into().ok());
        if let Some(host) = self.get_mut(id) {
            let SavedHost { addresses, up, down, .. } = saved;
            *host = Host { token, addresses, up, down, ..host.clone() };
        }
    }
}
