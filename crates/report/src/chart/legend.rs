//! Which series is which, in a row under the title.

use super::style;
use super::svg::{Font, Svg};
use super::text;

/// Where the names of the series go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Legend {
    /// At the right end of each line where there is room, otherwise on top.
    #[default]
    Auto,
    /// In a row under the title.
    Top,
    /// At the right end of each line.
    Direct,
    /// Nowhere.
    Hidden,
}

/// What stands in front of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Swatch {
    Line { dashed: bool, marker: bool },
    Box,
}

/// One entry of the legend.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) slot: usize,
    pub(crate) swatch: Swatch,
}

impl Key {
    fn swatch_width(&self) -> f64 {
        match self.swatch {
            Swatch::Line { .. } => 24.0,
            Swatch::Box => 12.0,
        }
    }

    fn width(&self) -> f64 {
        self.swatch_width() + 6.0 + text::width(&self.name, style::LABEL_SIZE)
    }
}

pub(crate) const DASHES: &str = r#"stroke-dasharray="6 4""#;

const ROW: f64 = 20.0;
const GAP: f64 = 18.0;

/// Positions of the keys, left to right, then next row; relative to the top left corner.
fn arrange(keys: &[Key], max_width: f64) -> Vec<(f64, f64)> {
    let (mut x, mut y) = (0.0, 0.0);
    keys.iter()
        .map(|key| {
            if x > 0.0 && x + key.width() > max_width {
                (x, y) = (0.0, y + ROW);
            }
            let here = (x, y);
            x += key.width() + GAP;
            here
        })
        .collect()
}

/// Height the legend takes; 0 without keys.
pub(crate) fn height(keys: &[Key], max_width: f64) -> f64 {
    arrange(keys, max_width).last().map_or(0.0, |(_, y)| y + ROW + 6.0)
}

/// Draws the keys with their top left corner at `origin`.
pub(crate) fn draw(svg: &mut Svg, keys: &[Key], origin: (f64, f64), max_width: f64) {
    for (key, (dx, dy)) in keys.iter().zip(arrange(keys, max_width)) {
        let (x, middle) = (origin.0 + dx, origin.1 + dy + ROW / 2.0);
        let fill = style::colour(key.slot).fill;
        match key.swatch {
            Swatch::Box => {
                let look = format!(r#"rx="2" {}"#, style::area(key.slot));
                svg.rect(x, middle - 6.0, 12.0, 12.0, &look);
            }
            Swatch::Line { dashed, marker } => {
                let dashes = if dashed { DASHES } else { "" };
                let stroke = format!(r#"stroke="{fill}" stroke-width="2.2" {dashes}"#);
                svg.line((x, middle), (x + key.swatch_width(), middle), stroke.trim_end());
                if marker {
                    let at = (x + key.swatch_width() / 2.0, middle);
                    svg.marker(style::marker(key.slot), at, &format!(r#"fill="{fill}""#));
                }
            }
        }
        let font = Font::new(style::LABEL_SIZE, style::INK);
        svg.text(x + key.swatch_width() + 6.0, middle + 4.2, &key.name, font);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_legends_wrap_and_never_overlap() {
        let keys: Vec<Key> = (0..12)
            .map(|slot| Key { name: format!("scheme number {slot}"), slot, swatch: Swatch::Box })
            .collect();
        let places = arrange(&keys, 400.0);
        assert!(height(&keys, 400.0) > ROW);
        for (pair, key) in places.windows(2).zip(&keys) {
            let same_row = pair[0].1 == pair[1].1;
            assert!(!same_row || pair[1].0 >= pair[0].0 + key.width());
        }
        assert_eq!(height(&[], 400.0), 0.0);
    }
}
