//! The core under a virtual clock: hosts that do what the protocol says, and those that do not.

mod door;
mod properties;
mod state;

use std::collections::BTreeMap;

use laxity_fabric::rendezvous::Secret;
use laxity_interface::{FlowId, Rate, Span, Time};
use laxity_protocol::Key;

use super::*;
use crate::{
    auth::{HostKeys, Talk, key_id},
    wire::{FromHost, from_host},
};

pub(super) fn secret() -> Secret {
    Secret::Key(Key::new([3; 32]))
}

/// What a host has been told.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) plans: BTreeMap<FlowName, wire::FlowPlan>,
    pub(super) jobs: Vec<wire::JobAnswer>,
    pub(super) refused: Option<String>,
    pub(super) answers: Vec<wire::Answer>,
    pub(super) roles: Vec<wire::RoleWord>,
    pub(super) welcome: bool,
    pub(super) ended: bool,
}

/// A controller and those who talk to it.
#[derive(Debug)]
pub(super) struct World {
    pub(super) core: Controller,
    pub(super) now: Time,
    pub(super) heard: BTreeMap<SessionId, Heard>,
    next: u64,
}

impl World {
    pub(super) fn new(options: Options) -> Self {
        let core = Controller::new(Time::ZERO, options, secret(), Saved::default());
        Self { core, now: Time::ZERO, heard: BTreeMap::new(), next: 0 }
    }

    /// Time passes, and everything that is due happens.
    pub(super) fn pass(&mut self, span: Span) {
        let end = self.now + span;
        while let Some(due) = self.core.poll_timeout().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.core.handle_timeout(self.now);
            self.listen();
        }
        self.now = end;
        self.listen();
    }

    /// Everybody hears what there is.
    pub(super) fn listen(&mut self) {
        for id in self.core.ready().collect::<Vec<_>>() {
            while let Some(out) = self.core.poll_word(self.now, id) {
                self.hear(id, out);
            }
        }
    }

    fn hear(&mut self, id: SessionId, out: Outgoing) {
        let heard = self.heard.entry(id).or_default();
        let Outgoing::Word(wire::ToHost { word: Some(word) }) = out else {
            heard.ended = true;
            return self.core.handle_closed(self.now, id, "ended");
        };
        match word {
            Word::Plans(plans) => {
                for plan in plans.plans {
                    let name = FlowName::new(plan.job.clone(), FlowId(plan.flow));
                    heard.plans.insert(name, plan);
                }
            }
            Word::Job(answer) => heard.jobs.push(answer),
            Word::Refused(refused) => heard.refused = Some(refused.what),
            Word::Answer(answer) => heard.answers.push(answer),
            Word::Role(word) => heard.roles.push(word),
            Word::Welcome(_) => heard.welcome = true,
            Word::Challenge(_) => {}
        }
    }

    pub(super) fn say(&mut self, id: SessionId, word: from_host::Word) {
        self.core.handle_word(self.now, id, FromHost { word: Some(word) });
    }

    pub(super) fn open(&mut self) -> SessionId {
        self.next += 1;
        let id = SessionId(self.next);
        let at = format!("10.0.0.{}:4000", self.next % 250 + 1).parse().unwrap();
        self.core.handle_opened(self.now, id, at, [self.next as u8; 32]);
        id
    }

    /// Somebody says who it is and proves it with this key.
    pub(super) fn attend(
        &mut self,
        name: &str,
        keys: Option<&HostKeys>,
        secret: &Secret,
        change: impl FnOnce(&mut wire::Hello),
    ) -> SessionId {
        let id = self.open();
        let nonce = vec![9; 32];
        let token = keys.map(|keys| keys.token().to_vec()).unwrap_or_default();
        let mut hello = wire::Hello {
            layout: wire::LAYOUT,
            observer: keys.is_none(),
            name: name.into(),
            nonce: nonce.clone(),
            key_id: key_id(secret),
            token: token.clone(),
            ..Default::default()
        };
        change(&mut hello);
        let (name, token) = (hello.name.clone(), hello.token.clone());
        self.say(id, from_host::Word::Hello(hello));
        let challenge = match self.core.poll_word(self.now, id) {
            Some(Outgoing::Word(wire::ToHost { word: Some(Word::Challenge(challenge)) })) => {
                challenge
            }
            other => {
                other.into_iter().for_each(|out| self.hear(id, out));
                self.listen();
                return id;
            }
        };
        let talk = Talk {
            host: &name,
            controller: &challenge.name,
            host_nonce: &nonce,
            controller_nonce: &challenge.nonce,
            token: &token,
        };
        let signature = keys.map(|keys| keys.sign(&talk)).unwrap_or_default();
        let proof = wire::Proof { proof: talk.host_proof(secret), signature };
        self.say(id, from_host::Word::Proof(proof));
        self.listen();
        id
    }

    /// A host of this number, with these rates.
    pub(super) fn host(&mut self, number: u8, mbps: Option<(u64, u64)>) -> SessionId {
        let keys = HostKeys::from_seed([number; 32]);
        self.attend(&format!("h{number}"), Some(&keys), &secret(), |hello| {
            hello.up_bps = mbps.map(|(up, _)| Rate::from_mbps(up).as_bps());
            hello.down_bps = mbps.map(|(_, down)| Rate::from_mbps(down).as_bps());
        })
    }

    pub(super) fn submit(&mut self, id: SessionId, job: &laxity_interface::Job) {
        let submit = wire::Submit { job: job.to_json(), sent: Vec::new(), age_ps: 0 };
        self.say(id, from_host::Word::Submit(submit));
    }

    pub(super) fn heard(&mut self, id: SessionId) -> &mut Heard {
        self.heard.entry(id).or_default()
    }
}
