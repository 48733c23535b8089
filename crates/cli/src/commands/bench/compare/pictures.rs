//! Distributions of completion times, and the page with everything.

use std::{fs, path::Path};

use anyhow::Result;
use laxity_report::{
    Report,
    chart::{Axis, CdfChart},
    html::{Page, Section},
};

use super::{
    args::{CompareArgs, Scheme},
    measure::Measured,
    results::{FAIRNESS_COLUMNS, TRANSFER_COLUMNS, part},
};
use crate::failure::Explain;

/// One picture: its title, the name of its file, the SVG.
pub(super) struct Picture {
    title: String,
    file: String,
    svg: String,
}

/// A picture for every comparison.
pub(super) fn pictures(args: &CompareArgs, measured: &[Measured]) -> Vec<Picture> {
    let mut groups: Vec<(String, Vec<&Measured>)> = Vec::new();
    for one in measured.iter().filter(|one| !one.samples.is_empty()) {
        match groups.iter_mut().find(|(name, _)| *name == one.group()) {
            Some((_, members)) => members.push(one),
            None => groups.push((one.group(), vec![one])),
        }
    }
    groups.into_iter().map(|(title, members)| picture(args, title, &members)).collect()
}

fn picture(args: &CompareArgs, title: String, members: &[&Measured]) -> Picture {
    let background = match args.background.get() {
        0.0 => String::new(),
        load => format!(", {:.0} % other traffic", load * 100.0),
    };
    let mut chart = CdfChart::new(title.clone())
        .subtitle(format!("{}, {} round trip{background}", args.rate, args.rtt))
        .x(Axis::log("completion time").unit("ms"))
        .of("runs")
        .guide(99.0);
    for one in members {
        // Every scheme has its colour in all pictures; Laxity without slack the one after.
        let exact =
            one.contender.scheme == Scheme::Laxity && one.contender.min_delivery.get() == 1.0;
        let slot = one.contender.scheme as usize + usize::from(exact);
        chart = chart.samples(one.label(), one.times()).slot(slot);
    }
    Picture { file: file_name(&title), svg: chart.to_svg(), title }
}

/// Letters and digits of a title, with hyphens between them.
fn file_name(title: &str) -> String {
    let words: Vec<_> = title
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '.')
        .filter(|word| !word.is_empty())
        .collect();
    format!("compare-{}.svg", words.join("-").to_lowercase())
}

/// Writes the pictures to a folder.
pub(super) fn write_all(folder: &Path, pictures: &[Picture]) -> Result<()> {
    let remedy = "name a folder that you may write to";
    fs::create_dir_all(folder)
        .explain(format!("cannot create the folder `{}`", folder.display()), remedy)?;
    for picture in pictures {
        let path = folder.join(&picture.file);
        fs::write(&path, &picture.svg)
            .explain(format!("cannot write `{}`", path.display()), remedy)?;
    }
    Ok(())
}

/// Writes the page.
pub(super) fn write_page(
    path: &Path,
    args: &CompareArgs,
    report: &Report,
    pictures: &[Picture],
    words: &str,
    first: Vec<Section>,
) -> Result<()> {
    let intro = format!(
        "Real programs in network namespaces of one machine, with a software switch between them: links \
         of {} with a round trip of {}. Every scheme took its turn in every round, on fresh connections. \
         A time lasts from the start until the receiver had the last byte that it needed; Laxity needs \
         {} of the bytes where nothing else is said, TCP all of them.",
        args.rate, args.rtt, args.min_delivery
    );
    let page = Page::new("TCP and Laxity in the lab").intro(intro);
    let mut page = first.into_iter().fold(page, Page::section);
    let (transfers, fairness) = (part(report, false), part(report, true));
    if !transfers.rows.is_empty() {
        let section = Section::new("Completion times").table_of(&transfers, TRANSFER_COLUMNS);
        page = page.section(section.text(words));
    }
    for picture in pictures {
        page = page.section(Section::new(&picture.title).svg(&picture.svg));
    }
    if !fairness.rows.is_empty() {
        page = page.section(Section::new("Fairness").table_of(&fairness, FAIRNESS_COLUMNS));
    }
    fs::write(path, page.provenance(&report.meta).to_html()).explain(
        format!("cannot write `{}`", path.display()),
        "check that the folder exists and can be written to",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_after_what_they_show() {
        assert_eq!(file_name("25MB under 0.1 % loss"), "compare-25mb-under-0.1-loss.svg");
    }
}
