//! What is measured: networks, transfers on them, who takes part.

use laxity_interface::{Bytes, Fraction, Layout, Rate, Span};

use super::args::{Case, CompareArgs, Scheme};

/// Bytes of a packet on the network layer.
const PACKET: u64 = 1500;
/// DCTCP's marking threshold for 10 Gbit/s, and what the slack layout marks at.
const MARK_PACKETS: u64 = 65;
/// What an ordinary port holds.
pub(super) const BUFFER: Bytes = Bytes::new(256_000);
const SMALL_BUFFER: Bytes = Bytes::new(64_000);
const LARGE: Bytes = Bytes::new(25_000_000);
const SMALL: Bytes = Bytes::new(1_000_000);
/// Hosts that send in an incast, and hosts of a shuffle.
pub(super) const GROUP: usize = 8;

/// A network.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Setting {
    pub(super) case: Case,
    pub(super) rate: Rate,
    pub(super) rtt: Span,
    pub(super) loss: Fraction,
    pub(super) ack_loss: bool,
    pub(super) buffer: Bytes,
    /// The queues of ports.
    pub(super) layout: Layout,
    /// Whether ports with one queue mark.
    pub(super) ecn: bool,
    pub(super) background: Fraction,
    pub(super) seed: u64,
}

impl Setting {
    /// How many hosts take part in the transfers.
    pub(super) fn hosts(&self) -> usize {
        match self.case {
            Case::Loss => 2,
            Case::Incast => GROUP + 1,
            Case::Shuffle => GROUP,
            Case::Fairness => 3,
        }
    }

    /// Who sends to whom, by number of the host.
    pub(super) fn flows(&self) -> Vec<(usize, usize)> {
        match self.case {
            Case::Loss => vec![(0, 1)],
            Case::Incast => (0..GROUP).map(|from| (from, GROUP)).collect(),
            Case::Shuffle => (0..GROUP)
                .flat_map(|from| (0..GROUP).map(move |to| (from, to)))
                .filter(|(from, to)| from != to)
                .collect(),
            Case::Fairness => vec![(0, 2), (1, 2)],
        }
    }

    /// Above how much waiting a port marks: 65 packets, or a third of a buffer that is small.
    pub(super) fn mark(&self) -> Bytes {
        Bytes::new((MARK_PACKETS * PACKET).min(self.buffer.get() / 3))
    }

    /// How many transfers of a run the busiest link carries.
    pub(super) fn transfers_on_a_link(&self) -> u64 {
        match self.case {
            Case::Loss | Case::Fairness => 1,
            Case::Incast => GROUP as u64,
            Case::Shuffle => GROUP as u64 - 1,
        }
    }

    /// In words, for people who wait.
    pub(super) fn words(&self) -> String {
        match self.case {
            Case::Loss => format!("{} % loss", percent(self.loss)),
            Case::Incast => format!("incast into {}", self.buffer),
            Case::Shuffle => "shuffle".to_owned(),
            Case::Fairness => format!("fairness with {} queues", self.layout),
        }
    }
}

/// A fraction in percent, without digits that say nothing.
pub(in super::super) fn percent(fraction: Fraction) -> String {
    let text = format!("{:.3}", fraction.get() * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Who takes part in a comparison.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Contender {
    pub(super) scheme: Scheme,
    /// What has to arrive; everything with TCP.
    pub(super) min_delivery: Fraction,
}

/// Transfers of one size, by all contenders in turn.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Workload {
    pub(super) bytes: Bytes,
    pub(super) runs: usize,
    pub(super) contenders: Vec<Contender>,
}

/// Every network with what is measured on it. Fairness has a network per kind of port and no transfers.
pub(super) fn plan(args: &CompareArgs) -> Vec<(Setting, Vec<Workload>)> {
    let mut plan = Vec::new();
    for case in &args.cases {
        match case {
            Case::Loss => {
                let losses = if args.quick { &[0.0, 0.01][..] } else { &[0.0, 0.001, 0.01, 0.03] };
                let bytes = if args.quick { SMALL } else { LARGE };
                for loss in losses {
                    let loss = Fraction::new(*loss).expect("a constant fraction");
                    let setting = Setting { loss, ..setting(args, Case::Loss) };
                    let mut workload = workload(args, bytes, 20);
                    let exact = Contender { scheme: Scheme::Laxity, min_delivery: Fraction::ONE };
                    let laxity = args.schemes.contains(&Scheme::Laxity);
                    if loss == Fraction::ZERO && laxity && !workload.contenders.contains(&exact) {
                        workload.contenders.push(exact);
                    }
                    plan.push((setting, vec![workload]));
                }
            }
            Case::Incast => {
                for buffer in [SMALL_BUFFER, BUFFER] {
                    let setting = Setting { buffer, ..setting(args, Case::Incast) };
                    let small = workload(args, SMALL, 100);
                    let large = workload(args, LARGE, 10);
                    let workloads = if args.quick { vec![small] } else { vec![small, large] };
                    plan.push((setting, workloads));
                    if args.quick {
                        break;
                    }
                }
            }
            Case::Shuffle => {
                let bytes = if args.quick { Bytes::new(100_000) } else { SMALL };
                plan.push((setting(args, Case::Shuffle), vec![workload(args, bytes, 30)]));
            }
            Case::Fairness => {
                for layout in [Layout::Single, Layout::Shared, Layout::Slack] {
                    // An unconfigured port has one queue and marks nothing.
                    let setting = Setting { layout, ecn: false, ..setting(args, Case::Fairness) };
                    plan.push((setting, Vec::new()));
                }
            }
        }
    }
    plan
}

fn setting(args: &CompareArgs, case: Case) -> Setting {
    Setting {
        case,
        rate: args.rate,
        rtt: args.rtt,
        loss: Fraction::ZERO,
        ack_loss: args.ack_loss,
        buffer: BUFFER,
        layout: Layout::Single,
        ecn: !args.no_ecn,
        background: args.background,
        seed: args.seed,
    }
}

fn workload(args: &CompareArgs, bytes: Bytes, usual_runs: usize) -> Workload {
    let runs = args.runs.unwrap_or(if args.quick { 2 } else { usual_runs });
    let contender = |scheme: &Scheme| match scheme {
        Scheme::Laxity => Contender { scheme: *scheme, min_delivery: args.min_delivery },
        _ => Contender { scheme: *scheme, min_delivery: Fraction::ONE },
    };
    Workload { bytes, runs, contenders: args.schemes.iter().map(contender).collect() }
}

/// How many runs of fairness, with each TCP.
pub(super) fn fairness_runs(args: &CompareArgs) -> usize {
    args.runs.unwrap_or(if args.quick { 1 } else { 5 })
}

#[cfg(test)]
mod tests {
    use super::{super::args::tests::parse, *};

    #[test]
    fn the_whole_plan_is_what_was_asked_for() {
        let plan = plan(&parse(&[]).unwrap());
        let losses: Vec<_> = plan
            .iter()
            .filter(|(setting, _)| setting.case == Case::Loss)
            .map(|(setting, _)| percent(setting.loss))
            .collect();
        assert_eq!(losses, ["0", "0.1", "1", "3"]);
        let sizes: Vec<_> = plan
            .iter()
            .filter(|(setting, _)| setting.case == Case::Incast)
            .flat_map(|(setting, loads)| loads.iter().map(|load| (setting.buffer, load.bytes)))
            .collect();
        assert_eq!(
            sizes,
            [(SMALL_BUFFER, SMALL), (SMALL_BUFFER, LARGE), (BUFFER, SMALL), (BUFFER, LARGE)]
        );
        let fairness: Vec<_> =
            plan.iter().filter(|(setting, _)| setting.case == Case::Fairness).collect();
        let layouts: Vec<_> = fairness.iter().map(|(setting, _)| setting.layout).collect();
        assert_eq!(layouts, [Layout::Single, Layout::Shared, Layout::Slack]);
    }

    #[test]
    fn laxity_takes_part_without_slack_where_nothing_is_lost() {
        let plan = plan(&parse(&["loss"]).unwrap());
        let laxity = |at: usize| {
            let contenders = &plan[at].1[0].contenders;
            contenders.iter().filter(|c| c.scheme == Scheme::Laxity).count()
        };
        assert_eq!((laxity(0), laxity(1)), (2, 1));
        // Not twice the same.
        let plan = super::plan(&parse(&["loss", "--min-delivery", "1"]).unwrap());
        assert_eq!(plan[0].1[0].contenders.len(), 5);
    }

    #[test]
    fn ports_mark_below_what_they_hold() {
        let args = parse(&[]).unwrap();
        let of = |buffer| Setting { buffer, ..setting(&args, Case::Incast) }.mark().get();
        assert_eq!(of(SMALL_BUFFER), 21_333);
        assert_eq!(of(Bytes::new(1_500_000)), 97_500);
    }

    #[test]
    fn everybody_sends_to_everybody_else() {
        let flows = setting(&parse(&[]).unwrap(), Case::Shuffle).flows();
        assert_eq!(flows.len(), 56);
        for host in 0..GROUP {
            assert_eq!(flows.iter().filter(|(_, to)| *to == host).count(), 7);
        }
    }
}
