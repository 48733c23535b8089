//! One line of JSON per event.

use std::io::{self, Write};

use laxity_interface::Time;
use laxity_topology::LinkId;
use serde_json::{Value, json};

use super::{Observer, TraceEvent};
use crate::packet::Packet;

/// Writes every event as one line of JSON: `t` in picoseconds, `event`, and what belongs to it.
#[derive(Debug)]
pub struct JsonLines<W> {
    out: W,
    failed: Option<io::Error>,
}

impl<W: Write> JsonLines<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, failed: None }
    }

    /// The writer, or what went wrong first.
    pub fn finish(mut self) -> io::Result<W> {
        self.failed.take().map_or(Ok(()), Err)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

fn packet_fields(event: &str, link: Option<LinkId>, packet: &Packet) -> Value {
    let mut fields = json!({
        "event": event,
        "flow": packet.flow.0,
        "from": packet.from.0,
        "to": packet.to.0,
        "size": packet.size,
        "kind": packet.kind,
        "class": packet.class,
        "ecn": packet.ecn,
        "seq": packet.sequence,
        "ack": packet.acknowledged,
    });
    if let Some(link) = link {
        fields["link"] = link.0.into();
    }
    fields
}

impl<W: Write> Observer for JsonLines<W> {
    fn on_event(&mut self, time: Time, event: &TraceEvent<'_>) {
        if self.failed.is_some() {
            return;
        }
        let mut fields = match event {
            TraceEvent::Started { id, flow } => json!({
                "event": "started",
                "flow": id.0,
                "from": flow.from.0,
                "to": flow.to.0,
                "tag": flow.tag,
                "messages": flow.messages.count(),
                "bytes": flow.messages.total(),
                "min-delivery": flow.min_delivery,
            }),
            TraceEvent::Finished { done } => json!({
                "event": "finished",
                "flow": done.flow.0,
                "tag": done.tag,
                "took": done.finished.since(done.started).as_ps(),
                "delivered": done.delivered,
                "messages": done.messages,
                "bytes": done.bytes,
                "short": done.short,
            }),
            TraceEvent::Sent { link, packet } => packet_fields("sent", Some(*link), packet),
            TraceEvent::Marked { link, packet } => packet_fields("marked", Some(*link), packet),
            TraceEvent::Trimmed { link, packet } => packet_fields("trimmed", Some(*link), packet),
            TraceEvent::Dropped { link, why, packet } => {
                let mut fields = packet_fields("dropped", *link, packet);
                fields["why"] = why.name().into();
                fields
            }
            TraceEvent::Delivered { host, packet } => {
                let mut fields = packet_fields("delivered", None, packet);
                fields["host"] = host.0.into();
                fields
            }
        };
        fields["t"] = time.as_ps().into();
        if let Err(error) = writeln!(self.out, "{fields}") {
            self.failed = Some(error);
        }
    }
}
