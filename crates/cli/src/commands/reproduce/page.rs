//! All experiments of a run on one page.

use laxity_report::{
    Report,
    html::{Page, Section},
};

use super::Done;

/// A section for each experiment: claims, charts, rows, choices, differences.
pub(super) fn html(done: &[Done], summary: &Report) -> String {
    let claims = done.iter().flat_map(|one| &one.findings.claims);
    let (mut hold, mut all) = (0, 0);
    for claim in claims {
        hold += usize::from(claim.holds);
        all += 1;
    }
    let mut page = Page::new("The papers' results, run again")
        .intro(format!("{} experiments, {hold} of {all} claims hold.", done.len()));
    for one in done {
        let (entry, findings) = (one.found.entry, &one.findings);
        let mut section = Section::new(entry.name)
            .text(&format!("{}.\n\nThe paper: {}.", entry.what, entry.paper))
            .claims(&one.report);
        for chart in &findings.charts {
            section = section.svg(&chart.svg);
        }
        section = match findings.columns.as_slice() {
            [] => section.table(&one.report),
            columns => section.table_of(&one.report, columns),
        };
        for (heading, list) in
            [("Chosen here", &findings.chosen), ("Differences", &findings.differences)]
        {
            if !list.is_empty() {
                section = section.text(&format!("{heading}: {}", list.join("; ")));
            }
        }
        page = page.section(section);
    }
    page.provenance(&summary.meta).to_html()
}
