//! Where the bars and their labels go.

use super::{BarChart, BarSeries};
use crate::chart::axes;
use crate::chart::legend::{Key, Swatch};
use crate::chart::place::Area;
use crate::chart::scale::{Kind, Scale, Tick, extent};
use crate::chart::style;
use crate::chart::text;
use crate::number;

/// Wider bars look like boxes, not measurements.
const WIDEST_BAR: f64 = 54.0;

/// Space between bars of one group.
const BAR_GAP: f64 = 2.0;

/// Share of a group's width that stays empty, to tell groups apart.
const GROUP_GAP: f64 = 0.22;

/// Height of a line of category text.
const CATEGORY_LINE: f64 = 15.0;

/// Angle of category names that fit in no other way, and its sine and cosine.
const SLANT: (f64, f64, f64) = (-35.0, 0.5736, 0.8192);

/// One bar in pixels.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    pub(super) left: f64,
    pub(super) width: f64,
    pub(super) end: f64,
    pub(super) label: String,
    pub(super) is_negative: bool,
    /// Low and high end of the whisker.
    pub(super) whisker: Option<(f64, f64)>,
    pub(super) slot: usize,
}

/// The text of a category.
#[derive(Clone, Debug)]
pub(super) enum Category {
    Lines(Vec<String>),
    Slanted(String),
}

/// Everything that is known before drawing.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) plot: Area,
    pub(super) y: Scale,
    pub(super) y_ticks: Vec<Tick>,
    pub(super) keys: Vec<Key>,
    pub(super) categories: Vec<Category>,
    pub(super) group_width: f64,
    pub(super) bars: Vec<Bar>,
    pub(super) zero: f64,
    /// Whether value labels stand upright because bars are too narrow.
    pub(super) upright: bool,
    pub(super) categories_bottom: f64,
}

impl Layout {
    pub(super) fn of(chart: &BarChart, remarks: &[String]) -> Self {
        let keys = keys(chart);
        let body = chart.frame.body(&keys, remarks);
        let groups = group_count(chart);
        let reference_width = chart
            .references
            .iter()
            .map(|(_, label)| text::width(label, style::NOTE_SIZE + 0.5) + 6.0)
            .fold(0.0, f64::max);
        let right = body.right - reference_width.min(0.3 * body.width());

        // The tick labels decide the left edge and the ticks need the height, so a guess comes first.
        let guess = (right - body.left - 50.0) / groups as f64;
        let bar_width = bar_width(guess, chart.series.len());
        let upright = longest_label(chart) > bar_width + BAR_GAP + 4.0;
        let label_room = if upright { longest_label(chart) + 8.0 } else { 18.0 };

        let categories = categories(chart, guess - 8.0);
        let categories_height = categories.iter().map(category_height).fold(6.0, f64::max);
        let caption = if chart.x_caption.is_empty() { 0.0 } else { axes::X_CAPTION };
        let top = body.top + axes::Y_CAPTION;
        let bottom = (body.bottom - 6.0 - categories_height - caption).max(top + 60.0);

        let domain = domain(chart, (bottom - top).max(1.0), label_room);
        let y = Scale::new(chart.y.kind, domain, (bottom, top));
        let y_ticks = chart.y.ticks(&y, axes::y_intervals(bottom - top) + 1);
        // A slanted first name leans out to the left and must stay on the card.
        let lean = (overhang(&categories) - guess / 2.0).clamp(0.0, 0.3 * body.width());
        let left = body.left + axes::y_labels_width(&y_ticks).max(lean);
        let plot = Area { left, top, right: right.max(left + 80.0), bottom };

        let zero = match chart.y.kind {
            Kind::Linear => y.map(0.0).unwrap_or(bottom).clamp(top, bottom),
            Kind::Log => bottom,
        };
        let group_width = plot.width() / groups as f64;
        let mut layout = Self {
            plot,
            y,
            y_ticks,
            keys,
            categories,
            group_width,
            bars: Vec::new(),
            zero,
            upright,
            categories_bottom: bottom + 6.0 + categories_height,
        };
        layout.bars = layout.place_bars(chart);
        layout
    }

    /// Middle of the `i`-th group.
    pub(super) fn group_middle(&self, i: usize) -> f64 {
        self.plot.left + (i as f64 + 0.5) * self.group_width
    }

    fn place_bars(&self, chart: &BarChart) -> Vec<Bar> {
        let count = chart.series.len();
        let width = bar_width(self.group_width, count);
        let pitch = width + BAR_GAP;
        let clamp = |px: f64| px.clamp(self.plot.top, self.plot.bottom);
        let mut bars = Vec::new();
        for group in 0..group_count(chart) {
            let start = self.group_middle(group) - (pitch * count as f64 - BAR_GAP) / 2.0;
            for (i, series) in chart.series.iter().enumerate() {
                let value = series.values.get(group).copied().flatten();
                let Some((value, end)) = value.and_then(|v| Some((v, self.y.map(v)?))) else {
                    continue;
                };
                let whisker = series.whiskers.get(group).and_then(|(lo, hi)| {
                    let hi = self.y.map(*hi)?;
                    // On a log axis a whisker may reach zero or below: it then ends at the axis.
                    let lo = if lo.is_finite() {
                        self.y.map(*lo).unwrap_or(self.plot.bottom)
                    } else {
                        return None;
                    };
                    Some((clamp(lo), clamp(hi)))
                });
                let left = start + i as f64 * pitch;
                let slot = slot(series, i);
                bars.push(Bar {
                    left,
                    width,
                    end: clamp(end),
                    label: label(chart, value),
                    is_negative: value < 0.0,
                    whisker,
                    slot,
                });
            }
        }
        bars
    }
}

/// The palette slot of the `i`-th series.
pub(super) fn slot(series: &BarSeries, i: usize) -> usize {
    series.slot.unwrap_or(i)
}

/// At least one group, as many as there are names or values.
fn group_count(chart: &BarChart) -> usize {
    let values = chart.series.iter().map(|s| s.values.len()).max().unwrap_or(0);
    chart.categories.len().max(values).max(1)
}

fn bar_width(group: f64, series: usize) -> f64 {
    let room = group * (1.0 - GROUP_GAP) / series.max(1) as f64 - BAR_GAP;
    room.clamp(1.0, WIDEST_BAR)
}

fn longest_label(chart: &BarChart) -> f64 {
    values(chart).map(|v| text::width(&label(chart, v), style::NOTE_SIZE)).fold(0.0, f64::max)
}

/// The value on a bar: three significant digits, trailing zeros only up to the decimals that some
/// other bar needs. 41.0 next to 52.5 looks as exact as it is, and counts stay whole.
fn label(chart: &BarChart, value: f64) -> String {
    let decimals = |v: f64| number::decimals_for(number::scientific(v, 3).1, 3);
    let plain = |v: f64| v != 0.0 && (-4..4).contains(&number::scientific(v, 3).1);
    if !plain(value) {
        return number::short(value);
    }
    let needed = values(chart).filter(|v| plain(*v)).map(|v| {
        let text = number::fixed(v, decimals(v));
        number::trim_zeros(&text).split_once('.').map_or(0, |(_, fraction)| fraction.len())
    });
    number::fixed(value, decimals(value).min(needed.max().unwrap_or(0)))
}

fn values(chart: &BarChart) -> impl Iterator<Item = f64> {
    chart.series.iter().flat_map(|s| s.values.iter().flatten().copied())
}

/// One series needs no key: the title and the caption name it.
fn keys(chart: &BarChart) -> Vec<Key> {
    if chart.series.len() < 2 {
        return Vec::new();
    }
    let key = |(i, s): (usize, &BarSeries)| Key {
        name: s.name.clone(),
        slot: slot(s, i),
        swatch: Swatch::Box,
    };
    chart.series.iter().enumerate().map(key).collect()
}

/// Category names on one or two lines each, or all slanted if one of them does not fit so.
fn categories(chart: &BarChart, room: f64) -> Vec<Category> {
    let wrapped: Vec<Vec<String>> =
        chart.categories.iter().map(|name| text::wrap(name, style::TICK_SIZE, room)).collect();
    let fits = |lines: &Vec<String>| {
        lines.len() <= 2 && lines.iter().all(|l| text::width(l, style::TICK_SIZE) <= room)
    };
    if wrapped.iter().all(fits) {
        wrapped.into_iter().map(Category::Lines).collect()
    } else {
        chart.categories.iter().cloned().map(Category::Slanted).collect()
    }
}

/// How far the first name reaches to the left of the middle of its group.
fn overhang(categories: &[Category]) -> f64 {
    match categories.first() {
        Some(Category::Slanted(name)) => text::width(name, style::TICK_SIZE) * SLANT.2,
        _ => 0.0,
    }
}

fn category_height(category: &Category) -> f64 {
    match category {
        Category::Lines(lines) => lines.len() as f64 * CATEGORY_LINE,
        Category::Slanted(name) => text::width(name, style::TICK_SIZE) * SLANT.1 + 12.0 * SLANT.2,
    }
}

/// Angle at which names that do not fit are set.
pub(super) const SLANT_DEGREES: f64 = SLANT.0;

/// Height of a line of category text.
pub(super) const LINE: f64 = CATEGORY_LINE;

/// The values at both ends of the vertical axis, with room for the labels beyond the longest bars.
fn domain(chart: &BarChart, height: f64, label_room: f64) -> (f64, f64) {
    let whiskers = chart.series.iter().flat_map(|s| s.whiskers.iter().flat_map(|w| [w.0, w.1]));
    let references = chart.references.iter().map(|r| r.0);
    let extent = extent(chart.y.kind, values(chart).chain(whiskers).chain(references));
    if chart.y.is_cut() || extent.is_none() {
        return chart.y.fitted(extent);
    }
    let (lo, hi) = extent.unwrap_or((0.0, 1.0));
    let room = (label_room / height).min(0.45);
    match chart.y.kind {
        Kind::Linear => {
            let (lo, hi) = (lo.min(0.0), hi.max(0.0));
            let parts =
                1.0 - room * (f64::from(u8::from(hi > 0.0)) + f64::from(u8::from(lo < 0.0)));
            let extra = (hi - lo) / parts.max(0.1) * room;
            (lo - if lo < 0.0 { extra } else { 0.0 }, hi + if hi > 0.0 { extra } else { 0.0 })
        }
        Kind::Log => {
            // Starts at a round value below the shortest bar, so that every bar has a length.
            let (start, _) =
                crate::chart::ticks::extend(Kind::Log, (lo / 1.5, hi.max(lo * 1.01)), 5);
            (start, start * (hi / start).powf(1.0 / (1.0 - room)))
        }
    }
}
