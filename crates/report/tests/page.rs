//! The HTML page.

use laxity_report::html::{Page, Section};
use laxity_report::{Claim, Meta, Report, Row};

mod gallery;

#[test]
fn page() {
    insta::assert_snapshot!(gallery::page());
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let page = gallery::page();
    for attribute in ["src=", "href=", "url(", "@import", "<script", "<link"] {
        assert!(!page.contains(attribute), "{attribute}");
    }
}

#[test]
fn every_text_is_escaped() {
    let evil = "<b>&\"'";
    let report = Report::new(Meta::new(evil, evil).with("note", evil))
        .row(Row::new().with("name", evil))
        .claim(Claim::new(evil, evil, evil, true));
    let section = Section::new(evil).text(evil).table(&report).claims(&report);
    let page = Page::new(evil).intro(evil).section(section).provenance(&report.meta).to_html();
    assert!(!page.contains("<b>"));
    assert_eq!(page.matches("&lt;b&gt;&amp;&quot;&#39;").count(), 12);
}

#[test]
fn an_empty_page_is_still_a_page() {
    let report = Report::new(Meta::new("x", "0"));
    let page = Page::new("").section(Section::new("").table(&report).claims(&report)).to_html();
    assert!(page.contains("No rows.") && page.ends_with("</html>\n"));
    assert!(!page.contains("<footer>"));
}

#[test]
fn seeds_can_be_copied_back() {
    let page = Page::new("t").provenance(&Meta::new("x", "0").seed(1_234_567)).to_html();
    assert!(page.contains("<dd>1234567</dd>"));
}
