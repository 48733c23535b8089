//! Changes at their times.

use std::{io, sync::Arc};

use laxity_interface::Time;

use super::Shared;

/// Starts the thread that makes them; it ends with the process.
pub(super) fn start(shared: &Arc<Shared>) -> io::Result<()> {
    if shared.network.changes.is_empty() {
        return Ok(());
    }
    let shared = Arc::clone(shared);
    let thread = std::thread::Builder::new().name("laxity-changes".into());
    thread.spawn(move || {
        for change in &shared.network.changes {
            let due = shared.started + change.at.since(Time::ZERO).to_std();
            std::thread::sleep(due.saturating_duration_since(std::time::Instant::now()));
            for what in &change.what {
                shared.engine.change(*what);
            }
        }
    })?;
    Ok(())
}
