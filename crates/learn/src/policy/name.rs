//! Policies as words.

use std::{fmt, str::FromStr};

use thiserror::Error;

use super::{Feedback, Fill, Importance, Phase, Policy};

/// Why a policy's name is not one.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A part that nobody knows.
    #[error(
        "unknown part `{part}` of a policy; known are zero, mean, stale, trend, velocity, feedback, \
         halves, thirds, thresholds, smallest, layers, early, late, hadamard"
    )]
    Unknown {
        /// The part.
        part: String,
    },
    /// An option of feedback that is not one, or not in range.
    #[error(
        "`{option}` is no option of feedback; use age=N (1 to 8), decay=X (0 to 1), rate=X (0 to 1) or large"
    )]
    Option {
        /// The option.
        option: String,
    },
    /// Parts that cannot go together.
    #[error(
        "hadamard mixes all chunks, so none has an age or an importance of its own: leave out \
         hadamard or `{other}`"
    )]
    Mixed {
        /// The other part.
        other: String,
    },
}

const FILLS: [(&str, Fill); 4] =
    [("zero", Fill::Zero), ("mean", Fill::Mean), ("stale", Fill::Stale), ("trend", Fill::Trend)];
const IMPORTANCE: [(&str, Importance); 5] = [
    ("halves", Importance::Halves),
    ("thirds", Importance::Thirds),
    ("thresholds", Importance::Thresholds),
    ("smallest", Importance::Smallest),
    ("layers", Importance::Layers),
];
const PHASES: [(&str, Phase); 2] = [("early", Phase::Early), ("late", Phase::Late)];

fn by_name<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

fn name_of<T: PartialEq>(table: &[(&'static str, T)], value: &T) -> Option<&'static str> {
    table.iter().find(|(_, known)| known == value).map(|(name, _)| *name)
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(name: &str) -> Result<Self, PolicyError> {
        let mut policy = Self::default();
        for part in name.split('+') {
            let (word, options) = part.split_once(':').map_or((part, None), |(a, b)| (a, Some(b)));
            if word == "feedback" {
                policy.feedback = Some(feedback(options)?);
            } else if options.is_some() {
                return Err(PolicyError::Unknown { part: part.to_owned() });
            } else if let Some(fill) = by_name(&FILLS, word) {
                policy.fill = fill;
            } else if let Some(importance) = by_name(&IMPORTANCE, word) {
                policy.importance = importance;
            } else if let Some(phase) = by_name(&PHASES, word) {
                policy.phase = phase;
            } else if word == "velocity" {
                policy.velocity = true;
            } else if word == "hadamard" {
                policy.hadamard = true;
            } else {
                return Err(PolicyError::Unknown { part: part.to_owned() });
            }
        }
        let bound = |feedback: Feedback| match (feedback.age, feedback.large) {
            (Some(_), _) => Some("age"),
            (None, true) => Some("large"),
            (None, false) => None,
        };
        let importance = name_of(&IMPORTANCE, &policy.importance);
        match importance.or_else(|| policy.feedback.and_then(bound)) {
            Some(other) if policy.hadamard => Err(PolicyError::Mixed { other: other.to_owned() }),
            _ => Ok(policy),
        }
    }
}

fn feedback(options: Option<&str>) -> Result<Feedback, PolicyError> {
    let mut feedback = Feedback::default();
    for option in options.into_iter().flat_map(|options| options.split(':')) {
        let wrong = || PolicyError::Option { option: option.to_owned() };
        let share = |value: &str| {
            value.parse().ok().filter(|share| (0.0..=1.0).contains(share)).ok_or_else(wrong)
        };
        match option.split_once('=') {
            None if option == "large" => feedback.large = true,
            Some(("age", value)) => {
                let age = value.parse().ok().filter(|age| (1..=8).contains(age));
                feedback.age = Some(age.ok_or_else(wrong)?);
            }
            Some(("decay", value)) => feedback.decay = share(value)? as f32,
            Some(("rate", value)) => feedback.rate = share(value)?,
            _ => return Err(wrong()),
        }
    }
    Ok(feedback)
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name_of(&FILLS, &self.fill).expect("every fill has a name"))?;
        if self.velocity {
            f.write_str("+velocity")?;
        }
        if let Some(feedback) = self.feedback {
            f.write_str("+feedback")?;
            let plain = Feedback::default();
            if let Some(age) = feedback.age {
                write!(f, ":age={age}")?;
            }
            if feedback.decay != plain.decay {
                write!(f, ":decay={}", feedback.decay)?;
            }
            if feedback.rate != plain.rate {
                write!(f, ":rate={}", feedback.rate)?;
            }
            if feedback.large {
                f.write_str(":large")?;
            }
        }
        for name in [name_of(&IMPORTANCE, &self.importance), name_of(&PHASES, &self.phase)] {
            name.map_or(Ok(()), |name| write!(f, "+{name}"))?;
        }
        if self.hadamard { f.write_str("+hadamard") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_a_round_trip() {
        for name in [
            "zero",
            "mean+velocity",
            "stale+feedback",
            "trend+velocity+feedback:age=2:decay=0.25:rate=0.5:large+thirds+early",
            "zero+smallest+late",
            "mean+hadamard",
        ] {
            let policy: Policy = name.parse().expect("a policy");
            assert_eq!(policy.to_string(), name);
        }
        // What is left out is zero, and order does not matter.
        assert_eq!("early+layers".parse::<Policy>().unwrap().to_string(), "zero+layers+early");
    }

    #[test]
    fn wrong_names_are_refused_with_what_is_wrong() {
        let error = |name: &str| name.parse::<Policy>().unwrap_err().to_string();
        assert!(error("zero+nothing").contains("`nothing`"));
        assert!(error("zero:1").contains("`zero:1`"));
        for option in ["age=0", "age=9", "decay=2", "rate=x", "huge"] {
            assert!(error(&format!("feedback:{option}")).contains(option));
        }
        assert!(error("hadamard+thirds").contains("`thirds`"));
        assert!(error("hadamard+feedback:age=1").contains("`age`"));
    }
}
