//! Grid, tick labels and axis captions.

use super::place::Area;
use super::scale::{Scale, Tick};
use super::style;
use super::svg::{Anchor, Font, Svg};
use super::text;

/// Height of the caption above the vertical axis.
pub(crate) const Y_CAPTION: f64 = 26.0;

/// Height of the tick labels under the plot.
pub(crate) const X_TICKS: f64 = 22.0;

/// Height of the caption under the tick labels.
pub(crate) const X_CAPTION: f64 = 20.0;

/// Pixels between horizontal grid lines, about.
const Y_SPACING: f64 = 42.0;

/// How many intervals a vertical axis of this height should have.
pub(crate) fn y_intervals(height: f64) -> usize {
    (height / Y_SPACING).clamp(2.0, 8.0) as usize
}

/// How many ticks fit a horizontal axis of this width.
pub(crate) fn x_ticks(width: f64) -> usize {
    (width / 72.0).clamp(2.0, 10.0) as usize
}

/// Width that the tick labels of a vertical axis need, with the gap to the plot.
pub(crate) fn y_labels_width(ticks: &[Tick]) -> f64 {
    ticks.iter().map(|t| text::width(&t.label, style::TICK_SIZE)).fold(12.0, f64::max) + 8.0
}

/// Horizontal grid lines, tick labels on the left, the caption above (read without turning the head).
pub(crate) fn draw_y(
    svg: &mut Svg,
    plot: &Area,
    scale: &Scale,
    ticks: &[Tick],
    minor: &[f64],
    caption: &str,
) {
    let grid = |svg: &mut Svg, value: f64, colour: &str| {
        if let Some(y) = scale.map(value) {
            let look = format!(r#"stroke="{colour}""#);
            svg.line((plot.left, y), (plot.right, y), &look);
        }
    };
    for value in minor {
        grid(svg, *value, style::GRID_MINOR);
    }
    for tick in ticks {
        grid(svg, tick.value, style::GRID);
        if let Some(y) = scale.map(tick.value) {
            let font = Font::new(style::TICK_SIZE, style::MUTED).anchor(Anchor::End);
            svg.text(plot.left - 8.0, y + 4.0, &tick.label, font);
        }
    }
    // Aligned with the title: with tick labels of any width, the eye finds it at the same edge.
    let left = super::frame::PAD;
    svg.text(left, plot.top - 13.0, caption, Font::new(style::LABEL_SIZE, style::MUTED));
}

/// Vertical grid lines, tick labels below (those that would overlap are left out), the caption below.
pub(crate) fn draw_x(
    svg: &mut Svg,
    plot: &Area,
    scale: &Scale,
    ticks: &[Tick],
    minor: &[f64],
    caption: &str,
) {
    for x in minor.iter().filter_map(|value| scale.map(*value)) {
        svg.line((x, plot.top), (x, plot.bottom), &format!(r#"stroke="{}""#, style::GRID_MINOR));
    }
    let mut free_from = f64::NEG_INFINITY;
    for tick in ticks {
        let Some(x) = scale.map(tick.value) else { continue };
        svg.line((x, plot.top), (x, plot.bottom), &format!(r#"stroke="{}""#, style::GRID));
        svg.line((x, plot.bottom), (x, plot.bottom + 4.0), &format!(r#"stroke="{}""#, style::AXIS));
        let half = text::width(&tick.label, style::TICK_SIZE) / 2.0;
        if x - half >= free_from {
            let font = Font::new(style::TICK_SIZE, style::MUTED).anchor(Anchor::Middle);
            svg.text(x, plot.bottom + 17.0, &tick.label, font);
            free_from = x + half + 6.0;
        }
    }
    draw_x_caption(svg, plot, plot.bottom + X_TICKS, caption);
}

/// The caption under a horizontal axis whose tick labels end at `from`.
pub(crate) fn draw_x_caption(svg: &mut Svg, plot: &Area, from: f64, caption: &str) {
    if !caption.is_empty() {
        let font = Font::new(style::LABEL_SIZE, style::MUTED).anchor(Anchor::Middle);
        svg.text((plot.left + plot.right) / 2.0, from + 14.0, caption, font);
    }
}

/// The line that marks add up from.
pub(crate) fn draw_baseline(svg: &mut Svg, plot: &Area, y: f64) {
    let look = format!(r#"stroke="{}" stroke-width="1.2""#, style::AXIS);
    svg.line((plot.left, y), (plot.right, y), &look);
}
