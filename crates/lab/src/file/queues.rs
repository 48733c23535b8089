//! Queues of ports, from their names in a file to what a switch has.

use laxity_interface::{Bytes, Layout};
use laxity_switch::{Limit, MARK_PACKETS, MAX_QUEUES, QueueConfig, QueueLayout};

use super::{
    check::DEFAULT_MTU,
    error::{FileError, wrong},
    raw::{QueueKind, RawLab, RawQueues},
    text::Amount,
};

/// What a port holds where nobody says: about 2 ms at 1 Gbit/s.
const DEFAULT_BUFFER: Bytes = Bytes::from_kib(256);

/// Checks all entries, also those that no link uses.
pub(super) fn check_all(raw: &RawLab) -> Result<(), FileError> {
    let mtus = raw.hosts.iter().filter_map(|host| host.link.mtu.or(raw.link.mtu));
    let least = mtus.min().unwrap_or(DEFAULT_MTU).min(DEFAULT_MTU);
    for (name, queues) in &raw.queues {
        entry(queues, least, &format!("queues.{name}"))?;
    }
    Ok(())
}

/// The layout of this name, for a port that carries packets of this size.
pub(super) fn layout(
    raw: &RawLab,
    name: Option<&str>,
    mtu: u32,
    path: &str,
) -> Result<QueueLayout, FileError> {
    let name = name.unwrap_or(Layout::Single.name());
    if let Some(queues) = raw.queues.get(name) {
        return entry(queues, mtu, &format!("queues.{name}"));
    }
    // The layouts need no entry.
    let Ok(layout) = name.parse() else {
        let layouts = Layout::ALL.into_iter().map(|layout| format!("`{layout}`"));
        let known = layouts.chain(raw.queues.keys().map(|known| format!("`{known}`")));
        let known: Vec<_> = known.collect();
        let reason = format!("no queues are called `{name}`; there is {}", known.join(", "));
        return wrong(path, reason);
    };
    let kind = QueueKind::Named(layout);
    entry(&RawQueues { kind, buffer: None, ecn: None, queue: Vec::new() }, mtu, path)
}

fn entry(queues: &RawQueues, mtu: u32, path: &str) -> Result<QueueLayout, FileError> {
    let buffer = queues.buffer.unwrap_or(DEFAULT_BUFFER);
    if buffer < Bytes::new(u64::from(mtu) + 14) {
        let reason = format!("{buffer} hold no packet of {mtu} bytes: nothing could ever wait");
        return wrong(format!("{path}.buffer"), reason);
    }
    if queues.kind != QueueKind::Own && !queues.queue.is_empty() {
        let reason = "is for `kind = \"own\"`: the other kinds know their queues";
        return wrong(format!("{path}.queue"), reason);
    }
    let layout = match queues.kind {
        QueueKind::Own => return own(queues, path),
        QueueKind::Named(Layout::Single) => {
            return Ok(QueueLayout::single(Limit::Bytes(buffer), queues.ecn.map(Limit::from)));
        }
        QueueKind::Named(layout) => layout,
    };
    let mark = match queues.ecn {
        None => MARK_PACKETS,
        Some(Amount::Packets(packets)) => packets,
        Some(Amount::Bytes(_)) => {
            let reason = format!("the {layout} layout counts packets: `65packets`");
            return wrong(format!("{path}.ecn"), reason);
        }
    };
    Ok(QueueLayout::named(layout, buffer, Bytes::new(u64::from(mtu)), mark))
}

fn own(queues: &RawQueues, path: &str) -> Result<QueueLayout, FileError> {
    let count = queues.queue.len();
    if count == 0 || count > MAX_QUEUES {
        let reason = format!("{count} queues: list 1 to {MAX_QUEUES}, the one served first first");
        return wrong(format!("{path}.queue"), reason);
    }
    if queues.ecn.is_some() {
        return wrong(format!("{path}.ecn"), "belongs into each `queue` here");
    }
    let mut class_of_dscp = [None; 64];
    let mut rest = None;
    for (at, queue) in queues.queue.iter().enumerate() {
        let path = format!("{path}.queue[{at}]");
        for dscp in &queue.dscp {
            let Some(class) = class_of_dscp.get_mut(usize::from(*dscp)) else {
                return wrong(format!("{path}.dscp"), format!("{dscp} is no code point: 0 to 63"));
            };
            if class.replace(at as u8).is_some() {
                return wrong(format!("{path}.dscp"), format!("{dscp} goes to two queues"));
            }
        }
        if queue.rest && rest.replace(at as u8).is_some() {
            return wrong(format!("{path}.rest"), "only one queue takes the rest");
        }
    }
    let config = |queue: &super::raw::RawQueue| QueueConfig {
        limit: queue.limit.map_or(Limit::Shared, Limit::from),
        ecn: queue.ecn.map(Limit::from),
    };
    Ok(QueueLayout {
        queues: queues.queue.iter().map(config).collect(),
        class_of_dscp: class_of_dscp.map(|class| class.or(rest).unwrap_or(0)),
        shared: Some(queues.buffer.unwrap_or(DEFAULT_BUFFER)),
    })
}
