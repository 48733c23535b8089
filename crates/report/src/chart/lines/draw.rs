//! Drawing a line chart.

use super::layout::{END_GAP, Layout, has_markers, is_dashed, slot};
use super::{LineChart, Series};
use crate::chart::axes;
use crate::chart::frame::Frame;
use crate::chart::legend::DASHES;
use crate::chart::place::{self, Area};
use crate::chart::scale::{Kind, extent};
use crate::chart::style;
use crate::chart::svg::{Font, Svg, polyline};
use crate::chart::text;
use crate::number::short;

pub(super) fn render(chart: &LineChart) -> String {
    let chart = &with_remarks(chart);
    let layout = Layout::of(chart);
    let mut svg = chart.frame.begin(&describe(chart), &layout.keys, &chart.remarks);
    let plot = &layout.plot;
    let y_minor = if chart.y.wants_minor() { layout.y.minor_ticks() } else { Vec::new() };
    let x_minor = if chart.x.wants_minor() { layout.x.minor_ticks() } else { Vec::new() };
    axes::draw_y(&mut svg, plot, &layout.y, &layout.y_ticks, &y_minor, &chart.y.caption());
    axes::draw_x(&mut svg, plot, &layout.x, &layout.x_ticks, &x_minor, &chart.x.caption());
    axes::draw_baseline(&mut svg, plot, plot.bottom);

    let cut = chart.x.is_cut() || chart.y.is_cut();
    if cut {
        // A little beyond the plot, so that a line along its edge keeps its full width.
        svg.open_clip(plot.left, plot.top - 2.0, plot.width(), plot.height() + 4.0);
    }
    for (i, series) in chart.series.iter().enumerate() {
        draw_band(&mut svg, &layout, series, slot(series, i));
    }
    for (i, series) in chart.series.iter().enumerate() {
        draw_line(&mut svg, &layout, series, slot(series, i));
    }
    if cut {
        svg.close_clip();
    }
    for (i, series) in chart.series.iter().enumerate() {
        draw_markers(&mut svg, &layout, series, slot(series, i));
    }
    draw_references(&mut svg, chart, &layout);
    draw_ends(&mut svg, chart, &layout);
    if chart.series.iter().all(|s| strokes(&layout, s).is_empty()) {
        Frame::draw_empty(&mut svg, plot);
    }
    svg.finish()
}

/// The points in pixels, split where one cannot be drawn.
fn strokes(layout: &Layout, series: &Series) -> Vec<Vec<(f64, f64)>> {
    let pixels: Vec<Option<(f64, f64)>> = series.points.iter().map(|p| layout.at(*p)).collect();
    let runs = pixels.split(Option::is_none).filter(|run| !run.is_empty());
    runs.map(|run| run.iter().copied().flatten().collect()).collect()
}

fn draw_band(svg: &mut Svg, layout: &Layout, series: &Series, slot: usize) {
    let edge = |pick: fn(&(f64, f64, f64)) -> f64| -> Vec<(f64, f64)> {
        series
            .band
            .iter()
            .filter(|b| layout.at((b.0, b.1)).is_some() && layout.at((b.0, b.2)).is_some())
            .filter_map(|b| layout.at((b.0, pick(b))))
            .collect()
    };
    let mut outline = edge(|b| b.1);
    outline.extend(edge(|b| b.2).into_iter().rev());
    if outline.len() >= 4 {
        let look = format!(r#"fill="{}" fill-opacity="0.15""#, style::colour(slot).fill);
        svg.path(&format!("{}Z", polyline(&[outline])), &look);
    }
}

fn draw_line(svg: &mut Svg, layout: &Layout, series: &Series, slot: usize) {
    let strokes: Vec<_> = strokes(layout, series).into_iter().filter(|s| s.len() > 1).collect();
    if strokes.is_empty() {
        return;
    }
    let dashes = if is_dashed(series, slot) { DASHES } else { "" };
    let look = format!(
        r#"fill="none" stroke="{}" stroke-width="2.2" stroke-linejoin="round" stroke-linecap="round" {dashes}"#,
        style::colour(slot).fill
    );
    svg.path(&polyline(&strokes), look.trim_end());
}

fn draw_markers(svg: &mut Svg, layout: &Layout, series: &Series, slot: usize) {
    // A point between two gaps has no line; without a marker it would be invisible.
    let lonely = |stroke: &Vec<(f64, f64)>| stroke.len() == 1;
    let strokes = strokes(layout, series);
    let shown = strokes.iter().filter(|s| has_markers(series) || lonely(s)).flatten();
    let inside = shown.filter(|(x, y)| {
        (layout.plot.left..=layout.plot.right).contains(x)
            && (layout.plot.top - 0.01..=layout.plot.bottom + 0.01).contains(y)
    });
    let look = format!(r#"fill="{}" stroke="{}""#, style::colour(slot).fill, style::CARD);
    for point in inside {
        svg.marker(style::marker(slot), *point, &look);
    }
}

fn draw_references(svg: &mut Svg, chart: &LineChart, layout: &Layout) {
    let plot = &layout.plot;
    let lines = chart.series.iter().flat_map(|s| strokes(layout, s));
    let mut ink: Vec<(f64, f64)> = lines.flat_map(|stroke| place::trace(&stroke)).collect();
    let visible: Vec<(f64, &str)> = chart
        .references
        .iter()
        .filter(|(value, _)| layout.y.contains(*value))
        .filter_map(|(value, label)| Some((layout.y.map(*value)?, label.as_str())))
        .collect();
    for (y, _) in &visible {
        let look = format!(r#"stroke="{}" stroke-width="1.4" stroke-dasharray="3 3""#, style::INK);
        svg.line((plot.left, *y), (plot.right, *y), &look);
        ink.extend(place::trace(&[(plot.left, *y), (plot.right, *y)]));
    }
    let mut taken: Vec<Area> = Vec::new();
    for (y, label) in visible {
        let width = text::width(label, style::NOTE_SIZE + 0.5);
        let box_at =
            |left: f64, top: f64| Area { left, top, right: left + width, bottom: top + 13.0 };
        let (right, middle) = (plot.right - 6.0 - width, (plot.left + plot.right - width) / 2.0);
        let (above, below) = (y - 16.0, y + 3.0);
        let mut candidates = Vec::new();
        for left in [right, plot.left + 6.0, middle] {
            candidates.extend([box_at(left, above), box_at(left, below)]);
        }
        if let Some(area) = place::freest(&candidates, plot, &taken, &ink) {
            let font = Font::new(style::NOTE_SIZE + 0.5, style::INK).halo();
            svg.text(area.left, area.bottom - 3.0, label, font);
            taken.push(area);
        }
    }
}

fn draw_ends(svg: &mut Svg, chart: &LineChart, layout: &Layout) {
    for (i, end, y) in &layout.ends {
        let series = &chart.series[*i];
        let colour = style::colour(slot(series, *i));
        let from = (end.0 + 6.0, end.1);
        let to = (layout.plot.right + END_GAP - 9.0, *y);
        if (end.1 - y).abs() > 3.0 || to.0 - from.0 > 12.0 {
            let look = format!(r#"stroke="{}" stroke-opacity="0.45""#, colour.fill);
            svg.line(from, to, &look);
        }
        let font = Font::new(style::LABEL_SIZE, colour.ink).bold();
        svg.text(layout.plot.right + END_GAP - 6.0, y + 4.2, &series.name, font);
    }
}

/// The chart with a remark if a log axis hides values that exist.
fn with_remarks(chart: &LineChart) -> LineChart {
    let hidden = |value: f64, kind: Kind| value.is_finite() && !kind.can_show(value);
    let points = chart.series.iter().flat_map(|s| &s.points);
    let count =
        points.filter(|(x, y)| hidden(*x, chart.x.kind) || hidden(*y, chart.y.kind)).count();
    let mut chart = chart.clone();
    if count > 0 {
        let (points, are) = if count == 1 { ("point", "is") } else { ("points", "are") };
        chart.remarks.push(format!("{count} {points} at or below zero {are} not shown: log axis."));
    }
    chart
}

/// The chart in words, for readers who do not see it.
fn describe(chart: &LineChart) -> String {
    let mut words = format!(
        "{}. Horizontal: {}. Vertical: {}.",
        chart.kind_name,
        chart.x.caption(),
        chart.y.caption()
    );
    for series in &chart.series {
        let reach = extent(Kind::Linear, series.points.iter().map(|p| p.1));
        let reach = reach.map_or_else(
            || "no data".to_owned(),
            |(lo, hi)| format!("{} points, {} to {}", series.points.len(), short(lo), short(hi)),
        );
        words.push_str(&format!(" {}: {reach}.", series.name));
    }
    for (value, label) in &chart.references {
        words.push_str(&format!(" Reference line {label} at {}.", short(*value)));
    }
    words
}
