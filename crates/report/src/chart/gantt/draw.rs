//! Drawing a timeline.

use super::{GanttBar, GanttChart};
use crate::chart::axes;
use crate::chart::frame::{Frame, PAD};
use crate::chart::legend::{Key, Swatch};
use crate::chart::place::Area;
use crate::chart::scale::{Kind, Scale, extent};
use crate::chart::style;
use crate::chart::svg::{Anchor, Font, Svg};
use crate::chart::text;
use crate::number::short;

/// Height of a row, with the gap to the next.
const ROW: f64 = 22.0;

/// Height of a bar that fills its row.
const BAR: f64 = 16.0;

/// Names of rows get at most this part of the width.
const NAMES: f64 = 0.3;

/// Height of the names of marks.
const MARKS: f64 = 18.0;

pub(super) fn render(chart: &GanttChart) -> String {
    let keys: Vec<_> = chart
        .kinds
        .iter()
        .enumerate()
        .map(|(slot, name)| Key { name: name.clone(), slot, swatch: Swatch::Box })
        .collect();
    let mut frame = chart.frame.clone();
    let notes = remarks(chart);
    let plot = fit(chart, &mut frame, &keys, &notes);
    let mut svg = frame.begin(&describe(chart), &keys, &notes);

    let bars = || chart.rows.iter().flat_map(|(_, bars)| bars).filter(|bar| is_drawn(bar));
    let ends = bars().flat_map(|bar| [bar.from, bar.to]).chain([0.0]);
    let ends = ends.chain(chart.marks.iter().map(|(at, _)| *at));
    let domain = chart.x.fitted(extent(Kind::Linear, ends));
    let x = Scale::new(Kind::Linear, domain, (plot.left, plot.right));
    let ticks = chart.x.ticks(&x, axes::x_ticks(plot.width()));
    axes::draw_x(&mut svg, &plot, &x, &ticks, &[], &chart.x.caption());

    for (at, (name, bars)) in chart.rows.iter().enumerate() {
        let bottom = plot.top + (at as f64 + 1.0) * ROW - (ROW - BAR) / 2.0;
        let font = Font::new(style::TICK_SIZE, style::INK).anchor(Anchor::End);
        let name = shorten(name, plot.left - PAD - 8.0, style::TICK_SIZE);
        svg.text(plot.left - 8.0, bottom - BAR / 2.0 + 4.0, &name, font);
        svg.open_clip(plot.left, bottom - BAR - 3.0, plot.width(), BAR + 6.0);
        for bar in bars.iter().filter(|bar| is_drawn(bar)) {
            draw_bar(&mut svg, &x, bar, bottom);
        }
        svg.close_clip();
    }
    draw_marks(&mut svg, chart, &x, &plot);
    axes::draw_baseline(&mut svg, &plot, plot.bottom);
    if bars().next().is_none() {
        Frame::draw_empty(&mut svg, &plot);
    }
    svg.finish()
}

fn is_drawn(bar: &GanttBar) -> bool {
    bar.from.is_finite() && bar.to.is_finite() && bar.from <= bar.to
}

/// Gives the frame the height that the rows need, and says where they go.
fn fit(chart: &GanttChart, frame: &mut Frame, keys: &[Key], notes: &[String]) -> Area {
    let names = chart.rows.iter().map(|(name, _)| text::width(name, style::TICK_SIZE));
    let marks = if chart.marks.is_empty() { 0.0 } else { MARKS };
    let rows = (chart.rows.len().max(3) as f64) * ROW;
    let below = axes::X_TICKS + if chart.x.caption().is_empty() { 4.0 } else { axes::X_CAPTION };
    // The frame says what is left of a height; what is missing is added, once.
    frame.set_size(chart.width, 0);
    let body = frame.body(keys, notes);
    let missing = rows + marks + below + 8.0 - body.height();
    let height = frame.height() + missing;
    frame.set_size(chart.width, height.ceil().max(0.0) as u32);
    let body = frame.body(keys, notes);
    let left = names.fold(12.0, f64::max).min(body.width() * NAMES) + 8.0;
    let top = body.top + marks;
    Area { left: body.left + left, top, right: body.right - 12.0, bottom: top + rows }
}

fn draw_bar(svg: &mut Svg, x: &Scale, bar: &GanttBar, bottom: f64) {
    let (Some(left), Some(right)) = (x.map(bar.from), x.map(bar.to)) else { return };
    let (width, height) = ((right - left).max(0.8), (BAR * bar.level).max(1.0));
    svg.rect(left, bottom - height, width, height, &style::area(bar.kind));
    // A line between neighbours: bars of one kind often follow each other at once.
    let look = format!(r#"stroke="{}" stroke-width="0.7""#, style::CARD);
    svg.line((left, bottom - height), (left, bottom), &look);
    let room = width - 8.0;
    if text::width(&bar.label, style::NOTE_SIZE) <= room && !bar.label.is_empty() {
        let font = Font::new(style::NOTE_SIZE, style::INK).anchor(Anchor::Middle).halo();
        svg.text((left + right) / 2.0, bottom - BAR / 2.0 + 3.6, &bar.label, font);
    }
}

fn draw_marks(svg: &mut Svg, chart: &GanttChart, x: &Scale, plot: &Area) {
    let mut marks: Vec<_> = chart.marks.iter().filter(|(at, _)| x.contains(*at)).collect();
    marks.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free_from = f64::NEG_INFINITY;
    for (at, label) in marks {
        let Some(px) = x.map(*at) else { continue };
        let look = format!(r#"stroke="{}" stroke-width="1.2" stroke-dasharray="3 3""#, style::INK);
        svg.line((px, plot.top - 4.0), (px, plot.bottom), &look);
        let half = text::width(label, style::NOTE_SIZE) / 2.0;
        let middle = px.clamp(plot.left + half, (plot.right - half).max(plot.left + half));
        if middle - half >= free_from {
            let font = Font::new(style::NOTE_SIZE, style::INK).anchor(Anchor::Middle);
            svg.text(middle, plot.top - 8.0, label, font);
            free_from = middle + half + 6.0;
        }
    }
}

/// As much of a name as fits, with a sign that there is more.
fn shorten(name: &str, room: f64, size: f64) -> String {
    if text::width(name, size) <= room {
        return name.to_owned();
    }
    let mut short = String::new();
    for c in name.chars() {
        if text::width(&short, size) + text::width("m…", size) > room {
            break;
        }
        short.push(c);
    }
    short + "…"
}

fn remarks(chart: &GanttChart) -> Vec<String> {
    let bars = chart.rows.iter().flat_map(|(_, bars)| bars);
    match bars.filter(|bar| !is_drawn(bar)).count() {
        0 => Vec::new(),
        1 => vec!["1 bar without a beginning or an end is not shown.".into()],
        n => vec![format!("{n} bars without a beginning or an end are not shown.")],
    }
}

/// The chart in words, for readers who do not see it.
fn describe(chart: &GanttChart) -> String {
    let mut words = format!("Timeline. Horizontal: {}.", chart.x.caption());
    for (name, bars) in chart.rows.iter().take(40) {
        let drawn = || bars.iter().filter(|bar| is_drawn(bar));
        let from = drawn().map(|bar| bar.from).fold(f64::INFINITY, f64::min);
        let to = drawn().map(|bar| bar.to).fold(f64::NEG_INFINITY, f64::max);
        if from <= to {
            let count = drawn().count();
            words += &format!(" {name}: {count} bars from {} to {}.", short(from), short(to));
        }
    }
    words
}
