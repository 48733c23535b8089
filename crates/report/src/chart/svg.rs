//! Writing SVG elements: fixed decimals, escaped text, one element per line.

use super::style;
use super::text;
use crate::escape::escape;
use std::fmt::Write;

/// Which point of a text its position means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Anchor {
    #[default]
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Font {
    pub(crate) size: f64,
    pub(crate) fill: &'static str,
    pub(crate) anchor: Anchor,
    pub(crate) bold: bool,
    /// A card-coloured outline that keeps text readable on top of lines.
    pub(crate) halo: bool,
    /// Degrees clockwise around the position.
    pub(crate) turn: f64,
}

impl Font {
    pub(crate) fn new(size: f64, fill: &'static str) -> Self {
        Self { size, fill, anchor: Anchor::Start, bold: false, halo: false, turn: 0.0 }
    }

    pub(crate) fn anchor(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }

    pub(crate) fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub(crate) fn halo(self) -> Self {
        Self { halo: true, ..self }
    }

    pub(crate) fn turn(self, turn: f64) -> Self {
        Self { turn, ..self }
    }
}

/// An SVG document under construction.
#[derive(Debug)]
pub(crate) struct Svg {
    out: String,
}

impl Svg {
    /// Opens a document. Width and height give a standalone file its size; a page's style lets it shrink.
    /// (Not a `style` here: converters take the automatic height in it for none.)
    pub(crate) fn open(width: f64, height: f64, title: &str, desc: &str) -> Self {
        let mut out = String::with_capacity(8 * 1024);
        let _ = writeln!(
            out,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}" role="img" font-family="{}">"#,
            style::FONT
        );
        let _ = writeln!(out, "<title>{}</title>", escape(title));
        let _ = writeln!(out, "<desc>{}</desc>", escape(desc));
        Self { out }
    }

    pub(crate) fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, attributes: &str) {
        let (x, y, width, height) = (px(x), px(y), px(width.max(0.0)), px(height.max(0.0)));
        let _ = writeln!(
            self.out,
            r#"<rect x="{x}" y="{y}" width="{width}" height="{height}" {attributes}/>"#
        );
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), attributes: &str) {
        let _ = writeln!(
            self.out,
            r#"<line x1="{}" y1="{}" x2="{}" y2="{}" {attributes}/>"#,
            px(from.0),
            px(from.1),
            px(to.0),
            px(to.1)
        );
    }

    pub(crate) fn path(&mut self, d: &str, attributes: &str) {
        let _ = writeln!(self.out, r#"<path d="{d}" {attributes}/>"#);
    }

    /// A marker shape moved to a point.
    pub(crate) fn marker(&mut self, shape: &str, at: (f64, f64), attributes: &str) {
        let (x, y) = (px(at.0), px(at.1));
        let _ = writeln!(
            self.out,
            r#"<path d="{shape}" transform="translate({x} {y})" {attributes}/>"#
        );
    }

    pub(crate) fn text(&mut self, x: f64, y: f64, content: &str, font: Font) {
        let (x, y) = (px(x), px(y));
        let _ = write!(self.out, r#"<text x="{x}" y="{y}" font-size="{:.1}""#, font.size);
        let _ = write!(self.out, r#" fill="{}""#, font.fill);
        match font.anchor {
            Anchor::Start => {}
            Anchor::Middle => self.out.push_str(r#" text-anchor="middle""#),
            Anchor::End => self.out.push_str(r#" text-anchor="end""#),
        }
        if font.bold {
            self.out.push_str(r#" font-weight="600""#);
        }
        if font.halo {
            let card = style::CARD;
            let _ = write!(
                self.out,
                r#" stroke="{card}" stroke-width="3.5" stroke-linejoin="round" paint-order="stroke""#
            );
        }
        if font.turn != 0.0 {
            let _ = write!(self.out, r#" transform="rotate({:.0} {x} {y})""#, font.turn);
        }
        let _ = writeln!(self.out, ">{}</text>", escape(&text::with_minus(content)));
    }

    /// Hides what lies outside a rectangle until [`Svg::close_clip`]. A nested document does this
    /// without an id, and ids would clash when several charts share one page.
    pub(crate) fn open_clip(&mut self, x: f64, y: f64, width: f64, height: f64) {
        let (x, y, width, height) = (px(x), px(y), px(width), px(height));
        let _ = writeln!(
            self.out,
            r#"<svg x="{x}" y="{y}" width="{width}" height="{height}" viewBox="{x} {y} {width} {height}" overflow="hidden">"#
        );
    }

    pub(crate) fn close_clip(&mut self) {
        self.out.push_str("</svg>\n");
    }

    pub(crate) fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }
}

/// A coordinate with two decimals: the same text on every machine.
///
/// Far outside the page the exact place is irrelevant, and renderers use single precision.
pub(crate) fn px(value: f64) -> String {
    let value = if value.is_nan() { 0.0 } else { value.clamp(-1e5, 1e5) };
    let text = format!("{value:.2}");
    if text == "-0.00" { "0.00".into() } else { text }
}

/// Path data through points; each inner list is one unbroken stroke.
pub(crate) fn polyline(strokes: &[Vec<(f64, f64)>]) -> String {
    let mut d = String::new();
    for (i, (x, y)) in strokes.iter().flat_map(|s| s.iter().enumerate()) {
        let _ = write!(d, "{}{} {}", if i == 0 { "M" } else { "L" }, px(*x), px(*y));
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_plain_fixed_numbers() {
        assert_eq!(px(1.005), "1.00");
        assert_eq!(px(-0.001), "0.00");
        assert_eq!(px(f64::NAN), "0.00");
        assert_eq!(px(f64::INFINITY), "100000.00");
    }

    #[test]
    fn a_gap_starts_a_new_stroke() {
        let d = polyline(&[vec![(0.0, 0.0), (1.0, 1.0)], vec![(3.0, 3.0)]]);
        assert_eq!(d, "M0.00 0.00L1.00 1.00M3.00 3.00");
    }
}
