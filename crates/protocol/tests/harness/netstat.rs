//! What a failing run prints.

use std::fmt::Write;

use super::World;

/// Peers, links and jobs, one line each.
pub fn snapshot(world: &World) -> String {
    let mut out = format!("at {} after {} packets\n", world.now, world.packets);
    for (at, node) in world.nodes.iter().enumerate() {
        let state = if node.alive { "alive" } else { "dead" };
        let (unclaimed, wake) = (node.endpoint.unclaimed(), node.endpoint.poll_timeout());
        let _ = writeln!(out, "node {at} {state}, unclaimed {unclaimed}, wakes {wake:?}");
        for peer in node.endpoint.peers() {
            let Some(info) = node.endpoint.peer(peer) else { continue };
            let _ = writeln!(
                out,
                "  peer {} {} rtt {} sending {} receiving {} ending {} | exact {} {} B ({}) | slack {} {} B ({})",
                peer.get(),
                if info.connected { "connected" } else { "connecting" },
                info.rtt,
                info.sending,
                info.receiving,
                info.ending,
                info.exact.rate,
                info.exact.in_flight,
                info.exact.reason,
                info.slack.rate,
                info.slack.in_flight,
                info.slack.reason,
            );
        }
        let counters = node.endpoint.stats().iter().filter(|(_, value)| *value > 0);
        let counters: Vec<_> = counters.map(|(name, value)| format!("{name} {value}")).collect();
        let _ = writeln!(out, "  {}", counters.join(", "));
    }
    for (at, link) in world.links.iter().enumerate() {
        let _ = writeln!(out, "link {at}: {}", link.stats());
    }
    for (at, job) in world.jobs.iter().enumerate() {
        let _ = writeln!(
            out,
            "job {at} {}→{} started {:?} offered {:?}\n  sender   {:?}\n  receiver {:?}",
            job.from,
            job.to,
            job.started,
            job.offered.as_ref().map(|(when, _)| when),
            job.sender,
            job.receiver,
        );
        if let Some(id) = job.id {
            let progress = world.nodes[job.from].endpoint.send_progress(id);
            let _ = writeln!(out, "  sender's progress {progress:?}");
        }
    }
    out
}
