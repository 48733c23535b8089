//! Kept up to date equals planned anew, with marks every few flows.

use proptest::{collection::vec, prelude::*, sample::Index};

use super::*;

#[derive(Debug, Clone)]
enum Change {
    Add(Vec<u32>, u32),
    Remove(Index),
    Capacity(Index, u64),
}

fn changes(links: u32) -> impl Strategy<Value = Vec<(Change, bool)>> {
    let path = vec(0..links, 0..9);
    let change = prop_oneof![
        6 => (path, 1..5u32).prop_map(|(path, weight)| Change::Add(path, weight)),
        3 => any::<Index>().prop_map(Change::Remove),
        1 => (any::<Index>(), 0..2000u64).prop_map(|(link, rate)| Change::Capacity(link, rate)),
    ];
    vec((change, prop::bool::weighted(0.7)), 1..150)
}

/// The flows of a path that may name links twice, with their weights.
struct Flow {
    slot: Slot,
    path: Vec<LinkId>,
    weight: Weight,
}

fn same_as_anew(kept: &FairShares, capacity: &[Rate], flows: &[Flow]) -> Result<(), TestCaseError> {
    let mut anew = FairShares::new(capacity);
    let slots: Vec<_> = flows.iter().map(|flow| anew.add(&flow.path, flow.weight)).collect();
    anew.settle();
    prop_assert_eq!(kept.len(), flows.len());
    for (flow, slot) in flows.iter().zip(slots) {
        let level = |shares: &FairShares, slot: Slot| {
            shares.event(shares.seats[slot.index()]).map(|event| event.level)
        };
        prop_assert_eq!(level(kept, flow.slot), level(&anew, slot), "to the last bit");
        prop_assert_eq!(kept.rate(flow.slot), anew.rate(slot));
        prop_assert_eq!(kept.held_by(flow.slot), anew.held_by(slot));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_list_of_changes_ends_where_planning_anew_does(
        (capacity, changes) in (1..12u32).prop_flat_map(|links| {
            (vec(0..2000u64, links as usize), changes(links))
        }),
    ) {
        let mut capacity: Vec<_> = capacity.into_iter().map(Rate::bps).collect();
        let mut shares = FairShares::new(&capacity);
        let mut flows: Vec<Flow> = Vec::new();
        for (change, settle) in changes {
            match change {
                Change::Add(path, weight) => {
                    let path: Vec<_> = path.into_iter().map(LinkId).collect();
                    let weight = Weight::new(f64::from(weight) / 3.0).unwrap();
                    let slot = shares.add(&path, weight);
                    flows.push(Flow { slot, path, weight });
                }
                Change::Remove(which) if !flows.is_empty() => {
                    shares.remove(flows.swap_remove(which.index(flows.len())).slot);
                }
                Change::Remove(_) => {}
                Change::Capacity(link, rate) => {
                    let link = link.index(capacity.len());
                    capacity[link] = Rate::bps(rate);
                    shares.set_capacity(LinkId(link as u32), capacity[link]);
                }
            }
            if settle {
                let found = shares.settle();
                prop_assert!(found <= flows.len());
                same_as_anew(&shares, &capacity, &flows)?;
            }
        }
        shares.settle();
        same_as_anew(&shares, &capacity, &flows)?;
    }
}

#[test]
fn a_change_high_up_finds_few_flows_anew() {
    // Link i has i + 1 Gbit/s and flows of its own: each is a level of its own.
    let capacity: Vec<_> = (1..=20).map(Rate::from_gbps).collect();
    let mut shares = FairShares::new(&capacity);
    for link in 0..20 {
        shares.add(&[LinkId(link)], Weight::ONE);
    }
    assert_eq!(shares.settle(), 20);
    assert!(shares.marks.last().is_some_and(|mark| mark.events > 10), "this goes on from marks");
    let slot = shares.add(&[LinkId(19)], Weight::ONE);
    assert_eq!(shares.rate(slot), Rate::ZERO, "not settled");
    // It shares 20 Gbit/s, so all from 10 Gbit/s on are found anew: 10 to 19, and these two.
    assert_eq!(shares.settle(), 12);
    assert_eq!(shares.rate(slot), Rate::from_gbps(10));
    shares.remove(slot);
    assert_eq!(shares.settle(), 11);
    assert_eq!(shares.settle(), 0, "nothing has changed");
}
