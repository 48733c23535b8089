//! Trainings by name: a model, its data, and the settings that suit it without loss.

use std::{path::Path, sync::Arc};

use laxity_interface::Fraction;
use thiserror::Error;

use super::{Loss, Setup};
use crate::data::{Images, Split, files, files::LoadError, made};
use crate::model::{Cnn, Factorisation, Lstm, Mlp, Model, Topics};
use crate::optimise::Schedule;
use crate::policy::Policy;

/// Seed of sets that are made. The data of a job is always the same; seeds of a training choose
/// start, order and losses.
const DATA: u64 = 1;

/// Names of all jobs: a model, and the set it learns from if that comes from files.
pub const JOBS: [&str; 12] = [
    "mlp",
    "cnn",
    "lstm",
    "mf",
    "lda",
    "mlp-mnist",
    "mlp-fashion",
    "cnn-fashion",
    "cnn-cifar",
    "lstm-shakespeare",
    "mf-movielens",
    "lda-kos",
];

/// How long a job trains.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Size {
    /// A few dozen steps, to see that everything works. It says nothing about policies.
    Quick,
    /// The size that tables are made with.
    #[default]
    Full,
}

/// A training by name.
pub struct Job {
    /// Its name.
    pub name: String,
    /// The model with its data.
    pub model: Box<dyn Model>,
    /// How it is trained without loss, by the policy `zero`.
    pub setup: Setup,
}

/// Why a job could not be set up.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JobError {
    /// No job has this name.
    #[error("unknown job `{name}`; known are {}", JOBS.join(", "))]
    Unknown {
        /// The name.
        name: String,
    },
    /// The job needs files and no folder was given.
    #[error("job `{name}` learns from files: give the folder that holds `{folder}` (--data)")]
    NoFolder {
        /// The job.
        name: String,
        /// Where its files would be, in the folder.
        folder: &'static str,
    },
    /// Its files could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl Job {
    /// The job with this name; `data` is the folder with sets of files, one folder each:
    /// `mnist`, `fashion_mnist`, `cifar10`, `tinyshakespeare`, `movielens`, `bow_kos`.
    pub fn new(name: &str, data: Option<&Path>, size: Size) -> Result<Self, JobError> {
        let folder = |folder: &'static str| {
            let none = || JobError::NoFolder { name: name.to_owned(), folder };
            data.map(|data| data.join(folder)).ok_or_else(none)
        };
        let quick = size == Size::Quick;
        let epochs = |full: usize| if quick { 2 } else { full };
        let some = |full: usize| if quick { full / 8 } else { full };
        let base = Setup {
            workers: 8,
            batch: if quick { 4 } else { 16 },
            epochs: epochs(10),
            chunk: 350,
            schedule: Schedule::Cosine(0.1),
            momentum: 0.9,
            decay: 5e-4,
            clip: None,
            delay: 0,
            policy: Policy::default(),
            loss: Loss::independent(Fraction::ZERO),
            seed: 1,
        };
        let mlp = |images, hidden: &[usize], rate: f64| -> (Box<dyn Model>, Setup) {
            let setup = Setup { schedule: Schedule::Cosine(rate), ..base };
            (Box::new(Mlp::new(Arc::new(images), hidden)), setup)
        };
        let cnn = |images, rate: f64| -> (Box<dyn Model>, Setup) {
            let batch = if quick { 1 } else { 4 };
            let setup = Setup { batch, schedule: Schedule::Cosine(rate), ..base };
            (Box::new(Cnn::new(Arc::new(images), 8, 1)), setup)
        };
        let lstm = |text| -> (Box<dyn Model>, Setup) {
            let setup = Setup {
                batch: 4,
                epochs: epochs(4),
                schedule: Schedule::Cosine(2.0),
                decay: 0.0,
                clip: Some(1.0),
                ..base
            };
            (Box::new(Lstm::new(Arc::new(text), 64, 32)), setup)
        };
        let mf = |ratings| -> (Box<dyn Model>, Setup) {
            let setup = Setup {
                batch: 128,
                epochs: epochs(20),
                schedule: Schedule::Cosine(15.0),
                decay: 0.0,
                ..base
            };
            (Box::new(Factorisation::new(Arc::new(ratings), 8, 0.05)), setup)
        };
        let lda = |documents, topics| -> (Box<dyn Model>, Setup) {
            let setup = Setup {
                batch: 16,
                epochs: epochs(6),
                schedule: Schedule::Cosine(0.5),
                momentum: 0.0,
                decay: 0.0,
                ..base
            };
            (Box::new(Topics::new(Arc::new(documents), topics)), setup)
        };
        let (model, setup) = match name {
            "mlp" => mlp(made::strokes(DATA, some(5000), some(3000)), &[128, 64], 0.05),
            "cnn" => cnn(made::strokes(DATA, some(10_000), some(6000)), 0.05),
            "lstm" => lstm(made::text(DATA, some(200_000))),
            "mf" => mf(made::ratings(DATA, 600, 800, some(60_000))),
            "lda" => lda(made::documents(DATA, some(2000), 1000, 10), 10),
            "mlp-mnist" => mlp(
                some_of(files::digits(&folder("mnist")?)?, some(6000), some(4000)),
                &[128, 64],
                0.05,
            ),
            "mlp-fashion" => mlp(
                some_of(files::digits(&folder("fashion_mnist")?)?, some(6000), some(4000)),
                &[128, 64],
                0.05,
            ),
            "cnn-fashion" => cnn(
                some_of(files::digits(&folder("fashion_mnist")?)?, some(6000), some(4000)),
                0.05,
            ),
            "cnn-cifar" => {
                cnn(some_of(files::cifar(&folder("cifar10")?)?, some(8000), some(4000)), 0.05)
            }
            "lstm-shakespeare" => {
                let mut text = files::shakespeare(&folder("tinyshakespeare")?)?;
                text.train.codes.truncate(some(200_000));
                text.test.codes.truncate(some(40_000));
                lstm(text)
            }
            "mf-movielens" => mf(files::movielens(&folder("movielens")?)?),
            "lda-kos" => lda(files::words(&folder("bow_kos")?)?, 20),
            _ => return Err(JobError::Unknown { name: name.to_owned() }),
        };
        Ok(Self { name: name.to_owned(), model, setup })
    }
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("name", &self.name).finish_non_exhaustive()
    }
}

fn some_of(mut images: Split<Images>, train: usize, test: usize) -> Split<Images> {
    images.train.truncate(train);
    images.test.truncate(test);
    images
}
