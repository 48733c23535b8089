//! Training with several workers in one process, with chunks that are lost on their way.

mod compare;
mod jobs;
mod loss;
mod table;
mod train;

pub use compare::{Mean, Scores, compare};
pub use jobs::{JOBS, Job, JobError, Size};
pub use loss::Loss;
pub use table::{Case, Part, PartError, run_all};
pub use train::{Curve, Point, Setup, shuffled, train};
