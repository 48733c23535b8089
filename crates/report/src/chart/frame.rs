//! What surrounds the plot: the card, title, subtitle, legend and notes.

use super::legend::{self, Key};
use super::place::Area;
use super::style;
use super::svg::{Anchor, Font, Svg};
use super::text;

/// Space between the edge of the card and anything on it.
pub(crate) const PAD: f64 = 22.0;

const TITLE_LINE: f64 = 21.0;
const SUBTITLE_LINE: f64 = 17.0;
const NOTE_LINE: f64 = 14.0;

/// Titles, notes and size, common to all charts.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    title: String,
    subtitle: String,
    note: String,
    width: f64,
    height: f64,
}

impl Frame {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            subtitle: String::new(),
            note: String::new(),
            width: 720.0,
            height: 430.0,
        }
    }

    pub(crate) fn set_subtitle(&mut self, subtitle: String) {
        self.subtitle = subtitle;
    }

    pub(crate) fn set_note(&mut self, note: String) {
        self.note = note;
    }

    /// Smaller than this, labels could not keep apart.
    pub(crate) fn set_size(&mut self, width: u32, height: u32) {
        (self.width, self.height) = (f64::from(width.max(360)), f64::from(height.max(260)));
    }

    pub(crate) fn width(&self) -> f64 {
        self.width
    }

    pub(crate) fn height(&self) -> f64 {
        self.height
    }

    /// Width between the paddings.
    pub(crate) fn inner_width(&self) -> f64 {
        self.width - 2.0 * PAD
    }

    /// What titles, legend and notes leave over.
    pub(crate) fn body(&self, keys: &[Key], notes: &[String]) -> Area {
        let notes = self.note_lines(notes).len() as f64 * NOTE_LINE;
        let top = self.legend_top() + legend::height(keys, self.inner_width());
        let bottom = self.height - PAD + 4.0 - notes;
        Area { left: PAD, top, right: self.width - PAD, bottom: bottom.max(top + 90.0) }
    }

    /// Opens the document and draws everything around the body.
    pub(crate) fn begin(&self, desc: &str, keys: &[Key], notes: &[String]) -> Svg {
        let mut svg = Svg::open(self.width, self.height, &self.title, desc);
        let (card, edge) = (style::CARD, style::CARD_EDGE);
        let look = format!(r#"rx="8" fill="{card}" stroke="{edge}""#);
        svg.rect(0.5, 0.5, self.width - 1.0, self.height - 1.0, &look);

        let mut y = PAD - 6.0;
        for line in self.title_lines() {
            y += TITLE_LINE;
            svg.text(PAD, y - 2.0, &line, Font::new(style::TITLE_SIZE, style::INK).bold());
        }
        for line in self.subtitle_lines() {
            y += SUBTITLE_LINE;
            svg.text(PAD, y, &line, Font::new(style::SUBTITLE_SIZE, style::MUTED));
        }
        legend::draw(&mut svg, keys, (PAD, self.legend_top()), self.inner_width());

        let lines = self.note_lines(notes);
        let mut y = self.height - PAD + 8.0 - lines.len() as f64 * NOTE_LINE;
        for line in lines {
            y += NOTE_LINE;
            svg.text(PAD, y, &line, Font::new(style::NOTE_SIZE, style::MUTED));
        }
        svg
    }

    /// Says that there is nothing to see, rather than showing empty axes.
    pub(crate) fn draw_empty(svg: &mut Svg, plot: &Area) {
        let font = Font::new(style::LABEL_SIZE, style::MUTED).anchor(Anchor::Middle);
        let (x, y) = ((plot.left + plot.right) / 2.0, (plot.top + plot.bottom) / 2.0);
        svg.text(x, y, "no data", font.halo());
    }

    fn legend_top(&self) -> f64 {
        let titles = self.title_lines().len() as f64 * TITLE_LINE;
        PAD + titles + self.subtitle_lines().len() as f64 * SUBTITLE_LINE + 4.0
    }

    fn title_lines(&self) -> Vec<String> {
        text::wrap(&self.title, style::TITLE_SIZE * text::BOLD, self.inner_width())
    }

    fn subtitle_lines(&self) -> Vec<String> {
        text::wrap(&self.subtitle, style::SUBTITLE_SIZE, self.inner_width())
    }

    fn note_lines(&self, notes: &[String]) -> Vec<String> {
        let all = std::iter::once(&self.note).chain(notes);
        all.flat_map(|note| text::wrap(note, style::NOTE_SIZE, self.inner_width())).collect()
    }
}
