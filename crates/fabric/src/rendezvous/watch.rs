//! Hearing from the store who is gone.

use std::{
    io,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::client::{Departure, Farewell, News, Store, StoreError};
use crate::rank::Rank;

/// How long the store may take to answer a goodbye.
const PATIENCE: Duration = Duration::from_secs(2);

/// A thread that listens to the store until it is dropped.
#[derive(Debug)]
pub(crate) struct Watcher {
    thread: Option<JoinHandle<()>>,
    farewell: Farewell,
}

impl Watcher {
    /// Listens, and tells of every departure. `host` is the rank whose process the store lives in: when
    /// the store breaks off, it is gone.
    pub(crate) fn start(
        mut store: Store,
        host: Option<Rank>,
        tell: impl Fn(Departure) + Send + 'static,
    ) -> Result<Self, StoreError> {
        store.watch()?;
        let lost = |source: io::Error| StoreError::Lost { store: "this job".into(), source };
        let farewell = store.farewell().map_err(lost)?;
        let thread = std::thread::Builder::new().name("laxity-watch".into()).spawn(move || {
            loop {
                match store.hear_of() {
                    Ok(News::Gone(departure)) => tell(departure),
                    Ok(News::Farewell) => return,
                    Err(error) => {
                        if let Some(rank) = host {
                            let reason = format!("{rank} hosts the store: {error}");
                            tell(Departure { rank, left: false, reason });
                        }
                        return;
                    }
                }
            }
        });
        Ok(Self { thread: Some(thread.map_err(lost)?), farewell })
    }

    /// Tells the store that this rank goes in peace.
    pub(crate) fn leave(mut self) {
        if self.farewell.say().is_ok() {
            let deadline = Instant::now() + PATIENCE;
            let listening = |thread: &Option<JoinHandle<()>>| {
                thread.as_ref().is_some_and(|thread| !thread.is_finished())
            };
            while listening(&self.thread) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.farewell.hang_up();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed when it happened.
            let _ = thread.join();
        }
    }
}
