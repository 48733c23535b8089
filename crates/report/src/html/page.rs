//! The page around the sections.

use super::section::{Section, write_paragraphs};
use crate::escape::escape;
use crate::meta::Meta;
use crate::name::heading;
use crate::number::MISSING;
use crate::value::Value;

/// Small enough to travel inside every page.
const STYLE: &str = include_str!("page.css");

/// A self-contained page: title, introduction, sections, and where the numbers come from.
///
/// ```
/// use laxity_report::html::{Page, Section};
/// use laxity_report::{Meta, Report, Row};
/// let report = Report::new(Meta::new("laxity sim bench", "0.1.0").seed(1))
///     .row(Row::new().with("scenario", "leaf-spine").with("ns_per_event", 41.0));
/// let page = Page::new("Simulator speed")
///     .intro("How fast one core simulates.")
///     .section(Section::new("Events").text("Lower is better.").table(&report))
///     .provenance(&report.meta)
///     .to_html();
/// assert!(page.starts_with("<!doctype html>"));
/// ```
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    intro: String,
    sections: Vec<Section>,
    provenance: Vec<Meta>,
}

impl Page {
    /// An empty page with this title.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            intro: String::new(),
            sections: Vec::new(),
            provenance: Vec::new(),
        }
    }

    /// What the page is about; an empty line starts a new paragraph.
    #[must_use]
    pub fn intro(mut self, intro: impl Into<String>) -> Self {
        self.intro = intro.into();
        self
    }

    /// Adds a section.
    #[must_use]
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// Adds the origin of some results to the block at the end.
    #[must_use]
    pub fn provenance(mut self, meta: &Meta) -> Self {
        self.provenance.push(meta.clone());
        self
    }

    /// The page as HTML text.
    #[must_use]
    pub fn to_html(&self) -> String {
        let title = escape(&self.title);
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        );
        write_paragraphs(&mut out, &self.intro, " class=\"intro\"");
        for section in &self.sections {
            section.write(&mut out);
        }
        out.push_str("</main>\n");
        self.write_provenance(&mut out);
        out.push_str("</body>\n</html>\n");
        out
    }

    fn write_provenance(&self, out: &mut String) {
        if self.provenance.is_empty() {
            return;
        }
        out.push_str("<footer>\n<h2>Where these numbers come from</h2>\n");
        for meta in &self.provenance {
            out.push_str("<dl>\n");
            for (name, value) in meta.fields().fields() {
                let (name, value) = (escape(&heading(name)), escape(&plain(value)));
                out.push_str(&format!("<dt>{name}</dt><dd>{value}</dd>\n"));
            }
            out.push_str("</dl>\n");
        }
        out.push_str("</footer>\n");
    }
}

/// Integers here are seeds and counts that people copy back into commands: no separators.
fn plain(value: &Value) -> String {
    match value {
        Value::Int(i) => i.to_string(),
        Value::Null => MISSING.into(),
        other => other.display(),
    }
}
