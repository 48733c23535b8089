//! Waiting for the endpoint without being deaf to signals and blind to progress.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::Thread,
    time::Duration,
};

use anyhow::Result;

/// How often progress is shown and signals are looked for.
pub(crate) const TICK: Duration = Duration::from_millis(100);

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for `future`; calls `tick` several times a second meanwhile, and gives up when that fails.
pub(crate) fn wait_for<F: Future + Unpin>(
    mut future: F,
    mut tick: impl FnMut(&F) -> Result<()>,
) -> Result<F::Output> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = Pin::new(&mut future).poll(&mut context) {
            return Ok(output);
        }
        tick(&future)?;
        std::thread::park_timeout(TICK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_tick_ends_the_wait() {
        let mut ticks = 0;
        let outcome = wait_for(std::future::pending::<()>(), |_| {
            ticks += 1;
            if ticks == 3 { anyhow::bail!("enough") } else { Ok(()) }
        });
        assert_eq!(outcome.unwrap_err().to_string(), "enough");
        assert_eq!(wait_for(std::future::ready(7), |_| Ok(())).unwrap(), 7);
    }
}
