//! What `bench allreduce` and its ranks say to each other, one line of JSON each.

use laxity_interface::{Fraction, Rate};
use serde::{Deserialize, Serialize};

use super::args::Scheme;

/// What a rank is told.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Order {
    /// Meet the others, once for each scheme.
    Join(Join),
    /// Reduce once, by the scheme at this place of the list.
    Reduce {
        scheme: usize,
        /// When to begin: nanoseconds of CLOCK_MONOTONIC.
        start_ns: u64,
    },
    /// See whether the last result is right.
    Check,
    /// It is over: say goodbye.
    Leave,
}

/// How to meet the others.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Join {
    pub(super) rank: u32,
    pub(super) world: u32,
    /// Host of the stores; the scheme at place k has its own at port `port` + k.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) key: [u8; 32],
    pub(super) schemes: Vec<Contender>,
    pub(super) elements: usize,
    /// What Laxity is told of the interface.
    pub(super) line_rate: Option<Rate>,
    pub(super) limit_ms: u64,
}

/// Who takes part.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Contender {
    #[serde(with = "scheme_name")]
    pub(super) scheme: Scheme,
    pub(super) min_delivery: Fraction,
}

/// What a rank tells.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Event {
    /// All have met, for every scheme.
    Joined,
    /// It has its result.
    Reduced(Reduced),
    /// The result is right.
    Checked,
    /// It cannot go on.
    Failed { why: String },
}

/// One all-reduce, as one rank saw it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Reduced {
    /// When the result was there: nanoseconds of CLOCK_MONOTONIC.
    pub(super) end_ns: u64,
    /// The least that arrived of any contribution, and the mean.
    pub(super) delivered_min: f64,
    pub(super) delivered_mean: f64,
    /// Processor time of this rank's process.
    pub(super) cpu_s: f64,
}

/// Schemes by their names.
mod scheme_name {
    use clap::ValueEnum;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use super::Scheme;

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
    pub(super) fn serialize<S: Serializer>(scheme: &Scheme, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(scheme.name())
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Scheme, D::Error> {
        let name = String::deserialize(from)?;
        Scheme::from_str(&name, false).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_survive_the_way() {
        let order = Order::Join(Join {
            rank: 3,
            world: 8,
            host: "198.18.0.1".into(),
            port: 29_500,
            key: [7; 32],
            schemes: vec![Contender { scheme: Scheme::HalvingCubic, min_delivery: Fraction::ONE }],
            elements: 10,
            line_rate: None,
            limit_ms: 5,
        });
        let line = serde_json::to_string(&order).unwrap();
        assert!(line.contains("halving-cubic") && !line.contains('\n'), "{line}");
        assert_eq!(serde_json::from_str::<Order>(&line).unwrap(), order);
    }
}
