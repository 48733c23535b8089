//! Drawing a bar chart.

use super::layout::{Bar, Category, LINE, Layout, SLANT_DEGREES};
use super::{BarChart, BarSeries};
use crate::chart::axes;
use crate::chart::ends;
use crate::chart::frame::Frame;
use crate::chart::style;
use crate::chart::svg::{Anchor, Font, Svg};
use crate::number::short;

pub(super) fn render(chart: &BarChart) -> String {
    let remarks = remarks(chart);
    let layout = Layout::of(chart, &remarks);
    let mut svg = chart.frame.begin(&describe(chart), &layout.keys, &remarks);
    let plot = &layout.plot;
    axes::draw_y(&mut svg, plot, &layout.y, &layout.y_ticks, &[], &chart.y.caption());
    for bar in &layout.bars {
        draw_bar(&mut svg, &layout, bar);
    }
    axes::draw_baseline(&mut svg, plot, layout.zero);
    draw_references(&mut svg, chart, &layout);
    for bar in &layout.bars {
        draw_value(&mut svg, &layout, bar);
    }
    for (i, category) in layout.categories.iter().enumerate() {
        draw_category(&mut svg, category, layout.group_middle(i), plot.bottom + 6.0);
    }
    axes::draw_x_caption(&mut svg, plot, layout.categories_bottom, &chart.x_caption);
    if layout.bars.is_empty() {
        Frame::draw_empty(&mut svg, plot);
    }
    svg.finish()
}

fn draw_bar(svg: &mut Svg, layout: &Layout, bar: &Bar) {
    let (top, bottom) = (bar.end.min(layout.zero), bar.end.max(layout.zero));
    let look = style::area(bar.slot);
    // A measured zero is not a missing bar: it keeps a visible sliver.
    svg.rect(bar.left, top.min(bottom - 0.8), bar.width, (bottom - top).max(0.8), &look);
    if let Some((lo, hi)) = bar.whisker {
        let middle = bar.left + bar.width / 2.0;
        let cap = (bar.width / 4.0).min(5.0);
        let look = format!(r#"stroke="{}" stroke-width="1.3""#, style::INK);
        svg.line((middle, lo), (middle, hi), &look);
        for y in [lo, hi] {
            svg.line((middle - cap, y), (middle + cap, y), &look);
        }
    }
}

fn draw_value(svg: &mut Svg, layout: &Layout, bar: &Bar) {
    let middle = bar.left + bar.width / 2.0;
    let font = Font::new(style::NOTE_SIZE, style::INK).halo();
    let (label, down) = (&bar.label, bar.is_negative);
    let (lo, hi) = bar.whisker.unwrap_or((bar.end, bar.end));
    let edge = if down { bar.end.max(lo) } else { bar.end.min(hi) };
    match (layout.upright, down) {
        (false, false) => svg.text(middle, edge - 5.0, label, font.anchor(Anchor::Middle)),
        (false, true) => svg.text(middle, edge + 12.0, label, font.anchor(Anchor::Middle)),
        (true, false) => svg.text(middle + 3.6, edge - 5.0, label, font.turn(-90.0)),
        (true, true) => {
            svg.text(middle + 3.6, edge + 5.0, label, font.turn(-90.0).anchor(Anchor::End));
        }
    }
}

fn draw_category(svg: &mut Svg, category: &Category, middle: f64, top: f64) {
    let font = Font::new(style::TICK_SIZE, style::INK);
    match category {
        Category::Lines(lines) => {
            for (i, line) in lines.iter().enumerate() {
                let y = top + 11.0 + i as f64 * LINE;
                svg.text(middle, y, line, font.anchor(Anchor::Middle));
            }
        }
        Category::Slanted(name) => {
            svg.text(middle + 5.0, top + 9.0, name, font.anchor(Anchor::End).turn(SLANT_DEGREES));
        }
    }
}

/// Lines across the bars, named to the right of the plot where no bar can be in the way.
fn draw_references(svg: &mut Svg, chart: &BarChart, layout: &Layout) {
    let plot = &layout.plot;
    let visible: Vec<(f64, &str)> = chart
        .references
        .iter()
        .filter(|(value, _)| layout.y.contains(*value))
        .filter_map(|(value, label)| Some((layout.y.map(*value)?, label.as_str())))
        .collect();
    let wanted: Vec<f64> = visible.iter().map(|(y, _)| *y).collect();
    let placed = ends::spread(&wanted, 14.0, (plot.top, plot.bottom));
    for ((y, label), label_y) in visible.into_iter().zip(placed) {
        let look = format!(r#"stroke="{}" stroke-width="1.4" stroke-dasharray="3 3""#, style::INK);
        svg.line((plot.left, y), (plot.right, y), &look);
        svg.text(
            plot.right + 6.0,
            label_y + 4.0,
            label,
            Font::new(style::NOTE_SIZE + 0.5, style::INK),
        );
    }
}

fn remarks(chart: &BarChart) -> Vec<String> {
    let values = chart.series.iter().flat_map(|s| s.values.iter().flatten());
    match values.filter(|v| !chart.y.kind.can_show(**v)).count() {
        0 => Vec::new(),
        1 => vec!["1 value at or below zero is not shown: log axis.".into()],
        n => vec![format!("{n} values at or below zero are not shown: log axis.")],
    }
}

/// The chart in words, for readers who do not see it.
fn describe(chart: &BarChart) -> String {
    let mut words = format!("Bar chart. Vertical: {}.", chart.y.caption());
    for series in &chart.series {
        words.push_str(&format!(" {}: {}.", series.name, values(chart, series)));
    }
    for (value, label) in &chart.references {
        words.push_str(&format!(" Reference line {label} at {}.", short(*value)));
    }
    words
}

fn values(chart: &BarChart, series: &BarSeries) -> String {
    let named = series.values.iter().enumerate().map(|(i, value)| {
        let value = value.map_or_else(|| "missing".into(), short);
        match chart.categories.get(i) {
            Some(category) => format!("{category} {value}"),
            None => value,
        }
    });
    named.collect::<Vec<_>>().join(", ")
}
