//! Ranks that were started by hand may have been told different things.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use laxity_fabric::{
    Rank,
    rendezvous::{Fabric, Settings},
};

use super::{
    args::{Method, TrainArgs},
    cast::Cast,
};
use crate::failure::Explain;

/// How long the store stays for ranks that have not read yet what differs.
const FAREWELL: Duration = Duration::from_secs(5);

/// Takes part, if all ranks do the same kind of training: a rank that reduces has nothing to say to one
/// that serves a model, and both would wait for the other.
pub(super) fn join(args: &TrainArgs, settings: Settings) -> Result<Fabric> {
    let (rank, world, patience) = (settings.rank, settings.world, settings.patience);
    let fabric = Fabric::join(settings)
        .explain(format!("{rank} cannot take part"), "look at the messages of the other ranks")?;
    let own = kind(args);
    let asked = || format!("{rank} asked what the others were told");
    let mut store = fabric.open_store().with_context(asked)?;
    store.set(&key(TOLD, rank.get()), own.as_bytes()).with_context(asked)?;
    let others = store.wait(&keys(TOLD, world), patience).with_context(asked)?;
    let others: Vec<_> = others.iter().map(|told| String::from_utf8_lossy(told)).collect();
    let Some(what) = difference(rank, &own, &others) else { return Ok(fabric) };
    // The store ends with the rank that hosts it, and others may still have to ask. What is wrong is
    // known: that somebody could not be waited for would say less.
    let _ = store.set(&key(HEARD, rank.get()), &[]);
    if fabric.store_address().is_some() {
        let _ = store.wait(&keys(HEARD, world), patience.min(FAREWELL));
    }
    bail!(what)
}

/// What a rank was told, and that it knows what all were told.
const TOLD: &str = "told";
const HEARD: &str = "heard";

fn key(what: &str, rank: u32) -> String {
    format!("laxity/train/{what}/{rank}")
}

fn keys(what: &str, world: u32) -> Vec<String> {
    (0..world).map(|rank| key(what, rank)).collect()
}

/// What all ranks have to be told alike to understand each other at all. (Other models are found out
/// by their tensors, other seeds by the first step. Another minimum would be found by the first operation,
/// too, but there it is one of many numbers.)
fn kind(args: &TrainArgs) -> String {
    match args.mode {
        Method::Allreduce => {
            format!("--min-delivery {}, --mode {}", args.min_delivery, args.mode.name())
        }
        _ => format!("--mode {}, {}", args.mode.name(), Cast::new(args).words()),
    }
}

fn difference(rank: Rank, own: &str, all: &[impl AsRef<str>]) -> Option<String> {
    let other = all.iter().position(|theirs| theirs.as_ref() != own)?;
    Some(format!(
        "{rank} was told `{own}`, rank {other} `{}`: give all ranks the same --mode, --min-delivery, --ranks, \
         --replica, --scheduler and --aggregators",
        all[other].as_ref()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_told_with_both_sides() {
        let all = ["a", "a", "b"].map(str::to_owned);
        assert_eq!(difference(Rank::new(0), "a", &all[..2]), None);
        let why = difference(Rank::new(1), "a", &all).expect("the last differs");
        assert!(why.starts_with("rank 1 was told `a`, rank 2 `b`: give all"), "{why}");
        let why = difference(Rank::new(2), "b", &all).expect("it differs from the first");
        assert!(why.starts_with("rank 2 was told `b`, rank 0 `a`"), "{why}");
    }
}
