//! Many trainings on several threads.

use std::{
    str::FromStr,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use thiserror::Error;

use super::{Curve, Job, Setup, train};

/// One training of a table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Case {
    /// Which of the jobs.
    pub job: usize,
    /// How it is trained.
    pub setup: Setup,
}

/// Trains all cases on this many threads and hands each result to `done` as it comes, one at a
/// time, with the number of its case. Results do not depend on the number of threads.
pub fn run_all(
    jobs: &[Job],
    cases: &[Case],
    threads: usize,
    done: impl FnMut(usize, Curve) + Send,
) {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(done));
    let worker = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(at) else { return };
            let curve = train(&*jobs[case.job].model, &case.setup);
            let mut done = done.lock().expect("nobody panicked while holding it");
            done(at, curve);
        }
    };
    std::thread::scope(|scope| {
        (0..threads.max(1)).for_each(|_| {
            scope.spawn(worker);
        });
    });
}

/// A part of a table, for one of several machines: `3/8` is the third of eight.
///
/// ```
/// let part: laxity_learn::Part = "2/3".parse()?;
/// let cases: Vec<_> = (0..8).filter(|case| part.has(*case)).collect();
/// assert_eq!(cases, [1, 4, 7]);
/// # Ok::<(), laxity_learn::PartError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    at: usize,
    of: usize,
}

impl Part {
    /// Everything.
    pub const WHOLE: Self = Self { at: 0, of: 1 };

    /// Whether the case with this number belongs to the part.
    pub fn has(self, case: usize) -> bool {
        case % self.of == self.at
    }
}

/// What is not a part.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{text}` is no part of a table; write 3/8 for the third of eight")]
pub struct PartError {
    text: String,
}

impl FromStr for Part {
    type Err = PartError;

    fn from_str(text: &str) -> Result<Self, PartError> {
        let numbers = text.split_once('/').and_then(|(at, of)| {
            let (at, of): (usize, usize) = (at.parse().ok()?, of.parse().ok()?);
            (1..=of).contains(&at).then(|| Self { at: at - 1, of })
        });
        numbers.ok_or_else(|| PartError { text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_everything_once() {
        let parts: Vec<Part> = (1..=3).map(|at| format!("{at}/3").parse().unwrap()).collect();
        for case in 0..20 {
            assert_eq!(parts.iter().filter(|part| part.has(case)).count(), 1);
        }
        for wrong in ["0/3", "4/3", "1", "a/b", "1/0"] {
            assert!(wrong.parse::<Part>().unwrap_err().to_string().contains(wrong));
        }
    }
}
