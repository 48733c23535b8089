//! Why an update goes its way, or does not count.

use std::fmt;

use laxity_interface::{Span, Time};
use laxity_planner::updates::UpdateReason;

use super::{
    codec::{Reader, WordError, Writer},
    ids::Version,
};
use crate::rank::Rank;

/// What was decided about an update, for people. Times are from the moment of the decision, because
/// ranks do not share a clock.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// It goes straight to the server.
    Direct {
        /// When it arrives.
        ends: Span,
    },
    /// It is summed on the way.
    Summed {
        /// Where.
        at: Rank,
        /// When the sum is ready there.
        ready: Span,
        /// When the updates before it have arrived.
        free: Span,
    },
    /// It is older than allowed.
    TooStale {
        /// How many updates lie between its version and its commit.
        delay: u64,
        /// How many may.
        bound: u64,
    },
    /// Others would wait longer for it than it is worth.
    HoldsUp {
        /// How long it would take.
        takes: Span,
        /// How long updates take in the middle.
        usual: Span,
    },
    /// The round that it belongs to is over (synchronous mode).
    RoundOver {
        /// The version it was computed from.
        version: Version,
        /// The version now.
        now: Version,
    },
    /// It does not fit the model.
    Shape {
        /// Who sent it.
        worker: Rank,
        /// How many elements it has.
        sent: u64,
        /// Who compared.
        server: Rank,
        /// How many elements the model (or the sum) has.
        held: u64,
    },
    /// A sum holds an update that has been committed already: its other members are to be sent again,
    /// straight to the server.
    Overlap,
    /// It has been decided before; nothing was counted twice.
    Decided,
    /// It holds a number that is not finite.
    NotFinite,
    /// Who got it is no longer the server.
    Deposed {
        /// Who it is now, as far as known.
        epoch: u32,
    },
    /// The scheduler does not answer: it went straight to the server, at once.
    SchedulerAway,
    /// The planner found no way for it: it goes straight to the server, at once.
    NoPlan,
    /// The server is gone, and no replica took over in time.
    ServerGone {
        /// Who was the server.
        server: Rank,
        /// How long was waited.
        waited: Span,
    },
}

impl Reason {
    /// The planner's reason, in ranks, and in times from `now`.
    pub(crate) fn of(reason: UpdateReason, now: Time) -> Self {
        match reason {
            UpdateReason::Earliest { ends, .. } | UpdateReason::Direct { ends } => {
                Self::Direct { ends: ends.since(now) }
            }
            UpdateReason::TooStale { delay, bound } => Self::TooStale { delay, bound },
            UpdateReason::HoldsUp { takes, usual } => Self::HoldsUp { takes, usual },
            UpdateReason::Summed { at, ready, free } => {
                Self::Summed { at: Rank::new(at.0), ready: ready.since(now), free: free.since(now) }
            }
            // CORRECTNESS: the planner has no others; a new one would say where an update goes.
            _ => Self::Direct { ends: Span::ZERO },
        }
    }

    pub(crate) fn encode(&self, writer: &mut Writer) {
        let (code, a, b) = match *self {
            Self::Direct { ends } => (0, ends.as_ps(), 0),
            Self::TooStale { delay, bound } => (1, delay, bound),
            Self::HoldsUp { takes, usual } => (2, takes.as_ps(), usual.as_ps()),
            Self::Overlap => (3, 0, 0),
            Self::Decided => (4, 0, 0),
            Self::NotFinite => (5, 0, 0),
            Self::Deposed { epoch } => (6, epoch.into(), 0),
            Self::SchedulerAway => (7, 0, 0),
            Self::ServerGone { server, waited } => (8, server.get().into(), waited.as_ps()),
            Self::Summed { ready, free, .. } => (9, ready.as_ps(), free.as_ps()),
            Self::RoundOver { version, now } => (10, version.commits, now.commits),
            Self::Shape { sent, held, .. } => (11, sent, held),
            Self::NoPlan => (12, 0, 0),
        };
        let (c, d) = match *self {
            Self::Summed { at, .. } => (at.get(), 0),
            Self::RoundOver { version, now } => (version.epoch, now.epoch),
            Self::Shape { worker, server, .. } => (worker.get(), server.get()),
            _ => (0, 0),
        };
        writer.u8(code);
        writer.u64(a);
        writer.u64(b);
        writer.u32(c);
        writer.u32(d);
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, WordError> {
        let code = reader.u8("reason")?;
        let (a, b) = (reader.u64("reason")?, reader.u64("reason")?);
        let (c, d) = (reader.u32("reason")?, reader.u32("reason")?);
        let span = Span::from_ps;
        Ok(match code {
            0 => Self::Direct { ends: span(a) },
            1 => Self::TooStale { delay: a, bound: b },
            2 => Self::HoldsUp { takes: span(a), usual: span(b) },
            3 => Self::Overlap,
            4 => Self::Decided,
            5 => Self::NotFinite,
            6 => Self::Deposed { epoch: a as u32 },
            7 => Self::SchedulerAway,
            8 => Self::ServerGone { server: Rank::new(a as u32), waited: span(b) },
            9 => Self::Summed { at: Rank::new(c), ready: span(a), free: span(b) },
            10 => Self::RoundOver {
                version: Version { epoch: c, commits: a },
                now: Version { epoch: d, commits: b },
            },
            11 => Self::Shape { worker: Rank::new(c), sent: a, server: Rank::new(d), held: b },
            12 => Self::NoPlan,
            value => return Err(WordError::Unknown { what: "reason", value: value.into() }),
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct { ends } => write!(f, "goes straight to the server, arrives in {ends}"),
            Self::Summed { at, ready, free } => write!(
                f,
                "summed at {at}: the sum is ready in {ready}, the server's link is free in {free}"
            ),
            Self::TooStale { delay, bound } => write!(
                f,
                "does not count: {delay} updates lie between its version and its commit, {bound} may"
            ),
            Self::HoldsUp { takes, usual } => write!(
                f,
                "not sent: it would take {takes}, where updates usually take {usual}, and hold up the \
                 others for longer than it is worth"
            ),
            Self::RoundOver { version, now } => {
                write!(f, "does not count: it belongs to {version}, and the model has {now}")
            }
            Self::Shape { worker, sent, server, held } => write!(
                f,
                "refused: {worker} sent {sent} elements, {server} holds {held}; start both with the \
                 same model"
            ),
            Self::Overlap => f.write_str(
                "its sum holds an update that is committed already: it is sent again by itself",
            ),
            Self::Decided => f.write_str("decided before; not counted again"),
            Self::NotFinite => f.write_str(
                "refused: it holds a number that is not finite; clip gradients or lower the rate",
            ),
            Self::Deposed { epoch } => {
                write!(f, "not taken: another server took over (epoch {epoch})")
            }
            Self::SchedulerAway => {
                f.write_str("the scheduler is away: goes straight to the server at once")
            }
            Self::NoPlan => f.write_str(
                "no plan: its path has no bandwidth as far as is known; goes to the server at once",
            ),
            Self::ServerGone { server, waited } => {
                write!(f, "{server}, the server, is gone, and nobody took over within {waited}")
            }
        }
    }
}
