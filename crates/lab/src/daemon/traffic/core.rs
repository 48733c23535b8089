//! The cores that threads of other traffic share with hosts' programs.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::share::Share;
use crate::host::sys;

/// Looked for work at most this often. The kernel takes in packets, answers them and sends on without the thread, so that
/// it has more to do at a time; woken for every packet it needed twice the processor time.
const BEAT: Duration = Duration::from_micros(250);

/// What all threads of other traffic may use together.
#[derive(Clone, Debug)]
pub(super) struct Cores {
    share: Arc<Mutex<Share>>,
    since: Instant,
}

impl Cores {
    /// Those that are not the switch's.
    pub(super) fn of_programs() -> Self {
        let cores = sys::cores_but_the_switchs().map_or(1, |cores| cores.len());
        Self { share: Arc::new(Mutex::new(Share::of(cores))), since: Instant::now() }
    }
}

/// A thread's place among them.
#[derive(Debug)]
pub(super) struct Core {
    cores: Cores,
    /// Processor time that this thread has used and told.
    told: Duration,
    /// When it looked for work last.
    looked: Instant,
}

impl Core {
    /// Of the calling thread, which stands before programs.
    pub(super) fn take(cores: &Cores) -> Self {
        Self { cores: cores.clone(), told: sys::thread_time(), looked: Instant::now() }
    }

    /// To be called before looking for work.
    pub(super) fn look(&mut self) {
        let early = BEAT.saturating_sub(self.looked.elapsed());
        if !early.is_zero() {
            std::thread::sleep(early);
        }
        self.looked = Instant::now();
    }

    /// Leaves the cores to others for as long as they have a right to them: to be called after each small piece of
    /// work.
    pub(super) fn let_others_in(&mut self) {
        let used = sys::thread_time();
        let spent = used.saturating_sub(std::mem::replace(&mut self.told, used));
        let pause = {
            let mut share = self.cores.share.lock().unwrap_or_else(PoisonError::into_inner);
            share.pause(self.cores.since.elapsed(), spent)
        };
        if let Some(pause) = pause {
            std::thread::sleep(pause);
        }
    }
}
