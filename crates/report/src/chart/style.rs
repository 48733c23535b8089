//! Colours, markers and type of every chart.
//!
//! The hues are those of Okabe and Ito (2008), chosen to stay apart for the common kinds of colour
//! blindness, without their yellow, which vanishes on white. Marker shapes repeat the distinction for
//! readers of grey prints. The background is a light card with its own edge, so a chart keeps its
//! contrast on a dark page too.

/// One entry of the palette.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    /// For lines, bars and markers.
    pub fill: &'static str,
    /// A darker shade for text, at least 4.5:1 against the card.
    pub ink: &'static str,
}

/// Colours in the order they are given to series.
pub const PALETTE: [Colour; 8] = [
    Colour { fill: "#0072b2", ink: "#005f94" },
    Colour { fill: "#d55e00", ink: "#b04e00" },
    Colour { fill: "#009e73", ink: "#007a59" },
    Colour { fill: "#e69f00", ink: "#8f6200" },
    Colour { fill: "#cc79a7", ink: "#a3497b" },
    Colour { fill: "#56b4e9", ink: "#1f78ab" },
    Colour { fill: "#6b7280", ink: "#4b5563" },
    Colour { fill: "#882255", ink: "#882255" },
];

/// The colour of a slot; slots beyond the palette start over, and are then told apart by dashes,
/// another marker, or a lighter fill.
#[must_use]
pub fn colour(slot: usize) -> Colour {
    PALETTE[slot % PALETTE.len()]
}

/// Font families, first one present wins; all have figures of equal width.
pub(crate) const FONT: &str =
    "system-ui, -apple-system, 'Segoe UI', Inter, Roboto, 'Helvetica Neue', Arial, sans-serif";

pub(crate) const CARD: &str = "#ffffff";
pub(crate) const CARD_EDGE: &str = "#dfe3e8";
pub(crate) const INK: &str = "#1f2933";
pub(crate) const MUTED: &str = "#5b6673";
pub(crate) const GRID: &str = "#e8ebef";
pub(crate) const GRID_MINOR: &str = "#f3f5f7";
pub(crate) const AXIS: &str = "#8a949f";

pub(crate) const TITLE_SIZE: f64 = 17.0;
pub(crate) const SUBTITLE_SIZE: f64 = 12.5;
pub(crate) const LABEL_SIZE: f64 = 12.0;
pub(crate) const TICK_SIZE: f64 = 11.5;
pub(crate) const NOTE_SIZE: f64 = 10.5;

/// Whether a slot is in an odd round through the palette, and so must differ in more than colour.
pub(crate) fn is_second_round(slot: usize) -> bool {
    slot / PALETTE.len() % 2 == 1
}

/// How a slot fills an area.
pub(crate) fn area(slot: usize) -> String {
    let opacity = if is_second_round(slot) { r#" fill-opacity="0.5""# } else { "" };
    format!(r#"fill="{}"{opacity}"#, colour(slot).fill)
}

/// The outline of a slot's marker around the origin, as an SVG path of radius about 4.
pub(crate) fn marker(slot: usize) -> &'static str {
    const SHAPES: [&str; 8] = [
        "M-3.8 0a3.8 3.8 0 1 0 7.6 0a3.8 3.8 0 1 0 -7.6 0z",
        "M-3.4 -3.4h6.8v6.8h-6.8z",
        "M0 -4.5L4.3 3.2H-4.3z",
        "M0 -4.8L4.6 0L0 4.8L-4.6 0z",
        "M0 4.5L4.3 -3.2H-4.3z",
        "M-1.4 -4.2h2.8v2.8h2.8v2.8h-2.8v2.8h-2.8v-2.8h-2.8v-2.8h2.8z",
        "M-4.2 -2h8.4v4h-8.4z",
        "M0 -4.6L4.4 -1.4L2.7 3.7H-2.7L-4.4 -1.4z",
    ];
    // One shape further in each round, so that no two of the first 64 slots share colour and shape.
    SHAPES[(slot + slot / PALETTE.len()) % SHAPES.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance of WCAG 2.
    fn luminance(hex: &str) -> f64 {
        let channel = |i: usize| {
            let c = f64::from(u8::from_str_radix(&hex[i..i + 2], 16).unwrap()) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        a.max(b) / a.min(b)
    }

    #[test]
    fn text_is_readable_on_the_card() {
        for ink in PALETTE.iter().map(|c| c.ink).chain([INK, MUTED]) {
            assert!(contrast(ink, CARD) >= 4.5, "{ink}: {:.2}", contrast(ink, CARD));
        }
    }

    #[test]
    fn slots_start_over() {
        assert_eq!(colour(0), colour(PALETTE.len()));
        assert_ne!(marker(3), marker(11));
        assert!(!is_second_round(7) && is_second_round(8));
    }
}
