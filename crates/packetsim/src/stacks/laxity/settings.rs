//! Our own transport and the papers' forms of it.

use laxity_interface::{Dscp, Layout, Rate, Span};
use laxity_protocol::{ClassRule, Config, ControllerKind, DscpMap, MessageOrder};

/// Which form of the transport.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Form {
    /// As it ships.
    Laxity,
    /// ATP_Base: line rate, and after the first pass everything that got lost again.
    AtpBase,
    /// ATP_RC: with rate control against a fixed target loss rate.
    AtpRc,
    /// ATP_MRDF: also fewest remaining bytes first.
    AtpMrdf,
    /// ATP_FixTLR: the queue follows the first target, and the target stays.
    AtpFixTlr,
    /// ATP_FixPrio: the target moves, the queue stays.
    AtpFixPrio,
    /// ATP_Full: target and queue move.
    AtpFull,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Laxity,
        Self::AtpBase,
        Self::AtpRc,
        Self::AtpMrdf,
        Self::AtpFixTlr,
        Self::AtpFixPrio,
        Self::AtpFull,
    ];

    /// The papers' reaction speed m.
    const REACTION: f64 = 1.0 / 16.0;

    /// The endpoint's settings on a host whose interface is this fast, where ports have this layout.
    ///
    /// The papers' forms use DCTCP for what may lose nothing, as NetApprox says of its
    /// non-approximate traffic. They start at line rate, for an approximate transport "should send data
    /// at as aggressive a rate as possible" (§4) and the paper names no other start, and their epochs
    /// are one round trip. Packets leave one by one at the rate: queues of one to seven packets have no
    /// room for the bursts that real hosts need for the sake of their timers. ATP_Base, ATP_RC and ATP_MRDF come before the paper's priority queues:
    /// they put everything that may lose something into one queue, as its first strawman (§5.1) does.
    pub fn config(self, line_rate: Rate, layout: Layout) -> Config {
        let mut config = Config::insecure().on(layout);
        config.line_rate = Some(line_rate);
        config.dscp = code_points([0, 1, 2, 3, 4, 5, 6, 7]);
        // Limits against misuse, not part of the algorithm; a simulation has one user.
        config.max_jobs = 1 << 16;
        config.max_peers = 1 << 16;
        if self == Self::Laxity {
            return config;
        }
        config.exact_controller = ControllerKind::Dctcp;
        config.slack_start = Some(line_rate);
        config.min_epoch = Span::ZERO;
        config.max_burst = Some(1);
        config.only_enough = false;
        let fixed = ControllerKind::FixedTlr { reaction: Self::REACTION };
        (config.slack_controller, config.class_rule) = match self {
            Self::Laxity | Self::AtpFull => (ControllerKind::SLACK, ClassRule::Dynamic),
            Self::AtpBase => (ControllerKind::Assigned(line_rate), ClassRule::First),
            Self::AtpRc | Self::AtpMrdf | Self::AtpFixTlr => (fixed, ClassRule::First),
            Self::AtpFixPrio => (ControllerKind::SLACK, ClassRule::First),
        };
        if matches!(self, Self::AtpBase | Self::AtpRc | Self::AtpMrdf) {
            config.dscp = code_points([0, 1, 1, 1, 1, 1, 1, 1]);
        }
        config
    }

    /// The order in which messages leave.
    pub fn order(self) -> MessageOrder {
        match self {
            Self::AtpBase | Self::AtpRc => MessageOrder::LostLast,
            Self::Laxity => MessageOrder::FewestRemaining,
            _ => MessageOrder::FewestRemainingOfAll,
        }
    }
}

/// In the simulator a code point is the number of the queue.
fn code_points(queues: [u8; 8]) -> DscpMap {
    DscpMap::new(queues.map(|queue| Dscp::new(queue).expect("below 64")))
}

#[cfg(test)]
mod tests {
    use laxity_protocol::Class;

    use super::*;

    #[test]
    fn forms_differ_where_the_paper_says() {
        let config = |form: Form| form.config(Rate::from_gbps(40), Layout::Slack);
        let slack = |form| config(form).slack_controller;
        assert_eq!(slack(Form::Laxity), ControllerKind::Laxity);
        assert_eq!(slack(Form::AtpBase), ControllerKind::Assigned(Rate::from_gbps(40)));
        assert_eq!(slack(Form::AtpMrdf), slack(Form::AtpRc));
        assert_ne!(Form::AtpMrdf.order(), Form::AtpRc.order());
        assert_eq!(slack(Form::AtpFixPrio), slack(Form::AtpFull));
        assert_ne!(config(Form::AtpFixPrio).class_rule, config(Form::AtpFull).class_rule);
        let queue = |form, tlr| config(form).dscp.dscp(Class::of(tlr)).get();
        assert_eq!((queue(Form::AtpRc, 0.9), queue(Form::AtpFull, 0.9)), (1, 7));
        assert_eq!(queue(Form::AtpRc, 0.0), 0);
    }
}
