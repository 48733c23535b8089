//! What a model computes and exchanges: operations in execution order, with what they read and write.
//!
//! A [`Profile`] comes from a file ([`Profile::from_toml`], [`Profile::from_json`]), from a compact
//! table ([`Profile::from_table`]), from the profiles of others ([`import`]), or from inside this
//! crate ([`shipped`]).

pub mod import;
mod raw;
pub mod shipped;
mod table;

use laxity_interface::{Bytes, Span};

/// A computing device by what it really achieves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Device {
    /// Floating-point operations per second, where a multiplication with an addition counts two.
    pub flops_per_s: f64,
}

impl Device {
    /// One of the two GPUs of a Tesla K80, as a NC6 machine of the CadentFlow paper has it.
    ///
    /// TensorFlow's published benchmarks trained ResNet-50 with 49.5 and Inception v3 with 29.3
    /// images per second on one at batch size 32 (`tensorflow.org/performance/benchmarks`, Google
    /// Compute Engine, synthetic data). One image costs 20.7 and 34.3 GFLOP forward and backward, which
    /// is 1.02 and 1.01 TFLOP/s; rounded, 1.0.
    pub const K80: Self = Self { flops_per_s: 1.0e12 };

    /// How long this many operations take.
    pub fn time_for(&self, flops: u64) -> Span {
        Span::from_secs_f64(flops as f64 / self.flops_per_s)
    }
}

/// Which way through the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pass {
    /// From the input to the loss; parameters are read.
    Forward,
    /// From the loss to the input; gradients are written.
    Backward,
}

/// What an operation costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// As measured.
    Time(Span),
    /// Floating-point operations; a [`Device`] makes a time of them.
    Flops(u64),
}

/// A tensor that is learned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// What the model calls it.
    pub name: String,
    /// How large it is; its gradient is as large.
    pub size: Bytes,
}

/// One operation, or several that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What the model calls it.
    pub name: String,
    /// Which way it goes.
    pub pass: Pass,
    /// What it costs.
    pub cost: Cost,
    /// Parameters that must be there before it starts, as positions in [`Profile::parameters`].
    pub reads: Vec<usize>,
    /// Parameters whose gradients are ready when it ends.
    pub writes: Vec<usize>,
}

/// What a model computes and exchanges in one iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The name of the model.
    pub model: String,
    /// How many samples one iteration takes.
    pub batch: u32,
    /// Where the figures come from.
    pub source: String,
    /// What is learned.
    pub parameters: Vec<Parameter>,
    /// What is computed, in execution order: all forward steps before all backward ones.
    pub steps: Vec<Step>,
}

/// What can be wrong with a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The text cannot be read.
    #[error("the profile cannot be read: {reason}")]
    Text {
        /// What the parser says.
        reason: String,
    },
    /// A field makes no sense.
    #[error("{path}: {reason}")]
    Field {
        /// Which field, such as `operations[3].reads`.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A line of a table makes no sense.
    #[error("line {line}: {reason}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no such model inside.
    #[error("there is no model `{name}` inside; there are {known}")]
    Unknown {
        /// The name as given.
        name: String,
        /// The names that exist.
        known: String,
    },
}

impl Profile {
    /// All parameters together.
    pub fn size(&self) -> Bytes {
        self.parameters.iter().map(|parameter| parameter.size).sum()
    }

    /// How long a step takes.
    pub fn time_of(&self, step: &Step, device: &Device) -> Span {
        match step.cost {
            Cost::Time(span) => span,
            Cost::Flops(flops) => device.time_for(flops),
        }
    }

    /// How long all steps of a pass take.
    pub fn compute(&self, pass: Pass, device: &Device) -> Span {
        let own = self.steps.iter().filter(|step| step.pass == pass);
        own.map(|step| self.time_of(step, device)).sum()
    }

    /// The same model with another number of samples: measured times and operations in proportion.
    #[must_use]
    pub fn with_batch(mut self, batch: u32) -> Self {
        let factor = f64::from(batch.max(1)) / f64::from(self.batch.max(1));
        for step in &mut self.steps {
            step.cost = match step.cost {
                Cost::Time(span) => Cost::Time(span.mul_f64(factor)),
                Cost::Flops(flops) => Cost::Flops((flops as f64 * factor).round() as u64),
            };
        }
        self.batch = batch.max(1);
        self
    }

    /// Refuses what a training iteration could not use.
    fn check(self) -> Result<Self, ProfileError> {
        let field = |path: String, reason: String| Err(ProfileError::Field { path, reason });
        if self.steps.is_empty() {
            return field("operations".into(), "there are none: give at least one".into());
        }
        for (at, parameter) in self.parameters.iter().enumerate() {
            if parameter.size.is_zero() {
                let reason =
                    format!("`{}` has size 0: give it one or leave it out", parameter.name);
                return field(format!("parameters[{at}].size"), reason);
            }
        }
        let mut backward = false;
        for (at, step) in self.steps.iter().enumerate() {
            if backward && step.pass == Pass::Forward {
                let reason = format!("`{}` is forward, but comes after a backward one", step.name);
                return field(format!("operations[{at}].pass"), reason);
            }
            backward |= step.pass == Pass::Backward;
            if step.pass == Pass::Forward && !step.writes.is_empty() {
                let reason = format!("`{}` is forward: gradients are written backward", step.name);
                return field(format!("operations[{at}].writes"), reason);
            }
        }
        Ok(self)
    }
}
