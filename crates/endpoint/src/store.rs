//! Memory that is used again.
//!
//! A training receives tensors of the same sizes step after step. Memory that is new each time has to be
//! handed out by the operating system page by page, and set to zero; together that took as long as
//! copying the payload there.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, LazyLock, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use crate::element::Buffer;

/// What is smaller costs nothing worth keeping it for.
const SMALL: usize = 64 << 10;
/// Memory that nobody has used for this long goes back.
const REST: Duration = Duration::from_secs(10);
/// What is kept at most.
const LIMIT: usize = 512 << 20;

/// Lends [`Buffer`]s and keeps their memory for the next ones when they are dropped: at most as much as was
/// lent at once, and 512 MiB; what was not used for ten seconds goes back to the operating system
/// the next time that the store is touched.
///
/// ```
/// let store = laxity_endpoint::Store::default();
/// let first = store.lend(1 << 20);
/// let place = first.bytes().as_ptr();
/// drop(first);
/// assert_eq!(store.kept(), 1 << 20);
/// assert_eq!(store.lend(1 << 20).bytes().as_ptr(), place);
/// ```
#[derive(Clone, Default)]
pub struct Store {
    shelf: Arc<Mutex<Shelf>>,
}

#[derive(Default)]
struct Shelf {
    /// Oldest first.
    free: VecDeque<(Instant, Vec<u64>)>,
    bytes: usize,
}

impl Store {
    /// The store of the whole process, from which endpoints and collectives have their memory.
    pub fn global() -> &'static Self {
        static GLOBAL: LazyLock<Store> = LazyLock::new(Store::default);
        &GLOBAL
    }

    /// Memory of `length` bytes, whose content is not specified: somebody else's numbers may be there.
    pub fn lend(&self, length: usize) -> Buffer {
        if length < SMALL {
            return Buffer::zeroed(length);
        }
        let words = self.shelf().take(length.div_ceil(8));
        let words = words.unwrap_or_else(|| vec![0; length.div_ceil(8)]);
        Buffer::lent(words, length, self.clone())
    }

    /// A copy of `bytes`.
    pub fn copy(&self, bytes: &[u8]) -> Buffer {
        let mut buffer = self.lend(bytes.len());
        buffer.bytes_mut().copy_from_slice(bytes);
        buffer
    }

    /// Bytes that wait to be used again.
    pub fn kept(&self) -> usize {
        self.shelf().bytes
    }

    /// Lets go of what was not used for a while.
    pub fn tidy(&self, now: Instant) {
        self.shelf().tidy(now);
    }

    pub(crate) fn give_back(&self, words: Vec<u64>) {
        let now = Instant::now();
        let mut shelf = self.shelf();
        shelf.tidy(now);
        shelf.put(now, words);
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        // Nothing that is done under this lock can be left half done.
        self.shelf.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Shelf {
    /// The tightest fit that wastes no more than half; of equals the one that was used last, which
    /// may still be in a cache.
    fn take(&mut self, words: usize) -> Option<Vec<u64>> {
        let fits = |free: &Vec<u64>| free.len() >= words && free.len() / 2 <= words;
        let candidates = self.free.iter().enumerate().rev().filter(|(_, (_, free))| fits(free));
        let (at, _) = candidates.min_by_key(|(_, (_, free))| free.len())?;
        let (_, taken) = self.free.remove(at)?;
        self.bytes -= taken.len() * 8;
        Some(taken)
    }

    fn put(&mut self, now: Instant, words: Vec<u64>) {
        self.bytes += words.len() * 8;
        self.free.push_back((now, words));
        while self.bytes > LIMIT {
            self.drop_oldest();
        }
    }

    fn tidy(&mut self, now: Instant) {
        while self.free.front().is_some_and(|(since, _)| now.duration_since(*since) > REST) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((_, words)) = self.free.pop_front() {
            self.bytes -= words.len() * 8;
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({} bytes kept)", self.kept())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_where_it_fits() {
        let store = Store::default();
        let (large, small) = (store.lend(4 << 20), store.lend(1 << 20));
        let at = [large.bytes().as_ptr(), small.bytes().as_ptr()];
        drop((large, small));
        assert_eq!(store.kept(), 5 << 20);
        let fits = store.lend((1 << 20) - 8);
        assert_eq!(fits.bytes().as_ptr(), at[1], "the tighter of the two that fit");
        assert_eq!(fits.bytes().len(), (1 << 20) - 8);
        let wasteful = store.lend(1 << 20);
        assert_ne!(wasteful.bytes().as_ptr(), at[0], "a quarter of it is too little");
        assert_eq!(store.kept(), 4 << 20);
    }

    #[test]
    fn what_is_kept_is_bounded_in_bytes_and_time() {
        let store = Store::default();
        let many: Vec<_> = (0..9).map(|_| store.lend(64 << 20)).collect();
        drop(many);
        assert_eq!(store.kept(), LIMIT);
        store.tidy(Instant::now());
        assert_eq!(store.kept(), LIMIT, "it was used just now");
        store.tidy(Instant::now() + REST + Duration::from_secs(1));
        assert_eq!(store.kept(), 0);
        drop(store.lend(SMALL - 1));
        assert_eq!(store.kept(), 0, "small ones are not worth it");
    }

    #[test]
    fn a_copy_has_its_own_memory() {
        let store = Store::default();
        let first = store.copy(&vec![7; SMALL]);
        let second = first.clone();
        drop(first);
        assert_eq!(store.lend(SMALL).bytes()[0], 7, "what was there before is still there");
        assert!(second.bytes().iter().all(|byte| *byte == 7));
    }
}
