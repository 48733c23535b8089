//! Names at the right ends of lines, moved apart where the lines meet.

/// Moves positions apart to at least `gap`, keeping their order and the sum of squared moves small,
/// inside `lo..=hi` where there is room.
///
/// This is isotonic regression: with the gaps subtracted, labels that collide share their mean.
pub(crate) fn spread(wanted: &[f64], gap: f64, (lo, hi): (f64, f64)) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));

    // Blocks of labels that touch: (sum of wanted positions less their gaps, count).
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (rank, i) in order.iter().enumerate() {
        blocks.push((wanted[*i] - rank as f64 * gap, 1));
        while let [.., (sum, n), (next, m)] = blocks[..] {
            if sum / n as f64 <= next / m as f64 {
                break;
            }
            blocks.pop();
            blocks.pop();
            blocks.push((sum + next, n + m));
        }
    }

    let room = (hi - gap * wanted.len().saturating_sub(1) as f64).max(lo);
    let bases = blocks.iter().flat_map(|(sum, n)| std::iter::repeat_n(sum / *n as f64, *n));
    let mut placed = vec![0.0; wanted.len()];
    for ((rank, i), base) in order.iter().enumerate().zip(bases) {
        placed[*i] = base.clamp(lo, room) + rank as f64 * gap;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_with_room_stay() {
        assert_eq!(spread(&[10.0, 50.0, 90.0], 14.0, (0.0, 100.0)), [10.0, 50.0, 90.0]);
    }

    #[test]
    fn colliding_labels_move_evenly() {
        assert_eq!(spread(&[50.0, 50.0], 14.0, (0.0, 100.0)), [43.0, 57.0]);
        assert_eq!(spread(&[52.0, 50.0, 51.0], 10.0, (0.0, 100.0)), [61.0, 41.0, 51.0]);
    }

    #[test]
    fn labels_stay_inside() {
        assert_eq!(spread(&[0.0, 0.0], 14.0, (0.0, 100.0)), [0.0, 14.0]);
        assert_eq!(spread(&[99.0, 100.0], 14.0, (0.0, 100.0)), [86.0, 100.0]);
        assert_eq!(spread(&[], 14.0, (0.0, 100.0)), Vec::<f64>::new());
    }
}
