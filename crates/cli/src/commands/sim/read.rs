//! Reading a scenario, and choosing a point of it.

use std::{fs, path::Path};

use anyhow::Result;
use laxity_packetsim::scenario::{Point, Scenario};

use crate::failure::{Explain, usage};

/// A scenario from its file.
pub(super) fn scenario(path: &Path) -> Result<Scenario> {
    let text = fs::read_to_string(path).explain(
        format!("cannot read `{}`", path.display()),
        "give the path of a scenario; examples/sim has some",
    )?;
    Scenario::from_toml(&text).explain(
        format!("`{}` is no scenario", path.display()),
        "docs/packetsim.md describes every field",
    )
}

/// A point by number, if there is one.
pub(super) fn point(scenario: &Scenario, index: u64) -> Result<Point> {
    if index >= scenario.points() {
        let last = scenario.points() - 1;
        return Err(usage(format!("--point {index}: the points of this scenario are 0 to {last}")));
    }
    Ok(scenario.point(index))
}

/// The seed that was asked for, or the first of the file.
pub(super) fn seed(scenario: &Scenario, asked: Option<u64>) -> u64 {
    asked.unwrap_or_else(|| scenario.seeds()[0])
}
