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

/// Takes part, if all ranks do the same kind of training: a rank that reduces has nothing to say to one
/// that serves a model, and both would wait for the other.
pub(super) fn join(args: &TrainArgs, settings: Settings) -> Result<Fabric> {
    let (rank, world, patience) = (settings.rank, settings.world, settings.patience);
    let fabric = Fabric::join(settings)
        .explain(format!("{rank} cannot take part"), "look at the messages of the other ranks")?;
    let own = kind(args);
    let others = told(&fabric, rank, world, &own, patience)
        .with_context(|| format!("{rank} asked what the others were told"))?;
    match difference(rank, &own, &others) {
        None => Ok(fabric),
        Some(what) => bail!(what),
    }
}

/// What all ranks have to be told alike to understand each other at all. (Other models are found out
/// by their tensors, other seeds by the first step.)
fn kind(args: &TrainArgs) -> String {
    match args.mode {
        Method::Allreduce => format!("--mode {}", args.mode.name()),
        _ => format!("--mode {}, {}", args.mode.name(), Cast::new(args).words()),
    }
}

/// What all ranks were told, this one included.
fn told(
    fabric: &Fabric,
    rank: Rank,
    world: u32,
    own: &str,
    patience: Duration,
) -> Result<Vec<String>> {
    let key = |rank: u32| format!("laxity/train/{rank}");
    let mut store = fabric.open_store()?;
    store.set(&key(rank.get()), own.as_bytes())?;
    let keys: Vec<String> = (0..world).map(key).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let all = store.wait(&keys, patience)?;
    Ok(all.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect())
}

fn difference(rank: Rank, own: &str, all: &[String]) -> Option<String> {
    let other = all.iter().position(|theirs| theirs != own)?;
    Some(format!(
        "{rank} was told `{own}`, rank {other} `{}`: give all ranks the same --mode, --ranks, --replica, \
         --scheduler and --aggregators",
        all[other]
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
