//! A layout for Linux: a shell script that calls `tc`.
//!
//! HTB gives strict priority only to what is borrowed, so every class owns next to nothing and
//! borrows the rest; the class with the lowest `prio` borrows first.

use std::fmt::Write;

use laxity_interface::{Rate, Span};
use laxity_switch::ETHERNET_OVERHEAD;

use super::plan::Plan;

/// What each class owns without borrowing. HTB refuses zero.
const OWN: &str = "8kbit";

/// How much may leave in one go: two frames, or what the port sends until HTB's timer has certainly
/// rung. Less and the rate is not reached; more and tiny queues never fill.
const BURST_FRAMES: u64 = 2;
const BURST_TIME: Span = Span::from_us(100);

/// The script.
pub(super) fn script(plan: &Plan, rate: Rate) -> String {
    let title = plan.title();
    let mut text = format!("#!/bin/sh\n# {title} Undo: tc qdisc del dev DEV root\nset -e\n");
    for port in &plan.ports {
        write_port(&mut text, plan, port, rate).expect("strings take everything");
    }
    text
}

fn write_port(text: &mut String, plan: &Plan, dev: &str, rate: Rate) -> std::fmt::Result {
    let (bps, packet, overhead) = (rate.as_bps(), plan.packet().get(), ETHERNET_OVERHEAD.get());
    let burst = rate.bytes_in(BURST_TIME).get().max(packet * BURST_FRAMES);
    let own = OWN;
    writeln!(
        text,
        "\n# {dev}: {rate}, counted as on the wire\n\
        tc qdisc del dev {dev} root 2>/dev/null || true\n\
        tc qdisc add dev {dev} root handle 1: htb default 10\n\
        tc class add dev {dev} parent 1: classid 1:1 htb rate {bps}bit ceil {bps}bit \
        burst {burst} cburst {burst} overhead {overhead}"
    )?;
    for class in 0..plan.queues.len() {
        writeln!(
            text,
            "tc class add dev {dev} parent 1:1 classid 1:1{class} htb rate {own} \
            ceil {bps}bit prio {class} quantum {packet} burst {packet} cburst {burst} \
            overhead {overhead}"
        )?;
    }
    writeln!(
        text,
        "# Queues that mark do so above {} bytes; without marks where the kernel has no RED.",
        plan.mark.get()
    )?;
    for class in 0..plan.queues.len() {
        write_queue(text, plan, dev, class, rate)?;
    }
    writeln!(text, "# The code points of the classes; all others go to the first.")?;
    for (class, point) in Plan::classes() {
        let tos = point << 2;
        writeln!(
            text,
            "tc filter add dev {dev} parent 1: protocol ip prio 1 u32 \
            match ip dsfield {tos:#04x} 0xfc flowid 1:1{class}\n\
            tc filter add dev {dev} parent 1: protocol ipv6 prio 2 u32 \
            match ip6 priority {tos:#04x} 0xfc flowid 1:1{class}"
        )?;
    }
    Ok(())
}

/// One queue. The kernel's queues have memory of their own: each that shares the buffer may hold all
/// of it.
fn write_queue(
    text: &mut String,
    plan: &Plan,
    dev: &str,
    class: usize,
    rate: Rate,
) -> std::fmt::Result {
    let queue = &plan.queues[class];
    let limit = queue.limit.unwrap_or(plan.buffer).get();
    let plain =
        format!("tc qdisc add dev {dev} parent 1:1{class} handle 1{class}: bfifo limit {limit}");
    if !queue.marks {
        return writeln!(text, "{plain}");
    }
    let (bps, packet, mark) = (rate.as_bps(), plan.packet().get(), plan.mark.get());
    // RED with a threshold instead of a slope; `burst` as tc-red(8) computes it.
    let (above, average) = (mark + packet, (3 * mark + packet).div_ceil(3 * packet) + 1);
    writeln!(
        text,
        "tc qdisc add dev {dev} parent 1:1{class} handle 1{class}: red limit {limit} min {mark} \
        max {above} avpkt {packet} burst {average} bandwidth {bps}bit probability 1 ecn \
        2>/dev/null ||\n  \
        {{ echo '{dev}: no RED in this kernel: class {class} gets no marks' >&2\n    {plain}; }}"
    )
}
