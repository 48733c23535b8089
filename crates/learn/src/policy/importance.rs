//! Which chunks are lost, at the same number of bytes.

use super::Chunks;
use crate::model::Layout;

/// Thresholds of seed paper 002 (NetApprox, section 7.2.3): gradients below the first may all be
/// lost, below the second all but 12.5 %, others 7.5 %.
const THRESHOLDS: [f32; 2] = [0.001, 0.0025];
/// What each of those groups may lose.
const MAY_LOSE: [f64; 3] = [1.0, 0.875, 0.075];

/// Which chunks bear the losses. Whatever the choice, the same share of all numbers is lost.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Importance {
    /// All alike.
    #[default]
    Even,
    /// The weaker half, by its largest number; the stronger half arrives.
    Halves,
    /// In NetApprox's proportions, where a third of the chunks, by their largest numbers, belongs
    /// to each group.
    Thirds,
    /// In NetApprox's proportions, with its thresholds. A chunk belongs to a group if all of its
    /// numbers are below the threshold.
    Thresholds,
    /// Exactly the weakest chunks, by their largest numbers.
    Smallest,
    /// The middle of the model: chunks that touch the first layer, the last two, or one that is
    /// shorter than a chunk arrive.
    Layers,
}

/// For each chunk, the probability to be lost, such that in the mean the share `rate` of all
/// numbers is lost.
///
/// ```
/// use laxity_learn::policy::{Chunks, Importance, loss_shares};
///
/// let (chunks, layout) = (Chunks::new(4, 1), laxity_learn::Layout::default());
/// let gradient = [0.3, -0.9, 0.1, 0.7];
/// let shares = loss_shares(Importance::Halves, chunks, &gradient, &layout, 0.1);
/// assert_eq!(shares, [0.2, 0.0, 0.2, 0.0]);
/// ```
pub fn loss_shares(
    importance: Importance,
    chunks: Chunks,
    gradient: &[f32],
    layout: &Layout,
    rate: f64,
) -> Vec<f64> {
    let count = chunks.count();
    let largest = || -> Vec<f32> {
        let largest = |values: &[f32]| values.iter().fold(0.0f32, |most, x| most.max(x.abs()));
        chunks.ranges().map(|range| largest(&gradient[range])).collect()
    };
    let ranked = || {
        let (largest, mut order) = (largest(), (0..count).collect::<Vec<_>>());
        order.sort_by(|a, b| largest[*a].total_cmp(&largest[*b]).then(a.cmp(b)));
        order
    };
    let by_rank = |weight: &dyn Fn(usize) -> f64| {
        let mut weights = vec![0.0; count];
        ranked().iter().enumerate().for_each(|(rank, chunk)| weights[*chunk] = weight(rank));
        weights
    };
    let weights = match importance {
        Importance::Even => return vec![rate; count],
        Importance::Smallest => return smallest(chunks, &ranked(), rate),
        Importance::Halves => by_rank(&|rank| if 2 * rank < count { 1.0 } else { 0.0 }),
        Importance::Thirds => by_rank(&|rank| MAY_LOSE[3 * rank / count]),
        Importance::Thresholds => largest()
            .iter()
            .map(|largest| MAY_LOSE[THRESHOLDS.iter().filter(|limit| largest >= limit).count()])
            .collect(),
        Importance::Layers => chunks.ranges().map(|range| middle(layout, chunks, range)).collect(),
    };
    spread(chunks, &weights, rate)
}

/// 1 for a chunk of the model's middle, 0 for one that matters more.
fn middle(layout: &Layout, chunks: Chunks, range: std::ops::Range<usize>) -> f64 {
    let layers = layout.layers();
    let touched = layers
        .iter()
        .enumerate()
        .filter(|(_, layer)| layer.offset < range.end && range.start < layer.offset + layer.length);
    let mut matters = touched.map(|(at, layer)| {
        at == 0 || at + 2 >= layers.len() || layer.length < chunks.range(0).len()
    });
    if matters.any(|matters| matters) { 0.0 } else { 1.0 }
}

/// The weakest chunks are lost until the budget is spent; the one at the border with the
/// probability of what is left.
fn smallest(chunks: Chunks, ranked: &[usize], rate: f64) -> Vec<f64> {
    let mut budget = rate * chunks.length() as f64;
    let mut shares = vec![0.0; chunks.count()];
    for chunk in ranked {
        let size = chunks.range(*chunk).len() as f64;
        shares[*chunk] = (budget / size).clamp(0.0, 1.0);
        budget -= size * shares[*chunk];
    }
    shares
}

/// Probabilities in proportion to weights, none above 1. If that is not enough, those of weight 0
/// lose the rest, all alike.
fn spread(chunks: Chunks, weights: &[f64], rate: f64) -> Vec<f64> {
    let sizes: Vec<f64> = chunks.ranges().map(|range| range.len() as f64).collect();
    let mut shares = vec![0.0; weights.len()];
    let mut budget = rate * chunks.length() as f64;
    let mut open: Vec<usize> = (0..weights.len()).filter(|at| weights[*at] > 0.0).collect();
    // Every round either ends or takes out a chunk that is lost for sure.
    while !open.is_empty() {
        let sum: f64 = open.iter().map(|at| sizes[*at] * weights[*at]).sum();
        let scale = budget / sum;
        let full: Vec<usize> =
            open.iter().copied().filter(|at| scale * weights[*at] >= 1.0).collect();
        if full.is_empty() {
            open.iter().for_each(|at| shares[*at] = scale * weights[*at]);
            return shares;
        }
        for at in &full {
            shares[*at] = 1.0;
            budget -= sizes[*at];
        }
        open.retain(|at| !full.contains(at));
    }
    let rest: f64 = (0..weights.len()).filter(|at| weights[*at] == 0.0).map(|at| sizes[at]).sum();
    for at in (0..weights.len()).filter(|at| weights[*at] == 0.0) {
        shares[at] = (budget / rest).clamp(0.0, 1.0);
    }
    shares
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Importance; 6] = [
        Importance::Even,
        Importance::Halves,
        Importance::Thirds,
        Importance::Thresholds,
        Importance::Smallest,
        Importance::Layers,
    ];

    proptest! {
        #[test]
        fn the_same_bytes_are_lost_whatever_the_rule(
            gradient in prop::collection::vec(-0.01f32..0.01, 1..200),
            size in 1usize..20,
            rate in 0.0f64..1.0,
        ) {
            let chunks = Chunks::new(gradient.len(), size);
            let mut layout = Layout::default();
            layout.add("a", gradient.len() / 3);
            layout.add("b", gradient.len() - gradient.len() / 3);
            for importance in ALL {
                let shares = loss_shares(importance, chunks, &gradient, &layout, rate);
                prop_assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
                let lost: f64 =
                    chunks.ranges().zip(&shares).map(|(range, p)| range.len() as f64 * p).sum();
                let wanted = rate * gradient.len() as f64;
                prop_assert!((lost - wanted).abs() < 1e-6, "{importance:?}: {lost}, {wanted}");
            }
        }
    }

    #[test]
    fn groups_are_those_of_the_paper() {
        let chunks = Chunks::new(3, 1);
        let gradient = [0.0005, -0.002, 0.5];
        let shares =
            loss_shares(Importance::Thresholds, chunks, &gradient, &Layout::default(), 0.13);
        // In proportion 1 : 0.875 : 0.075, with a mean of 0.13.
        let scale = 0.39 / 1.95;
        for (share, weight) in shares.iter().zip(MAY_LOSE) {
            assert!((share - scale * weight).abs() < 1e-12, "{shares:?}");
        }
    }

    #[test]
    fn the_weakest_go_first() {
        let (chunks, layout) = (Chunks::new(4, 1), Layout::default());
        let gradient = [0.4, 0.1, 0.3, 0.2];
        let shares = loss_shares(Importance::Smallest, chunks, &gradient, &layout, 0.375);
        assert_eq!(shares, [0.0, 1.0, 0.0, 0.5]);
        let shares = loss_shares(Importance::Halves, chunks, &gradient, &layout, 0.75);
        assert_eq!(shares, [0.5, 1.0, 0.5, 1.0]);
    }

    #[test]
    fn the_ends_of_a_model_and_its_short_layers_are_spared() {
        let mut layout = Layout::default();
        for (name, length) in
            [("first", 4), ("long", 8), ("gain", 1), ("more", 7), ("last", 4), ("bias", 4)]
        {
            layout.add(name, length);
        }
        let shares = loss_shares(Importance::Layers, Chunks::new(28, 4), &[0.0; 28], &layout, 0.25);
        // Chunks: first, long, long, gain + more, more, last, bias.
        let expected = [0.0, 7.0 / 12.0, 7.0 / 12.0, 0.0, 7.0 / 12.0, 0.0, 0.0];
        for (share, expected) in shares.iter().zip(expected) {
            assert!((share - expected).abs() < 1e-12, "{shares:?}");
        }
    }
}
