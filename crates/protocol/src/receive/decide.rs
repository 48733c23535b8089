//! When a received job ends: a pure decision with its reason.

use laxity_interface::{Finish, Time};

use crate::report::Ended;

/// All that matters for the decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) now: Time,
    /// Every message of every group arrived, and the counts are final.
    pub(crate) complete: bool,
    /// Every group has its minimum, and the counts are final.
    pub(crate) enough: bool,
    pub(crate) finish: Finish,
    /// The sender asked, and stragglers were given time until then.
    pub(crate) grace_until: Option<Time>,
    pub(crate) deadline: Option<Time>,
    pub(crate) limit: Option<Time>,
}

/// What to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    /// Wait, and look again then at the latest.
    Wait(Option<Time>),
    /// It is over, and why.
    End(Ended),
    /// The sender asked and it is not enough: say what is missing.
    Ask,
    /// Time is up and the promise cannot be kept.
    Fail,
}

/// Decides. Never ends with less than the minimum.
pub(crate) fn decide(view: &View) -> Decision {
    let past = |time: Option<Time>| time.is_some_and(|time| time <= view.now);
    if view.complete {
        return Decision::End(Ended::Complete);
    }
    if view.enough {
        if view.finish == Finish::Enough {
            return Decision::End(Ended::Enough);
        }
        if past(view.deadline) {
            return Decision::End(Ended::Deadline);
        }
        if past(view.grace_until) {
            return Decision::End(Ended::FirstPass);
        }
    }
    if past(view.limit) {
        return Decision::Fail;
    }
    if past(view.grace_until) {
        return Decision::Ask;
    }
    let deadline = view.deadline.filter(|_| view.enough);
    Decision::Wait([deadline, view.limit, view.grace_until].into_iter().flatten().min())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_ps(1000);
    const BEFORE: Option<Time> = Some(Time::from_ps(999));
    const AFTER: Option<Time> = Some(Time::from_ps(1001));

    fn view() -> View {
        View {
            now: NOW,
            complete: false,
            enough: false,
            finish: Finish::FirstPass,
            grace_until: None,
            deadline: None,
            limit: AFTER,
        }
    }

    #[test]
    fn never_less_than_the_minimum() {
        for grace_until in [None, BEFORE, AFTER] {
            for deadline in [None, BEFORE, AFTER] {
                for limit in [BEFORE, AFTER] {
                    for finish in [Finish::FirstPass, Finish::Enough] {
                        let view = View { grace_until, deadline, limit, finish, ..view() };
                        assert!(!matches!(decide(&view), Decision::End(_)), "{view:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_first_good_reason_wins() {
        let enough = View { enough: true, ..view() };
        assert_eq!(decide(&enough), Decision::Wait(AFTER));
        let cases = [
            (View { complete: true, limit: BEFORE, ..enough }, Decision::End(Ended::Complete)),
            (View { finish: Finish::Enough, ..enough }, Decision::End(Ended::Enough)),
            (View { deadline: BEFORE, ..enough }, Decision::End(Ended::Deadline)),
            (View { grace_until: BEFORE, ..enough }, Decision::End(Ended::FirstPass)),
            (View { grace_until: BEFORE, ..view() }, Decision::Ask),
            (View { limit: BEFORE, grace_until: BEFORE, ..view() }, Decision::Fail),
            (View { deadline: BEFORE, ..view() }, Decision::Wait(AFTER)),
        ];
        for (view, expect) in cases {
            assert_eq!(decide(&view), expect, "{view:?}");
        }
    }
}
