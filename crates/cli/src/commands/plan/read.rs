//! Reading what to plan.

use std::{fs, path::Path};

use anyhow::Result;
use laxity_flowsim::{World, file};
use laxity_interface::Job;
use laxity_topology::Topology;

use crate::failure::Explain;

/// The text of a file.
pub(super) fn text(path: &Path) -> Result<String> {
    fs::read_to_string(path)
        .explain(format!("cannot read `{}`", path.display()), "give the path of a file that exists")
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// A world, from one file or two.
pub(super) fn world(path: &Path, network: Option<&Path>) -> Result<World> {
    let net = network.map(topology).transpose()?;
    let text = text(path)?;
    let wrong = || format!("`{}` makes no plan", path.display());
    let help = "see docs/flowsim.md for the fields of the file";
    // A job of the transport's kind has flows at the top, a plan has jobs.
    let has_jobs = if is_json(path) {
        text.contains("\"jobs\"")
    } else {
        text.contains("[[jobs]]") || text.contains("jobs =")
    };
    if let Some(net) = net.clone().filter(|_| !has_jobs) {
        let job = if is_json(path) { Job::from_json(&text) } else { Job::from_toml(&text) };
        return file::from_job(&job.explain(wrong(), help)?, net).explain(wrong(), help);
    }
    let read = if is_json(path) { file::from_json } else { file::from_toml };
    read(&text, net).explain(wrong(), help)
}

fn topology(path: &Path) -> Result<Topology> {
    let text = text(path)?;
    let net = if is_json(path) { Topology::from_json(&text) } else { Topology::from_toml(&text) };
    net.explain(
        format!("`{}` is no network", path.display()),
        "see docs/flowsim.md for the kinds of networks",
    )
}
