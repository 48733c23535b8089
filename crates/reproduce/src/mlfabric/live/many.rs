//! Many trainings on all cores.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use crate::{error::ReproduceError, options::Options};

/// Does `work` for each item, on as many threads as there are cores; results are in the order of items.
pub(in crate::mlfabric) fn each<T: Sync, R: Send>(
    options: &Options,
    what: &str,
    items: &[T],
    work: impl Fn(&T) -> Result<R, ReproduceError> + Sync,
) -> Result<Vec<R>, ReproduceError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(items.len());
    let (next, done) = (AtomicUsize::new(0), Mutex::new(0));
    let results: Vec<Mutex<Option<Result<R, ReproduceError>>>> =
        items.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { return };
                    let result = work(item);
                    *results[at].lock().expect("one writer each") = Some(result);
                    let mut done = done.lock().expect("nobody panics while counting");
                    *done += 1;
                    options.progress.tell(what, *done, items.len() as u64);
                }
            });
        }
    });
    let taken = results.into_iter().map(|one| one.into_inner().expect("threads have ended"));
    taken.map(|one| one.expect("every item was worked on")).collect()
}
