//! The core that the thread of other traffic shares with hosts' programs.

use std::time::{Duration, Instant};

use super::share::Share;
use crate::host::sys;

/// Looked for work at most this often. The kernel takes in packets, answers them and sends on without the thread, so that
/// it has more to do at a time; woken for every packet it needed twice the processor time.
const BEAT: Duration = Duration::from_micros(250);

/// The calling thread's place on its core.
#[derive(Debug)]
pub(super) struct Core {
    since: Instant,
    /// When it looked for work last.
    looked: Instant,
    /// Nothing where programs have other cores, too: there they go to those.
    share: Option<Share>,
}

impl Core {
    /// Of a thread that stands before programs.
    pub(super) fn take() -> Self {
        let since = Instant::now();
        let alone = sys::cores().is_ok_and(|cores| cores.len() == 1);
        let share = alone.then(|| Share::new(since.elapsed(), sys::thread_time()));
        Self { since, looked: since, share }
    }

    /// To be called before looking for work.
    pub(super) fn look(&mut self) {
        let early = BEAT.saturating_sub(self.looked.elapsed());
        if !early.is_zero() {
            std::thread::sleep(early);
        }
        self.looked = Instant::now();
    }

    /// Leaves the core to others for as long as they have a right to it: to be called after each small piece of work.
    pub(super) fn let_others_in(&mut self) {
        let Some(share) = &mut self.share else { return };
        if let Some(pause) = share.pause(self.since.elapsed(), sys::thread_time()) {
            std::thread::sleep(pause);
        }
    }
}
