//! Times between the messages of a flow.

use std::{fmt, str::FromStr};

use laxity_interface::{Rate, Span};

use crate::{chance::Chance, flow::Ready, sizes::KeyValue};

/// How the application produces the messages of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Gaps {
    /// All messages are there when the flow starts.
    #[default]
    AtOnce,
    /// The first is there when it starts, each other so long after the one before it.
    OneByOne {
        /// How irregular the times between them are.
        shape: GapShape,
        /// Their mean.
        mean: Span,
    },
}

/// How irregular the times between messages are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapShape {
    /// All alike.
    Even,
    /// As if messages knew nothing of each other.
    Exponential,
    /// As at a server of Facebook's memcached pool ETC: a generalized Pareto distribution with shape
    /// 0.154971 (Atikoglu et al., SIGMETRICS 2012).
    KeyValue,
}

/// Gaps as people write them: the way they are spread, or one time for all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GapSpec {
    /// There are none.
    AtOnce,
    /// All are this long.
    Fixed(Span),
    /// They are drawn; how long they are follows from a load.
    Drawn(GapShape),
}

impl GapShape {
    /// One gap, where their mean is 1.
    fn draw(self, chance: &mut Chance) -> f64 {
        match self {
            Self::Even => 1.0,
            Self::Exponential => chance.exponential(),
            Self::KeyValue => {
                let gaps = KeyValue::ETC.interval_us;
                gaps.sample(chance) / gaps.mean()
            }
        }
    }

    /// The mean gap that its study measured.
    pub fn published(self) -> Option<Span> {
        (self == Self::KeyValue).then(|| KeyValue::ETC.mean_interval())
    }
}

impl Gaps {
    /// The mean gap with which messages of this many bytes in the mean take a part of a line.
    pub fn mean_at(load: f64, line: Rate, bytes: f64) -> Span {
        Span::from_ps((bytes * 8e12 / (load * line.as_bps() as f64)).round() as u64)
    }

    /// What it means, in a sentence; `None` where all messages are there at the start.
    pub fn in_words(self) -> Option<String> {
        let Self::OneByOne { shape, mean } = self else { return None };
        Some(match shape {
            GapShape::Even => format!("its messages become ready one by one, {mean} apart"),
            shape => format!(
                "its messages become ready one by one, {mean} apart in the mean (drawn: {shape})"
            ),
        })
    }

    /// Draws the times of so many messages.
    pub fn draw(self, messages: u32, chance: &mut Chance) -> Ready {
        let Self::OneByOne { shape, mean } = self else { return Ready::AtOnce };
        let mut at = 0.0;
        let mut next = || {
            let now = at;
            at += shape.draw(chance) * mean.as_ps() as f64;
            Span::from_ps(now.round() as u64)
        };
        Ready::Each((0..messages).map(|_| next()).collect())
    }
}

impl fmt::Display for GapShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Even => "even",
            Self::Exponential => "exponential",
            Self::KeyValue => "fbkv",
        })
    }
}

impl fmt::Display for GapSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtOnce => f.write_str("at-once"),
            Self::Fixed(gap) => gap.fmt(f),
            Self::Drawn(shape) => shape.fmt(f),
        }
    }
}

/// There are no such gaps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there are no gaps `{text}`: write a time like `20us`, or one of at-once, even, exponential, fbkv"
)]
pub struct UnknownGaps {
    /// What was asked for.
    pub text: String,
}

impl FromStr for GapSpec {
    type Err = UnknownGaps;

    fn from_str(text: &str) -> Result<Self, UnknownGaps> {
        let named = [Self::AtOnce]
            .into_iter()
            .chain([GapShape::Even, GapShape::Exponential, GapShape::KeyValue].map(Self::Drawn))
            .find(|spec| spec.to_string() == text);
        let unknown = |_| UnknownGaps { text: text.to_owned() };
        named.map_or_else(|| text.parse().map(Self::Fixed).map_err(unknown), Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps_of(shape: GapShape) -> Vec<f64> {
        let gaps = Gaps::OneByOne { shape, mean: Span::from_ns(500) };
        let Ready::Each(times) = gaps.draw(200_001, &mut Chance::new(3, "gaps", 0)) else {
            panic!("one by one")
        };
        assert_eq!(times[0], Span::ZERO);
        assert!(times.is_sorted());
        times.windows(2).map(|pair| (pair[1] - pair[0]).as_ps() as f64 / 500e3).collect()
    }

    #[test]
    fn gaps_have_the_mean_and_the_spread_of_their_distribution() {
        // Standard deviations over the mean: 0; 1; for a generalized Pareto 1/√(1 − 2k).
        let pareto = (1.0f64 - 2.0 * 0.154_971).sqrt().recip();
        for (shape, deviation) in
            [(GapShape::Even, 0.0), (GapShape::Exponential, 1.0), (GapShape::KeyValue, pareto)]
        {
            let gaps = gaps_of(shape);
            let n = gaps.len() as f64;
            let mean = gaps.iter().sum::<f64>() / n;
            let var = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n;
            // Five standard errors of the mean; the deviation of a heavy tail is not known so well.
            assert!((mean - 1.0).abs() < 5.0 * deviation / n.sqrt() + 1e-5, "{shape}: {mean}");
            assert!((var.sqrt() - deviation).abs() < 0.05, "{shape}: {}", var.sqrt());
        }
    }

    #[test]
    fn quantiles_of_the_study() {
        // The inverse of the distribution: σ/k ((1 − p)^−k − 1), over its mean σ/(1 − k).
        let mut gaps = gaps_of(GapShape::KeyValue);
        gaps.sort_by(f64::total_cmp);
        for part in [0.1, 0.5, 0.9, 0.99] {
            let (k, part): (f64, f64) = (0.154_971, part);
            let known = (1.0 - k) / k * ((1.0 - part).powf(-k) - 1.0);
            let found = gaps[(part * gaps.len() as f64) as usize];
            assert!((found / known - 1.0).abs() < 0.03, "{part}: {found} for {known}");
        }
    }

    #[test]
    fn a_load_is_a_part_of_the_line() {
        // 1000 bytes at half of 8 Gbit/s: every 2 us.
        assert_eq!(Gaps::mean_at(0.5, Rate::from_gbps(8), 1000.0), Span::from_us(2));
    }

    #[test]
    fn names_come_back_and_others_say_what_there_is() {
        for text in ["at-once", "even", "exponential", "fbkv", "20us"] {
            assert_eq!(text.parse::<GapSpec>().unwrap().to_string(), text);
        }
        let error = "often".parse::<GapSpec>().unwrap_err().to_string();
        assert!(error.contains("`often`") && error.contains("20us") && error.contains("fbkv"));
    }
}
