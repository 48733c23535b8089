//! Max-min shares: against an independent brute force, never over capacity, and the same whether
//! kept up to date or computed anew.

use laxity_interface::{Rate, Span};
use laxity_planner::{FairShares, Slot, Weight};
use laxity_topology::{LinkId, Routes, Topology};
use proptest::prelude::*;

/// Links by capacity, flows by path and weight.
#[derive(Debug, Clone)]
struct Case {
    capacity: Vec<u64>,
    flows: Vec<(Vec<u32>, u32)>,
}

fn cases(links: usize, flows: usize, top: u64) -> impl Strategy<Value = Case> {
    (1..=links).prop_flat_map(move |links| {
        let capacity = prop::collection::vec(0..=top, links);
        let path = prop::collection::btree_set(0..links as u32, 1..=links.min(4));
        let path = path.prop_map(|path| path.into_iter().collect::<Vec<_>>());
        let flow = (path, prop_oneof![4 => Just(1u32), 1 => 1..6u32]);
        let flows = prop::collection::vec(flow, 0..=flows);
        (capacity, flows).prop_map(|(capacity, flows)| Case { capacity, flows })
    })
}

fn path(links: &[u32]) -> Vec<LinkId> {
    links.iter().copied().map(LinkId).collect()
}

fn build(case: &Case) -> (FairShares, Vec<Slot>) {
    let rates: Vec<_> = case.capacity.iter().map(|c| Rate::bps(*c)).collect();
    let mut shares = FairShares::new(&rates);
    let weight = |w: u32| Weight::new(f64::from(w)).unwrap();
    let slots = case.flows.iter().map(|(links, w)| shares.add(&path(links), weight(*w))).collect();
    shares.settle();
    (shares, slots)
}

/// Fractions of whole numbers, exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ratio(i128, i128);

impl Ratio {
    fn new(top: i128, bottom: i128) -> Self {
        let (mut a, mut b) = (top.abs(), bottom.abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Self(top / a.max(1), bottom / a.max(1))
    }
    fn minus(self, other: Self) -> Self {
        Self::new(self.0 * other.1 - other.0 * self.1, self.1 * other.1)
    }
    fn times(self, by: i128) -> Self {
        Self::new(self.0 * by, self.1)
    }
    fn less(self, other: Self) -> bool {
        self.0 * other.1 < other.0 * self.1
    }
}

/// The textbook in fractions: all flows rise until a link is full, its flows stop, the others rise
/// on. No heap, no levels, no rounding.
fn brute_force(case: &Case) -> Vec<Ratio> {
    let mut level: Vec<Option<Ratio>> = vec![None; case.flows.len()];
    while level.iter().any(Option::is_none) {
        let full_at = |link: usize| {
            let on =
                || case.flows.iter().zip(&level).filter(|((l, _), _)| l.contains(&(link as u32)));
            let open: i128 =
                on().filter(|(_, l)| l.is_none()).map(|((_, w), _)| i128::from(*w)).sum();
            let mut left = Ratio::new(i128::from(case.capacity[link]), 1);
            for ((_, weight), level) in on() {
                if let Some(level) = level {
                    left = left.minus(level.times(i128::from(*weight)));
                }
            }
            (open > 0).then(|| Ratio::new(left.0, left.1 * open))
        };
        let levels: Vec<_> = (0..case.capacity.len()).map(full_at).collect();
        let lowest = levels.iter().flatten().copied().reduce(|a, b| if b.less(a) { b } else { a });
        let lowest = lowest.expect("an open flow has a link");
        for ((links, _), level) in case.flows.iter().zip(&mut level) {
            let full = links.iter().any(|l| levels[*l as usize] == Some(lowest));
            if level.is_none() && full {
                *level = Some(lowest);
            }
        }
    }
    let rate = |((_, weight), level): (&(Vec<u32>, u32), Option<Ratio>)| {
        level.expect("all are fixed").times(i128::from(*weight))
    };
    case.flows.iter().zip(level).map(rate).collect()
}

/// Sums of rates on each link stay within its capacity.
fn within(case: &Case, rates: &[u64]) -> Result<(), TestCaseError> {
    for (link, capacity) in case.capacity.iter().enumerate() {
        let on = case.flows.iter().zip(rates).filter(|((l, _), _)| l.contains(&(link as u32)));
        let sum: u128 = on.map(|(_, rate)| u128::from(*rate)).sum();
        prop_assert!(sum <= u128::from(*capacity), "link {} carries {} of {}", link, sum, capacity);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn shares_are_those_of_a_brute_force(case in cases(5, 9, 1000)) {
        let (shares, slots) = build(&case);
        for (slot, expected) in slots.iter().zip(brute_force(&case)) {
            // Rounded down to whole bits per second, or one below where the exact share is whole
            // and its level is not.
            let (rate, exact) = (i128::from(shares.rate(*slot).as_bps()), expected.0 / expected.1);
            let whole = expected.0 % expected.1 == 0;
            prop_assert!(rate == exact || whole && rate == exact - 1, "{rate} for {expected:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_link_is_ever_over_capacity(case in cases(8, 60, 400_000_000_000)) {
        let (shares, slots) = build(&case);
        let rates: Vec<_> = slots.iter().map(|slot| shares.rate(*slot).as_bps()).collect();
        within(&case, &rates)?;
        // And every flow is held back by a link that is full up to rounding, where nobody has more.
        for (slot, (links, weight)) in slots.iter().zip(&case.flows) {
            let held = shares.held_by(*slot).expect("all links are finite");
            prop_assert!(links.contains(&held.0));
            let on = || case.flows.iter().zip(&rates).filter(|((l, _), _)| l.contains(&held.0));
            let sum: u64 = on().map(|(_, rate)| rate).sum();
            let free = case.capacity[held.index()] - sum;
            prop_assert!(free <= on().count() as u64 + 1, "{free} free");
            let own = shares.rate(*slot).as_bps() as f64 / f64::from(*weight);
            for ((_, other), rate) in on() {
                prop_assert!(*rate as f64 / f64::from(*other) <= own + 1.5);
            }
        }
    }

    /// Arrivals, departures and changes of capacity in any order, settled now and then.
    #[test]
    fn kept_up_to_date_equals_planned_anew(
        case in cases(8, 40, 1_000_000_000),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>(), 0..4u8), 1..60),
    ) {
        prop_assume!(!case.flows.is_empty());
        let mut capacity: Vec<_> = case.capacity.iter().map(|c| Rate::bps(*c)).collect();
        let mut live = FairShares::new(&capacity);
        let mut present: Vec<(Slot, usize)> = Vec::new();
        for (pick, settle, kind) in changes {
            match kind {
                0 if !present.is_empty() => {
                    let (slot, _) = present.swap_remove(pick.index(present.len()));
                    live.remove(slot);
                }
                1 => {
                    let link = pick.index(capacity.len());
                    capacity[link] = Rate::bps(capacity[link].as_bps() / 3 + pick.index(1000) as u64);
                    live.set_capacity(LinkId(link as u32), capacity[link]);
                }
                _ => {
                    let at = pick.index(case.flows.len());
                    let (links, weight) = &case.flows[at];
                    let weight = Weight::new(f64::from(*weight)).unwrap();
                    present.push((live.add(&path(links), weight), at));
                }
            }
            if settle {
                live.settle();
            }
        }
        live.settle();
        let flows = present.iter().map(|(_, at)| case.flows[*at].clone()).collect();
        let now = Case { capacity: capacity.iter().map(|c| c.as_bps()).collect(), flows };
        let (anew, slots) = build(&now);
        prop_assert_eq!(live.len(), present.len());
        for ((kept, _), slot) in present.iter().zip(slots) {
            prop_assert_eq!(live.rate(*kept), anew.rate(slot));
        }
    }
}

/// Enough flows that filling goes on from marks: what small cases never do.
#[test]
fn many_flows_kept_up_to_date_equal_those_planned_anew() {
    let net = Topology::fat_tree(8, Rate::from_gbps(10), Span::from_us(1)).unwrap();
    let routes = Routes::new(&net);
    let capacity: Vec<_> = net.links().iter().map(|link| link.capacity).collect();
    let mut seed = 1u64;
    let mut pick = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let hosts = net.hosts();
    let mut flow = |key: u64| {
        let from = pick(hosts.len());
        let to = (from + 1 + pick(hosts.len() - 1)) % hosts.len();
        let weight = Weight::new([0.5, 1.0, 1.0, 3.0][pick(4)]).unwrap();
        (routes.path(&net, hosts[from], hosts[to], key).unwrap(), weight, pick(20_000))
    };
    let mut live = FairShares::new(&capacity);
    let mut flows: Vec<_> = (0..20_000).map(&mut flow).collect();
    let mut slots: Vec<_> = flows.iter().map(|(path, weight, _)| live.add(path, *weight)).collect();
    live.settle();
    for round in 0..60 {
        // One change for most, ten at once for some.
        for _ in 0..if round % 7 == 0 { 10 } else { 1 } {
            let new = flow(round);
            let leaves = new.2;
            live.remove(slots[leaves]);
            slots[leaves] = live.add(&new.0, new.1);
            flows[leaves] = new;
        }
        live.settle();
        if round % 10 == 9 {
            let mut anew = FairShares::new(&capacity);
            let slots_anew: Vec<_> =
                flows.iter().map(|(path, weight, _)| anew.add(path, *weight)).collect();
            anew.settle();
            for (kept, slot) in slots.iter().zip(slots_anew) {
                assert_eq!(live.rate(*kept), anew.rate(slot));
                assert_eq!(live.held_by(*kept), anew.held_by(slot));
            }
        }
    }
}
