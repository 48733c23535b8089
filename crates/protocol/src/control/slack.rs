//! The papers' rate control, as written (equations 2 and 3 of NetApprox).

use laxity_interface::{Rate, Time};

use super::{AckSample, Controller, Epoch, Reason, Start, per_rtt};

/// Where the target loss rate comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TargetRule {
    /// Equation 1, anew each epoch.
    Dynamic,
    /// What it was when the jobs began (1 − d), for ever.
    First,
}

/// `LR ≤ TLR: R ← (1−m)·R + m·R_max`; `LR > TLR: R ← R·(1 − LR/2)`; never below a packet per RTT.
#[derive(Clone, Copy, Debug)]
pub struct Slack {
    rate: f64,
    line_rate: f64,
    reaction: f64,
    marks_count: bool,
    rule: TargetRule,
    reason: Reason,
}

/// What R_max is where nobody said how fast the interface is.
const DEFAULT_LINE_RATE: Rate = Rate::from_gbps(10);

impl Slack {
    /// Starts at the initial window per round trip, or where it was told to.
    pub fn new(start: &Start, reaction: f64, marks_count: bool, rule: TargetRule) -> Self {
        let line_rate = start.line_rate.unwrap_or(DEFAULT_LINE_RATE).as_bps() as f64;
        let first = per_rtt(start.initial_packets * start.packet, start.rtt);
        let first = start.slack_start.unwrap_or(first).as_bps() as f64;
        Self {
            rate: first.min(line_rate),
            line_rate,
            reaction,
            marks_count,
            rule,
            reason: Reason::Start,
        }
    }
}

impl Controller for Slack {
    fn on_ack(&mut self, _: Time, _: &AckSample) {}

    fn on_loss(&mut self, _: Time, _: u64, _: u64) {}

    fn on_epoch(&mut self, _: Time, epoch: &Epoch) {
        let target = match self.rule {
            TargetRule::Dynamic => epoch.target_loss_rate,
            TargetRule::First => epoch.promised_loss_rate,
        };
        let Some(loss) = epoch.loss_rate(self.marks_count) else { return };
        if loss <= target {
            self.rate = (1.0 - self.reaction) * self.rate + self.reaction * self.line_rate;
            self.reason = Reason::WithinSlack { loss, target };
        } else {
            self.rate *= 1.0 - loss / 2.0;
            self.reason = Reason::BeyondSlack { loss, target };
        }
        let minimum = per_rtt(epoch.packet, epoch.smoothed_rtt).as_bps() as f64;
        if self.rate < minimum {
            self.rate = minimum;
            self.reason = Reason::Minimum;
        }
    }

    fn rate(&self) -> Rate {
        Rate::bps(self.rate as u64)
    }

    fn window(&self) -> u64 {
        u64::MAX
    }

    fn reason(&self) -> Reason {
        self.reason
    }
}

#[cfg(test)]
mod tests {
    use laxity_interface::Span;

    use super::*;

    fn start() -> Start {
        Start {
            line_rate: Some(Rate::from_gbps(1)),
            packet: 1250,
            rtt: Span::from_ms(1),
            initial_packets: 50,
            slack_start: None,
        }
    }

    fn epoch(acked: u64, lost: u64, target_loss_rate: f64) -> Epoch {
        Epoch {
            acked,
            lost,
            marked: 0,
            silent: false,
            target_loss_rate,
            promised_loss_rate: 0.1,
            smoothed_rtt: Span::from_ms(1),
            packet: 1250,
        }
    }

    #[test]
    fn equations_two_and_three() {
        let mut slack = Slack::new(&start(), 1.0 / 16.0, false, TargetRule::Dynamic);
        assert_eq!(slack.rate(), Rate::from_mbps(500));
        slack.on_epoch(Time::ZERO, &epoch(95, 5, 0.1));
        assert_eq!(slack.rate(), Rate::bps(531_250_000), "500 + (1000 − 500)/16");
        slack.on_epoch(Time::ZERO, &epoch(80, 20, 0.1));
        assert_eq!(slack.rate(), Rate::bps(478_125_000), "1 − 0.2/2");
        for _ in 0..1000 {
            slack.on_epoch(Time::ZERO, &epoch(0, 1, 0.1));
        }
        assert_eq!(slack.rate(), Rate::from_mbps(10), "one packet of 1250 bytes per ms");
        assert_eq!(slack.reason(), Reason::Minimum);
    }

    #[test]
    fn starts_where_it_was_told_to_but_not_above_the_line() {
        for (asked, given) in [(200, 200), (5000, 1000)] {
            let start = Start { slack_start: Some(Rate::from_mbps(asked)), ..start() };
            let slack = Slack::new(&start, 1.0 / 16.0, false, TargetRule::Dynamic);
            assert_eq!(slack.rate(), Rate::from_mbps(given));
        }
    }

    #[test]
    fn the_strawman_keeps_its_first_target() {
        let mut fixed = Slack::new(&start(), 1.0 / 16.0, false, TargetRule::First);
        fixed.on_epoch(Time::ZERO, &epoch(100, 0, 0.1));
        let before = fixed.rate();
        fixed.on_epoch(Time::ZERO, &epoch(95, 5, 0.0));
        assert!(fixed.rate() > before, "5 % is still within the first 10 %");
    }

    #[test]
    fn marks_count_where_asked() {
        let marked = Epoch { marked: 50, ..epoch(100, 0, 0.1) };
        for (marks_count, faster) in [(false, true), (true, false)] {
            let mut slack = Slack::new(&start(), 1.0 / 16.0, marks_count, TargetRule::Dynamic);
            let before = slack.rate();
            slack.on_epoch(Time::ZERO, &marked);
            assert_eq!(slack.rate() > before, faster);
        }
    }
}
