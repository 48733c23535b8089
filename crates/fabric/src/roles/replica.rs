//! Who follows the server and takes its place when it is lost.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
};

use laxity_interface::{Span, Time};

use super::{
    Role, earliest,
    ids::{RoleKind, Version},
    notice::{Notice, Promotion},
    post::{Letter, Post, Way},
    rule::Rule,
    server::{Decided, Server, ServerError, ServerOptions, Weights},
    tensor::Tensor,
    words::{Beat, Snapshot, Step, Word},
};
use crate::{carrier::Parcel, rank::Rank};

/// The most steps that wait for one before them; a server has fewer under way.
const MOST_EARLY: usize = 16;

/// How a replica works.
#[derive(Clone, PartialEq, Debug)]
pub struct ReplicaOptions {
    /// Who it follows.
    pub server: Rank,
    /// How long the server may be silent. It speaks every [`ServerOptions::beat`]; a server that hangs is
    /// replaced after this, one that is gone at once.
    pub silence: Span,
    /// How it works once it has taken over: as the server does.
    pub then: ServerOptions,
}

/// Who follows the server.
pub struct Replica {
    me: Rank,
    options: ReplicaOptions,
    rule: Box<dyn Rule>,
    post: Post,
    notices: VecDeque<Notice>,
    weights: Weights,
    decided: Decided,
    /// Whether the model of the server has arrived once.
    complete: bool,
    /// Steps that came before the one that goes before them, by the version before.
    early: BTreeMap<Version, (Step, Tensor)>,
    /// Who else is lost: workers that a server does not wait for.
    lost: BTreeSet<Rank>,
    /// When the server spoke last.
    heard: Option<Time>,
    /// The newest version that it spoke of, and how far away it said to be.
    last: (Version, f64),
    /// Why it takes over, once it does.
    promotion: Option<Promotion>,
}

impl fmt::Debug for Replica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replica")
            .field("me", &self.me)
            .field("version", &self.weights.version)
            .field("complete", &self.complete)
            .field("promotion", &self.promotion)
            .finish_non_exhaustive()
    }
}

impl Replica {
    /// A replica at this rank, of a model with so many elements.
    pub fn new(
        me: Rank,
        elements: usize,
        rule: impl Rule + 'static,
        options: ReplicaOptions,
    ) -> Result<Self, ServerError> {
        options.then.check(elements)?;
        let mut post = Post::new(me, RoleKind::Model, options.then.incarnation);
        post.send(Way::to(options.server, RoleKind::Model, 0), &Word::Join, None);
        Ok(Self {
            me,
            weights: Weights::new(vec![0.0; elements], options.then.momentum),
            options,
            rule: Box::new(rule),
            post,
            notices: VecDeque::new(),
            decided: Decided::default(),
            complete: false,
            early: BTreeMap::new(),
            lost: BTreeSet::new(),
            heard: None,
            last: (Version::default(), 0.0),
            promotion: None,
        })
    }

    /// The version that it has.
    pub fn version(&self) -> Version {
        self.weights.version
    }

    /// The model that it has.
    pub fn model(&self) -> &[f32] {
        self.weights.values()
    }

    /// Whether it has to become the server now.
    pub fn takes_over(&self) -> bool {
        self.promotion.is_some()
    }

    /// The server that it becomes; with the notice about it, and those not taken yet.
    pub(super) fn into_server(self) -> (Server, VecDeque<Notice>) {
        let mut notices = self.notices;
        let mut server = Server::take_over(
            self.me,
            self.options.server,
            self.weights,
            self.decided,
            self.rule,
            self.options.then,
            self.post,
        );
        server.without(&self.lost);
        if let Some(promotion) = self.promotion {
            notices
                .push_back(Notice::Promoted(Promotion { version: server.version(), ..promotion }));
        }
        (server, notices)
    }

    fn promote(&mut self, now: Time) {
        if self.promotion.is_some() {
            return;
        }
        let of = self.options.server;
        if !self.complete {
            self.heard = None;
            return self.notices.push_back(Notice::NothingToPromote { server: of });
        }
        let (heard, apart) = self.last;
        let silent = self.heard.map_or(Span::ZERO, |heard| now.since(heard));
        let version = self.weights.version;
        self.promotion = Some(Promotion { of, version, heard, apart, silent });
    }

    fn snapshot(&mut self, word: Snapshot, tensor: &Tensor) {
        let from = self.options.server;
        let elements = self.weights.elements() as u64;
        if self.complete && word.version < self.weights.version {
            return; // Overtaken by what is newer.
        }
        if word.elements != elements || !self.weights.replace(tensor, word.version) {
            let what = format!(
                "{from} holds a model of {} elements ({} with its momentum), {} expects {elements}; \
                 start both with the same model and momentum",
                word.elements,
                tensor.elements(),
                self.me,
            );
            return self.notices.push_back(Notice::Refusal { from, what });
        }
        self.decided = Decided::from_list(word.decided);
        self.complete = true;
        self.early.clear();
        self.stored();
    }

    fn step(&mut self, word: Step, tensor: Tensor) {
        let mine = self.weights.version;
        let fits = tensor.elements() == self.weights.elements();
        if !self.complete || word.version <= mine {
            return;
        }
        if !fits || word.version.epoch != mine.epoch || self.early.len() >= MOST_EARLY {
            let from = self.options.server;
            let what = format!(
                "{from} sent a step to {} with {} elements, where {} has {} with {}",
                word.version,
                tensor.elements(),
                self.me,
                mine,
                self.weights.elements(),
            );
            return self.notices.push_back(Notice::Refusal { from, what });
        }
        self.early.insert(word.before, (word, tensor));
        while let Some((word, tensor)) = self.early.remove(&self.weights.version) {
            self.weights.apply(tensor.iter(), word.version);
            for update in word.members {
                self.decided.insert(update);
            }
            self.stored();
        }
    }

    fn stored(&mut self) {
        let version = self.weights.version;
        self.last.0 = self.last.0.max(version);
        let way = Way::to(self.options.server, RoleKind::Model, version.epoch);
        self.post.send(way, &Word::Stored(version), None);
    }

    fn silent_until(&self) -> Option<Time> {
        self.heard.filter(|_| self.promotion.is_none()).map(|heard| heard + self.options.silence)
    }
}

impl Role for Replica {
    fn kind(&self) -> RoleKind {
        RoleKind::Model
    }

    fn handle_letter(&mut self, now: Time, letter: Letter) {
        let Letter { from, word, tensor, .. } = letter;
        self.lost.remove(&from);
        if from == self.options.server {
            self.heard = Some(now);
        }
        match (word, tensor) {
            (Word::Snapshot(word), Some(tensor)) if from == self.options.server => {
                self.snapshot(word, &tensor);
            }
            (Word::Step(word), Some(tensor)) if from == self.options.server => {
                self.step(word, tensor);
            }
            (Word::Beat(Beat { version, apart, .. }), _) if from == self.options.server => {
                if version >= self.last.0 {
                    self.last = (version, apart);
                }
            }
            // Another replica was faster, or the server was replaced before this one joined.
            (Word::Promoted(word), _) if word.of == self.options.server => {
                self.options.server = from;
                self.complete = false;
                self.heard = Some(now);
                let way = Way::to(from, RoleKind::Model, word.version.epoch);
                self.post.send(way, &Word::Join, None);
            }
            (Word::Beat(_), _) => {}
            // Workers may know of the server's death before this replica does. They send again.
            (Word::Update(_) | Word::Sum(_) | Word::Get(_), _) => {}
            (other, _) => {
                let what = format!("{from} said {other:?} to {}, which is a replica", self.me);
                self.notices.push_back(Notice::Refusal { from, what });
            }
        }
    }

    fn handle_lost(&mut self, now: Time, peer: Rank) {
        self.post.forget(peer);
        self.lost.insert(peer);
        if peer == self.options.server {
            self.promote(now);
        }
    }

    fn handle_undelivered(&mut self, _now: Time, _to: Rank, _sequence: u64) {}

    fn handle_timeout(&mut self, now: Time) {
        if self.silent_until().is_some_and(|until| until <= now) {
            self.promote(now);
        }
    }

    fn poll_parcel(&mut self, now: Time) -> Option<Parcel> {
        self.post.poll(now)
    }

    fn poll_timeout(&self) -> Option<Time> {
        earliest([self.silent_until(), self.post.next_time()])
    }

    fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }
}
