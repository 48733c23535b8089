//! Words as bytes.

use super::{
    Action, Announce, Asked, Beat, Committed, DecidedOf, Entry, Gather, Get, MOST_DECIDED,
    MOST_MEMBERS, MOST_WORKERS, Measured, Member, Model, Progress, Promoted, Refused, Register,
    Snapshot, Step, Strength, Sum, Through, Update, Word,
};
use crate::roles::{
    codec::{Reader, WordError, Writer},
    ids::RoleKind,
    reason::Reason,
};

fn role(reader: &mut Reader<'_>) -> Result<RoleKind, WordError> {
    let byte = reader.u8("role")?;
    RoleKind::from_byte(byte).ok_or_else(|| WordError::Unknown { what: "role", value: byte.into() })
}

impl Word {
    /// The number of its kind, which is also in the envelope.
    pub fn kind(&self) -> u8 {
        match self {
            Self::Register(_) => 0,
            Self::Announce(_) => 1,
            Self::Entry(_) => 2,
            Self::Gather(_) => 3,
            Self::Update(_) => 4,
            Self::Sum(_) => 5,
            Self::Committed(_) => 6,
            Self::Refused(_) => 7,
            Self::Progress(_) => 8,
            Self::Get(_) => 9,
            Self::Model(_) => 10,
            Self::Join => 11,
            Self::Step(_) => 12,
            Self::Snapshot(_) => 13,
            Self::Stored(_) => 14,
            Self::Beat(_) => 15,
            Self::Promoted(_) => 16,
            Self::Measured(_) => 17,
            Self::Clock(_) => 18,
            Self::Hosts(_) => 19,
        }
    }

    pub(crate) fn encode(&self, w: &mut Writer) {
        w.u8(self.kind());
        match self {
            Self::Register(word) => {
                w.u8(word.role as u8);
                w.u8(word.sync.into());
                w.option(word.staleness, Writer::u64);
                w.version(word.version);
            }
            Self::Announce(word) => {
                w.update(word.update);
                w.rank(word.server);
                w.u64(word.bytes);
                w.f64(word.norm);
                w.version(word.version);
            }
            Self::Entry(word) => {
                w.update(word.update);
                encode_action(word.action, w);
                word.reason.encode(w);
            }
            Self::Gather(word) => {
                w.sum(word.sum);
                w.rank(word.server);
                w.span(word.bound);
                w.list(&word.members, |w, one| w.update(*one));
            }
            Self::Update(word) => {
                w.update(word.update);
                w.version(word.version);
                w.f64(word.norm);
                w.f64(word.min_delivery.get());
                w.rank(word.server);
                w.option(word.sum, Writer::sum);
            }
            Self::Sum(word) => {
                w.sum(word.sum);
                w.list(&word.members, |w, one| {
                    w.update(one.update);
                    w.version(one.version);
                    w.f64(one.norm);
                    w.u64(one.lost);
                });
            }
            Self::Committed(word) => {
                w.update(word.update);
                w.version(word.version);
                w.u64(word.delay);
            }
            Self::Refused(word) => encode_refused(word, w),
            Self::Progress(word) => {
                w.version(word.version);
                w.list(&word.committed, |w, one| w.update(*one));
                w.list(&word.refused, |w, one| encode_refused(one, w));
            }
            Self::Get(word) => {
                w.u64(word.request);
                w.version(word.at_least);
                w.u64(word.clock);
            }
            Self::Model(word) => {
                w.u64(word.request);
                w.version(word.version);
                w.u64(word.first);
                w.u64(word.of);
                w.list(&word.then, |w, one| {
                    w.rank(one.worker);
                    w.u64(one.request);
                });
            }
            Self::Join => {}
            Self::Step(word) => {
                w.version(word.before);
                w.version(word.version);
                w.list(&word.members, |w, one| w.update(*one));
            }
            Self::Snapshot(word) => {
                w.version(word.version);
                w.u64(word.elements);
                w.list(&word.decided, encode_decided);
            }
            Self::Stored(version) => w.version(*version),
            Self::Clock(clock) => w.option(*clock, Writer::u64),
            Self::Beat(word) => {
                w.u8(word.role as u8);
                w.version(word.version);
                w.f64(word.apart);
            }
            Self::Promoted(word) => {
                w.rank(word.of);
                w.version(word.version);
            }
            Self::Measured(word) => {
                w.rank(word.to);
                w.rate(word.rate);
            }
            Self::Hosts(hosts) => w.list(hosts, |w, one| {
                w.rank(one.host);
                w.rate(one.rate);
            }),
        }
    }

    pub(crate) fn decode(r: &mut Reader<'_>) -> Result<Self, WordError> {
        Ok(match r.u8("kind")? {
            0 => Self::Register(Register {
                role: role(r)?,
                sync: r.flag("mode")?,
                staleness: r.option("staleness bound", |r| r.u64("staleness bound"))?,
                version: r.version()?,
            }),
            1 => Self::Announce(Announce {
                update: r.update()?,
                server: r.rank("server")?,
                bytes: r.u64("size")?,
                norm: r.f64("norm")?,
                version: r.version()?,
            }),
            2 => Self::Entry(Entry {
                update: r.update()?,
                action: decode_action(r)?,
                reason: Reason::decode(r)?,
            }),
            3 => Self::Gather(Gather {
                sum: r.sum()?,
                server: r.rank("server")?,
                bound: r.span("bound")?,
                members: r.list("members", MOST_MEMBERS, 12, Reader::update)?,
            }),
            4 => Self::Update(Update {
                update: r.update()?,
                version: r.version()?,
                norm: r.f64("norm")?,
                min_delivery: r.fraction("minimum delivery")?,
                server: r.rank("server")?,
                sum: r.option("sum", Reader::sum)?,
            }),
            5 => Self::Sum(Sum {
                sum: r.sum()?,
                members: r.list("members", MOST_MEMBERS, 40, |r| {
                    Ok(Member {
                        update: r.update()?,
                        version: r.version()?,
                        norm: r.f64("norm")?,
                        lost: r.u64("lost elements")?,
                    })
                })?,
            }),
            6 => Self::Committed(Committed {
                update: r.update()?,
                version: r.version()?,
                delay: r.u64("delay")?,
            }),
            7 => Self::Refused(decode_refused(r)?),
            8 => Self::Progress(Progress {
                version: r.version()?,
                committed: r.list("updates", MOST_MEMBERS, 12, Reader::update)?,
                refused: r.list("refused updates", MOST_MEMBERS, 37, decode_refused)?,
            }),
            9 => Self::Get(Get {
                request: r.u64("request")?,
                at_least: r.version()?,
                clock: r.u64("clock")?,
            }),
            10 => Self::Model(Model {
                request: r.u64("request")?,
                version: r.version()?,
                first: r.u64("first element")?,
                of: r.u64("elements")?,
                then: r.list("workers", MOST_MEMBERS, 12, |r| {
                    Ok(Asked { worker: r.rank("worker")?, request: r.u64("request")? })
                })?,
            }),
            11 => Self::Join,
            12 => Self::Step(Step {
                before: r.version()?,
                version: r.version()?,
                members: r.list("members", MOST_MEMBERS, 12, Reader::update)?,
            }),
            13 => Self::Snapshot(Snapshot {
                version: r.version()?,
                elements: r.u64("elements")?,
                decided: r.list("workers", MOST_WORKERS, 16, decode_decided)?,
            }),
            14 => Self::Stored(r.version()?),
            15 => Self::Beat(Beat {
                role: role(r)?,
                version: r.version()?,
                apart: r.f64("distance")?,
            }),
            16 => Self::Promoted(Promoted { of: r.rank("server")?, version: r.version()? }),
            17 => Self::Measured(Measured { to: r.rank("peer")?, rate: r.rate("rate")? }),
            19 => Self::Hosts(r.list("hosts", MOST_WORKERS, 12, |r| {
                Ok(Strength { host: r.rank("host")?, rate: r.rate("rate")? })
            })?),
            18 => Self::Clock(r.option("clock", |r| r.u64("clock"))?),
            value => return Err(WordError::Unknown { what: "kind", value: value.into() }),
        })
    }
}

fn encode_action(action: Action, w: &mut Writer) {
    let send = match action {
        Action::Drop => None,
        Action::Send { after, rate, place, through } => Some((after, rate, place, through)),
    };
    w.option(send, |w, (after, rate, place, through)| {
        w.span(after);
        w.option(rate, Writer::rate);
        w.u32(place);
        w.option(through, |w, through| {
            w.rank(through.aggregator);
            w.sum(through.sum);
            w.span(through.give_up);
        });
    });
}

fn decode_action(r: &mut Reader<'_>) -> Result<Action, WordError> {
    let send = r.option("action", |r| {
        Ok(Action::Send {
            after: r.span("start")?,
            rate: r.option("rate", |r| r.rate("rate"))?,
            place: r.u32("place")?,
            through: r.option("next hop", |r| {
                Ok(Through {
                    aggregator: r.rank("aggregator")?,
                    sum: r.sum()?,
                    give_up: r.span("bound")?,
                })
            })?,
        })
    })?;
    Ok(send.unwrap_or(Action::Drop))
}

fn encode_refused(word: &Refused, w: &mut Writer) {
    w.update(word.update);
    word.reason.encode(w);
}

fn decode_refused(r: &mut Reader<'_>) -> Result<Refused, WordError> {
    Ok(Refused { update: r.update()?, reason: Reason::decode(r)? })
}

fn encode_decided(w: &mut Writer, one: &DecidedOf) {
    w.rank(one.worker);
    w.u64(one.floor);
    w.list(&one.above, |w, number| w.u64(*number));
}

fn decode_decided(r: &mut Reader<'_>) -> Result<DecidedOf, WordError> {
    Ok(DecidedOf {
        worker: r.rank("worker")?,
        floor: r.u64("first number")?,
        above: r.list("numbers", MOST_DECIDED, 8, |r| r.u64("number"))?,
    })
}
