//! Jobs of messages, as programs send them: one after the other, as they arrive.

use std::io::Write;

use anyhow::{Context, Result, anyhow};
use indicatif::ProgressBar;
use laxity_endpoint::{DeliveryReport, Incoming, ResetCode};

use crate::{failure::Explain, sys::signal, wait::TICK};

/// Writes messages to `out`; returns how many bytes they had.
pub(crate) fn receive(
    mut job: Incoming,
    mut out: impl Write,
    max_bytes: u64,
    bar: &ProgressBar,
) -> Result<(u64, DeliveryReport)> {
    let mut bytes = 0;
    loop {
        // Whether it was over is asked before looking: what came until then is still handed out.
        let over = job.is_finished();
        match job.next_message(Some(TICK)) {
            Some(message) => {
                bytes += message.bytes.len() as u64;
                if bytes > max_bytes {
                    job.refuse(ResetCode::TooLarge);
                    return Err(anyhow!("its messages have more than {max_bytes} bytes"))
                        .explain("the transfer is too large", "raise --max-bytes");
                }
                out.write_all(&message.bytes).context("cannot write a message")?;
                bar.set_position(bytes);
            }
            None if over => return Ok((bytes, job.receive()?.report)),
            None => signal::check()?,
        }
    }
}
