//! How large flows and messages are: published distributions, drawn by their inverse.
//!
//! ```
//! use laxity_packetsim::{Chance, sizes::Sizes};
//! let sizes: Sizes = "web-search".parse()?;
//! assert_eq!(sizes.mean().round(), 1_711_250.0);
//! let mut chance = Chance::new(1, "sizes", 0);
//! assert!((1..=30_000_000).contains(&sizes.sample(&mut chance)));
//! # Ok::<(), laxity_packetsim::sizes::UnknownSizes>(())
//! ```

mod key_value;
mod pareto;
mod table;

use std::{fmt, str::FromStr, sync::Arc};

use laxity_interface::{Bytes, Span};

use crate::chance::Chance;

pub use key_value::KeyValue;
pub use pareto::{ExtremeValue, Pareto};
pub use table::{Table, TableError};

/// Tables that are inside: name and text.
const SHIPPED: &[(&str, &str)] = &[
    ("web-search", include_str!("tables/web-search.csv")),
    ("data-mining", include_str!("tables/data-mining.csv")),
    ("fbhd", include_str!("tables/fbhd.csv")),
    ("fb-cache", include_str!("tables/fb-cache.csv")),
    ("fb-web", include_str!("tables/fb-web.csv")),
    ("google-rpc", include_str!("tables/google-rpc.csv")),
    ("ali-storage", include_str!("tables/ali-storage.csv")),
];

/// A distribution of sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// All alike.
    Fixed(Bytes),
    /// Keys and values of a cache: `fbkv`.
    KeyValue,
    /// Points of a distribution, by a name.
    Table {
        /// What it is called.
        name: Arc<str>,
        /// The points.
        table: Arc<Table>,
    },
}

/// There is no such distribution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are no sizes `{name}`: write a size like `64KB`, or one of {known}")]
pub struct UnknownSizes {
    /// What was asked for.
    pub name: String,
    /// What there is.
    pub known: String,
}

impl Sizes {
    /// Names of all distributions that are inside.
    pub fn names() -> impl Iterator<Item = &'static str> {
        std::iter::once("fbkv").chain(SHIPPED.iter().map(|(name, _)| *name))
    }

    /// Draws a size in bytes; at least 1.
    pub fn sample(&self, chance: &mut Chance) -> u32 {
        let drawn = match self {
            Self::Fixed(size) => return u32::try_from(size.get()).unwrap_or(u32::MAX).max(1),
            Self::KeyValue => KeyValue::ETC.sample(chance),
            Self::Table { table, .. } => table.quantile(chance.uniform()),
        };
        (drawn.round() as u32).max(1)
    }

    /// The mean in bytes, in closed form (before sizes are rounded to whole bytes).
    pub fn mean(&self) -> f64 {
        match self {
            Self::Fixed(size) => size.get() as f64,
            Self::KeyValue => KeyValue::ETC.mean(),
            Self::Table { table, .. } => table.mean(),
        }
    }

    /// The time from one message of a source to the next, where the study says it.
    pub fn interval(&self, chance: &mut Chance) -> Option<Span> {
        match self {
            Self::KeyValue => Some(KeyValue::ETC.interval(chance)),
            Self::Fixed(_) | Self::Table { .. } => None,
        }
    }
}

impl FromStr for Sizes {
    type Err = UnknownSizes;

    fn from_str(text: &str) -> Result<Self, UnknownSizes> {
        if text == "fbkv" {
            return Ok(Self::KeyValue);
        }
        if let Some((name, points)) = SHIPPED.iter().find(|(name, _)| *name == text) {
            let table = Table::from_csv(points).expect("a test reads every table that is inside");
            return Ok(Self::Table { name: (*name).into(), table: table.into() });
        }
        text.parse().map(Self::Fixed).map_err(|_| UnknownSizes {
            name: text.to_owned(),
            known: Self::names().collect::<Vec<_>>().join(", "),
        })
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(size) => size.fmt(f),
            Self::KeyValue => f.write_str("fbkv"),
            Self::Table { name, .. } => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means and quantiles of what is drawn, against the distribution itself.
    #[test]
    fn what_is_drawn_is_what_the_table_says() {
        for name in Sizes::names() {
            let sizes: Sizes = name.parse().unwrap();
            let mut chance = Chance::new(11, name, 0);
            let mut drawn: Vec<_> = (0..200_000).map(|_| sizes.sample(&mut chance)).collect();
            let n = drawn.len() as f64;
            let mean = drawn.iter().map(|x| f64::from(*x)).sum::<f64>() / n;
            let var = drawn.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / n;
            // Five standard errors, and the rounding to whole bytes.
            let error = 5.0 * (var / n).sqrt() + 0.5;
            assert!((mean - sizes.mean()).abs() < error, "{name}: {mean} for {}", sizes.mean());
            drawn.sort_unstable();
            let Sizes::Table { table, .. } = &sizes else { continue };
            for part in [0.1, 0.25, 0.5, 0.9, 0.99] {
                // So many are at most the quantile, within five standard deviations.
                let at = table.quantile(part);
                let below = drawn.partition_point(|x| f64::from(*x) <= at + 0.5) as f64 / n;
                let least = part - 5.0 * (part * (1.0 - part) / n).sqrt();
                assert!(below >= least, "{name}, {part}: {below}");
                let below = drawn.partition_point(|x| f64::from(*x) < at - 0.5) as f64 / n;
                let most = part + 5.0 * (part * (1.0 - part) / n).sqrt();
                assert!(below <= most, "{name}, {part}: {below}");
            }
        }
    }

    #[test]
    fn names_are_read_back() {
        for name in Sizes::names() {
            let sizes: Sizes = name.parse().unwrap();
            assert_eq!(sizes.to_string(), name);
        }
        assert_eq!("64KB".parse(), Ok(Sizes::Fixed(Bytes::new(64_000))));
        let error = "wibsearch".parse::<Sizes>().unwrap_err().to_string();
        assert!(error.contains("web-search") && error.contains("wibsearch"), "{error}");
    }

    #[test]
    fn only_the_study_of_the_cache_says_intervals() {
        let mut chance = Chance::new(1, "x", 0);
        assert!(Sizes::KeyValue.interval(&mut chance).is_some());
        assert!(Sizes::Fixed(Bytes::new(1)).interval(&mut chance).is_none());
    }
}
