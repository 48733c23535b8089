//! What the ports of a switch share, in a file.

use laxity_interface::Bytes;
use toml::Spanned;

use super::{
    error::{FileError, Text},
    raw::RawSwitch,
};
use crate::SharedMemory;

/// What the ports of a switch share, if the file says so.
pub(super) fn shared_memory(
    text: Text<'_>,
    switch: &RawSwitch,
    total: Option<Bytes>,
    share: Option<f64>,
) -> Result<Option<SharedMemory>, FileError> {
    let place = |field: Option<std::ops::Range<usize>>| field.unwrap_or(0..0);
    let at_share = place(switch.share.as_ref().map(Spanned::span));
    let Some(total) = total else {
        let reason = "there is nothing to share: give `memory`, what may wait in a whole switch";
        let wrong = text.wrong(at_share, "switch.share", reason);
        return share.map_or(Ok(None), |_| Err(wrong));
    };
    if total < Bytes::new(1518) {
        let at = place(switch.memory.as_ref().map(Spanned::span));
        let reason = format!("{total} hold no full packet: give at least 1518B");
        return Err(text.wrong(at, "switch.memory", reason));
    }
    let share = share.unwrap_or(1.0);
    if !share.is_finite() || share <= 0.0 {
        let reason = format!("a queue may hold {share} times what is free: give a number above 0");
        return Err(text.wrong(at_share, "switch.share", reason));
    }
    Ok(Some(SharedMemory { total, share }))
}
