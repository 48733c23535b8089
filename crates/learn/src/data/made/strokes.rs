//! Pictures of pen strokes.

use laxity_link::{Pcg64, stream, uniform};

use super::below;
use crate::data::{Images, Split};
use crate::math::{exp, normal};

const SIDE: usize = 16;
const CLASSES: usize = 10;
/// Ways to write each character.
const HANDS: usize = 2;
/// Strokes of a character.
const STROKES: usize = 4;
/// Half the breadth of a pen, in widths of a picture.
const PEN: f64 = 0.045;
/// Standard deviation of the noise on each pixel, where ink is 1.
const NOISE: f64 = 0.3;

#[derive(Clone, Copy)]
struct Stroke {
    from: (f64, f64),
    to: (f64, f64),
}

/// Made-up characters of ten kinds, each written in two ways, turned, moved, scaled, with
/// unsteady strokes, a stray one, and noise: 16 × 16 grey pixels.
pub fn strokes(seed: u64, train: usize, test: usize) -> Split<Images> {
    let mut rng = stream(seed, "strokes-kinds", 0);
    let mut point = || (0.15 + 0.7 * uniform(&mut rng), 0.15 + 0.7 * uniform(&mut rng));
    let kinds: Vec<Vec<Stroke>> = (0..CLASSES * HANDS)
        .map(|_| (0..STROKES).map(|_| Stroke { from: point(), to: point() }).collect())
        .collect();
    let set = |label: &str, count: usize| {
        let mut images = Images::new(SIDE, SIDE, 1, CLASSES);
        let mut rng = stream(seed, label, 0);
        for at in 0..count {
            let class = at % CLASSES;
            let kind = &kinds[class * HANDS + below(&mut rng, HANDS)];
            images.push(class as u8, picture(&mut rng, kind));
        }
        images
    };
    let mut split = Split { train: set("strokes-train", train), test: set("strokes-test", test) };
    split.standardise();
    split
}

fn picture(rng: &mut Pcg64, kind: &[Stroke]) -> Vec<f32> {
    let mut between = |low: f64, high: f64| low + (high - low) * uniform(rng);
    let (turn, scale) = (between(-0.2, 0.2), between(0.9, 1.1));
    let shift = (between(-0.06, 0.06), between(-0.06, 0.06));
    let stray = Stroke {
        from: (between(0.0, 1.0), between(0.0, 1.0)),
        to: (between(0.0, 1.0), between(0.0, 1.0)),
    };
    let (sine, cosine) = (libm::sin(turn) * scale, libm::cos(turn) * scale);
    let mut moved = |(x, y): (f64, f64)| {
        let (x, y) = (x - 0.5 + 0.04 * normal(rng), y - 0.5 + 0.04 * normal(rng));
        (0.5 + shift.0 + cosine * x - sine * y, 0.5 + shift.1 + sine * x + cosine * y)
    };
    let mut drawn: Vec<_> = kind
        .iter()
        .map(|stroke| Stroke { from: moved(stroke.from), to: moved(stroke.to) })
        .collect();
    drawn.push(stray);
    let mut pixels = Vec::with_capacity(SIDE * SIDE);
    for at in 0..SIDE * SIDE {
        let center = |place: usize| (place as f64 + 0.5) / SIDE as f64;
        let place = (center(at % SIDE), center(at / SIDE));
        let near = drawn.iter().map(|stroke| square_distance(*stroke, place)).fold(4.0, f64::min);
        let ink = exp((-near / (2.0 * PEN * PEN)) as f32);
        pixels.push(ink + (NOISE * normal(rng)) as f32);
    }
    pixels
}

/// The squared distance of a point from a stroke.
fn square_distance(stroke: Stroke, (x, y): (f64, f64)) -> f64 {
    let (along, up) = (stroke.to.0 - stroke.from.0, stroke.to.1 - stroke.from.1);
    let (x, y) = (x - stroke.from.0, y - stroke.from.1);
    let share = ((x * along + y * up) / (along * along + up * up).max(1e-12)).clamp(0.0, 1.0);
    let (x, y) = (x - share * along, y - share * up);
    x * x + y * y
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_to_the_nearest_point_of_a_stroke() {
        let stroke = Stroke { from: (0.0, 0.0), to: (2.0, 0.0) };
        assert_eq!(square_distance(stroke, (1.0, 3.0)), 9.0);
        assert_eq!(square_distance(stroke, (5.0, 4.0)), 25.0);
    }

    #[test]
    fn every_class_occurs_equally_often() {
        let split = strokes(1, 50, 20);
        for class in 0..CLASSES {
            assert_eq!((0..50).filter(|at| split.train.label(*at) == class).count(), 5);
        }
        assert_eq!((split.test.len(), split.test.size()), (20, 256));
    }
}
