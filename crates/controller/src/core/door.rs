//! Who is let in: somebody says who it is, proves that it has the job's key, and a host also that it is
//! the one that had the name before.

use laxity_interface::{HostName, Rate, Time};

use super::{
    Controller, SessionId,
    event::{Event, rough},
    network::HostId,
    record::Record,
    sessions::Stage,
};
use crate::{
    auth::{NONCE_BYTES, TOKEN_BYTES, Talk, key_id, named_key},
    wire::{self, to_host::Word},
};

/// The most addresses that a host may name.
const MOST_NAMED: usize = 64;

impl Controller {
    pub(super) fn hello(&mut self, session: SessionId, hello: wire::Hello) {
        let Some(known) = self.sessions.get(session) else { return };
        let (at, nonce) = (known.at, known.nonce);
        if let Err(what) = self.check_hello(&hello, &at.to_string()) {
            return self.refuse(session, what);
        }
        let name = self.options.name.clone();
        let talk = Talk {
            host: &hello.name,
            controller: &name,
            host_nonce: &hello.nonce,
            controller_nonce: &nonce,
            token: &hello.token,
        };
        let proof = talk.controller_proof(&self.secret);
        let key_id = key_id(&self.secret);
        let challenge = wire::Challenge { name, nonce: nonce.to_vec(), key_id, proof };
        if let Some(known) = self.sessions.get_mut(session) {
            known.stage = Stage::Challenged(Box::new(hello));
        }
        self.sessions.say(session, Word::Challenge(challenge));
    }

    fn check_hello(&self, hello: &wire::Hello, at: &str) -> Result<(), String> {
        let me = &self.options.name;
        let who = if hello.observer { "somebody" } else { "host" };
        let name = hello.name.chars().take(64).collect::<String>();
        if hello.layout != wire::LAYOUT {
            let (theirs, ours) = (hello.layout, wire::LAYOUT);
            return Err(format!(
                "{who} {name} at {at} speaks layout {theirs} and controller {me} speaks {ours}: \
                 update the older one"
            ));
        }
        let ours = key_id(&self.secret);
        if hello.key_id != ours {
            let theirs = hello.key_id.chars().take(32).collect::<String>();
            return Err(format!(
                "{who} {name} at {at} has {}, and controller {me} has {}: give both the same key \
                 file",
                named_key(&theirs),
                named_key(&ours)
            ));
        }
        if hello.nonce.len() != NONCE_BYTES
            || !(hello.observer || hello.token.len() == TOKEN_BYTES)
            || hello.addresses.len() > MOST_NAMED
        {
            return Err(format!("what {who} {name} at {at} said of itself is malformed"));
        }
        if !hello.observer {
            HostName::new(&hello.name).map_err(|error| format!("a host at {at}: {error}"))?;
        }
        Ok(())
    }

    pub(super) fn proof(&mut self, now: Time, session: SessionId, proof: &wire::Proof) {
        let Some(known) = self.sessions.get_mut(session) else { return };
        let (at, nonce) = (known.at, known.nonce);
        let Stage::Challenged(hello) = std::mem::replace(&mut known.stage, Stage::Silent) else {
            return self.refuse(session, format!("{at} proves what nobody asked for"));
        };
        let me = self.options.name.clone();
        let talk = Talk {
            host: &hello.name,
            controller: &me,
            host_nonce: &hello.nonce,
            controller_nonce: &nonce,
            token: &hello.token,
        };
        let name = &hello.name;
        if !talk.host_proves(&self.secret, &proof.proof) {
            let key = named_key(&hello.key_id);
            let what = format!(
                "{name} at {at} says that it has {key} of controller {me} and cannot prove it: \
                 somebody plays its part"
            );
            return self.refuse(session, what);
        }
        if hello.observer {
            if let Some(known) = self.sessions.get_mut(session) {
                known.stage = Stage::Observer;
            }
            return self.welcome(session);
        }
        if !talk.signed(&proof.signature) {
            let what = format!(
                "host {name} at {at} presented a token that it cannot sign with: somebody plays its \
                 part"
            );
            return self.refuse(session, what);
        }
        match self.register(now, session, &hello) {
            Ok(host) => self.attach(now, session, host, &hello),
            Err(what) => self.refuse(session, what),
        }
    }

    /// Gives a host its name, unless it is another's.
    fn register(
        &mut self,
        now: Time,
        session: SessionId,
        hello: &wire::Hello,
    ) -> Result<HostId, String> {
        let at = self.sessions.get(session).map_or_else(String::new, |known| known.at.to_string());
        let name = HostName::new(&hello.name).map_err(|error| error.to_string())?;
        let token: [u8; TOKEN_BYTES] =
            hello.token[..].try_into().map_err(|_| "a token that is none".to_owned())?;
        if let Some(id) = self.hosts.find(&name)
            && let Some(host) = self.hosts.get(id)
            && let Some(holder) = host.token
            && holder != token
        {
            let held = host.session.is_some() || host.since + self.options.lease > now;
            if held {
                let from = host.at.map_or_else(|| "an earlier run".to_owned(), |at| at.to_string());
                let state = match host.session {
                    Some(_) => "is attached".to_owned(),
                    None => format!("left {}", rough(now.since(host.since))),
                };
                return Err(format!(
                    "host {name} at {at} presented another token than host {name}, which registered \
                     from {from} and {state}: give every host a name of its own; a host that was \
                     started again needs the keys it had (HostKeys), or has to wait for {}",
                    self.options.lease
                ));
            }
        }
        if self.hosts.find(&name).is_none() && self.hosts.len() >= self.options.most_hosts {
            let most = self.options.most_hosts;
            return Err(format!(
                "host {name} at {at} is one more than the {most} that are allowed"
            ));
        }
        let id = self.hosts.intern(&name, now);
        if let Some(host) = self.hosts.get_mut(id) {
            host.token = Some(token);
        }
        Ok(id)
    }

    fn attach(&mut self, now: Time, session: SessionId, id: HostId, hello: &wire::Hello) {
        let Some(at) = self.sessions.get(session).map(|known| known.at) else { return };
        let Some(host) = self.hosts.get_mut(id) else { return };
        let (before, again) = (host.session.take(), host.at.is_some());
        host.session = Some(session);
        (host.at, host.since) = (Some(at), now);
        let rate = |bps: Option<u64>| bps.filter(|bps| *bps > 0).map(Rate::bps);
        let (up, down) = (rate(hello.up_bps), rate(hello.down_bps));
        let other = (host.up, host.down) != (up, down);
        (host.up, host.down) = (up, down);
        host.addresses = hello.addresses.clone();
        let record = host.saved().map(Record::Host);
        let name = host.name.to_string();
        // It may be another process: whatever it was told is told again.
        let flows = host.flows > 0;
        if let Some(known) = self.sessions.get_mut(session) {
            known.stage = Stage::Host(id);
        }
        if let Some(before) = before {
            // The same host, known by its token, over a new connection.
            self.let_go(now, before, "it came back over another connection");
        }
        self.records.extend(record);
        self.events.push_back(Event::HostCame { host: name, at, again });
        self.welcome(session);
        if flows {
            self.tell_all(id);
        }
        if other {
            self.plan_by(now + self.options.interval);
        }
    }

    fn welcome(&mut self, session: SessionId) {
        let (incarnation, interval_ps) = (self.incarnation, self.options.interval.as_ps());
        self.sessions.say(session, Word::Welcome(wire::Welcome { incarnation, interval_ps }));
    }

    /// All plans of a host's flows are to be told.
    fn tell_all(&mut self, id: HostId) {
        let mut keys = std::collections::BTreeSet::new();
        for job in self.jobs.all.values() {
            for (place, flow) in job.flows.iter().enumerate() {
                if flow.from == id && flow.is_open() && flow.planned.is_some() {
                    keys.insert(super::jobs::flow_key(job.key, place));
                }
            }
        }
        if let Some(host) = self.hosts.get_mut(id) {
            host.untold = keys;
            if let Some(session) = host.session {
                self.sessions.wake(session);
            }
        }
    }

    /// Ends the conversation of somebody who may be a host: it is not attached any more.
    pub(super) fn turn_out(&mut self, now: Time, session: SessionId, what: String) {
        self.let_go(now, session, &what);
        self.refuse(session, what);
    }

    /// Says why, and ends the conversation of somebody who was not let in.
    pub(super) fn refuse(&mut self, session: SessionId, what: String) {
        let Some(known) = self.sessions.get_mut(session) else { return };
        known.stage = Stage::Over;
        self.events.push_back(Event::Refused { at: known.at, what: what.clone() });
        self.sessions.say(session, Word::Refused(wire::Refused { what }));
    }
}
