//! Offloads, marks and buffers, tried out over loopback.

use laxity_endpoint::udp::{self, KernelLimits, LoopbackReport, SocketOptions};
use laxity_interface::Bytes;

use super::finding::Finding;

/// Looks at what sockets can do.
pub(super) fn look() -> Vec<Finding> {
    let options = SocketOptions::default();
    let mut findings = Vec::new();
    match udp::loopback(false, &options) {
        Ok(report) => findings.extend(features(&report, &udp::kernel_limits(), &options)),
        Err(error) => findings.push(Finding::fail(
            "loopback",
            format!("127.0.0.1 does not work: {error}"),
            "bring loopback up: `ip link set lo up`",
        )),
    }
    findings.push(match udp::loopback(true, &options) {
        Ok(report) if report.delivered => Finding::ok("ipv6", "works on loopback"),
        _ => Finding::ok("ipv6", "not available; IPv4 is used"),
    });
    findings
}

fn features(
    report: &LoopbackReport,
    limits: &KernelLimits,
    options: &SocketOptions,
) -> Vec<Finding> {
    let capabilities = report.capabilities;
    let newer = "use Linux 5.0 or newer; in a container or gVisor, ask for the host's network";
    let yes = |good: bool, yes: &str, no: &str| String::from(if good { yes } else { no });
    let delivered = "16 datagrams arrived whole and in order";
    vec![
        if report.delivered {
            Finding::ok("loopback", delivered)
        } else {
            let remedy = "look for a firewall rule or a seccomp filter on UDP over 127.0.0.1";
            Finding::fail("loopback", "datagrams to ourselves do not arrive", remedy)
        },
        Finding::ok_if(
            capabilities.gso && report.offloaded,
            "gso",
            if capabilities.gso {
                format!("up to {} datagrams per send", capabilities.max_segments)
            } else {
                "off: one system call per datagram".into()
            },
            newer,
        ),
        Finding::ok_if(
            capabilities.gro,
            "gro",
            yes(capabilities.gro, "runs of datagrams arrive as one", "off: one datagram at a time"),
            newer,
        ),
        Finding::ok_if(
            report.marks_kept,
            "marks",
            yes(
                report.marks_kept,
                "ECN and DSCP arrive as sent",
                "ECN or DSCP are lost on the way",
            ),
            "remove rules that rewrite the TOS field (`nft list ruleset`, `tc filter show dev lo`)",
        ),
        Finding::ok_if(
            report.steering,
            "steering",
            yes(report.steering, "several sockets share a port", "no packet steering"),
            "keep --io-threads 1, or allow SO_ATTACH_REUSEPORT_CBPF",
        ),
        buffer(
            "receive buffer",
            ("rmem_max", limits.rmem_max),
            options.recv_buffer,
            capabilities.recv_buffer,
        ),
        buffer(
            "send buffer",
            ("wmem_max", limits.wmem_max),
            options.send_buffer,
            capabilities.send_buffer,
        ),
    ]
}

fn buffer(
    check: &'static str,
    limit: (&str, Option<u64>),
    wanted: Option<usize>,
    got: usize,
) -> Finding {
    let size = |bytes: u64| Bytes::new(bytes).to_string();
    let (name, wanted) = (limit.0, wanted.unwrap_or(0) as u64);
    let allowed = limit.1.map_or_else(|| "hidden here".into(), size);
    let found = format!("{} of {} (net.core.{name}: {allowed})", size(got as u64), size(wanted));
    let remedy = format!("sysctl -w net.core.{name}={wanted}");
    Finding::ok_if(got as u64 >= wanted, check, found, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::finding::Status;

    #[test]
    fn a_small_buffer_has_its_remedy() {
        let finding = buffer("receive buffer", ("rmem_max", Some(212_992)), Some(8 << 20), 212_992);
        assert_eq!(finding.status, Status::Warn);
        let row = finding.row();
        assert_eq!(
            row.get("remedy").and_then(|remedy| remedy.as_str()),
            Some("sysctl -w net.core.rmem_max=8388608")
        );
        let fine = buffer("receive buffer", ("rmem_max", None), Some(1 << 20), 8 << 20);
        assert_eq!(fine.status, Status::Ok);
    }
}
