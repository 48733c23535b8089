//! Small real training jobs, to measure what loss and staleness do to convergence.
//!
//! **What it is.** Five models (matrix factorisation, a perceptron, a residual network, a
//! recurrent network, topics of documents) as functions of one flat vector of parameters; data that
//! is made from a seed, and loaders for well-known sets; rules for lost chunks ([`policy`]); and a
//! harness that trains with simulated workers whose chunks get lost. Everything is computed in a
//! fixed order with operations that IEEE 754 defines exactly: the same seed gives the same curve on
//! any machine and any number of threads.
//!
//! **What it is not.** Not a framework: models are as small as they can be while they still behave
//! like large ones, and run on a processor core in seconds. Nothing is sent here; the
//! transport's own losses are the business of other crates.
//!
//! ```
//! use laxity_interface::Fraction;
//! use laxity_learn::{Job, Loss, Setup, Size, train};
//!
//! let job = Job::new("mf", None, Size::Quick)?;
//! let lossless = train(&*job.model, &job.setup);
//! let lossy = Setup {
//!     policy: "mean+velocity".parse()?,
//!     loss: Loss::independent(Fraction::new(0.1)?),
//!     ..job.setup
//! };
//! let lossy = train(&*job.model, &lossy);
//! assert!((lossy.lost - 0.1).abs() < 0.02 && lossless.lost == 0.0);
//! println!("{:.1} points instead of {:.1}", lossy.score(), lossless.score());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod data;
mod harness;
mod math;
pub mod model;
mod optimise;
pub mod policy;

pub use harness::{
    Case, Curve, JOBS, Job, JobError, Loss, Mean, Part, PartError, Point, Scores, Setup, Size,
    compare, run_all, shuffled, train,
};
pub use model::{Evaluation, Layer, Layout, Model};
pub use optimise::{Schedule, Sgd, clip};
