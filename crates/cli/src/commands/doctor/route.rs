//! The interface and the size of packets on the way out.

use std::net::{Ipv4Addr, SocketAddr};

use laxity_endpoint::udp;

use super::finding::Finding;

/// An address that belongs to nobody (RFC 5737): its route is the default one. Nothing is sent to it.
const NOBODY: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// What Ethernet carries.
const ETHERNET: usize = 1500;
/// Datagrams may not be smaller than this.
const SMALLEST: usize = 1200;

/// Looks at the route to a peer, or the default one.
pub(super) fn look(to: Option<SocketAddr>) -> Vec<Finding> {
    let target = to.unwrap_or_else(|| (NOBODY, 9).into());
    let name = to.map_or_else(|| "outside".into(), |to| to.ip().to_string());
    let local = match udp::local_address_for(target) {
        Ok(local) => local,
        Err(error) => {
            let found = format!("there is no way to {name}: {error}");
            let remedy = "check the cable and `ip route`";
            return vec![match to {
                Some(_) => Finding::fail("route", found, remedy),
                None => Finding::warn("route", found, remedy),
            }];
        }
    };
    let mut findings = Vec::new();
    let interface = udp::interface_of(local);
    findings.push(match &interface {
        Some(interface) => {
            Finding::ok("interface", format!("{} from {local} to {name}", interface.name))
        }
        None => Finding::warn(
            "interface",
            format!("{local} to {name} belongs to no interface that can be seen"),
            "give --bind with the address to use",
        ),
    });
    let mtu = udp::path_mtu(target).ok().or_else(|| interface.map(|interface| interface.mtu));
    if let Some(mtu) = mtu {
        findings.push(packet_size(mtu, target.is_ipv6()));
    }
    findings
}

fn packet_size(mtu: usize, is_v6: bool) -> Finding {
    let payload = udp::max_udp_payload(mtu, is_v6);
    let found = format!("packets of {mtu} bytes, datagrams of {payload}");
    if payload < SMALLEST {
        return Finding::fail("mtu", found, "raise it: `ip link set dev NAME mtu 1500`");
    }
    Finding::ok_if(
        mtu >= ETHERNET,
        "mtu",
        found,
        "a tunnel or VPN takes its share; `ip link set dev NAME mtu 1500`, 9000 if the switches can",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::finding::Status;

    #[test]
    fn sizes_are_judged() {
        assert_eq!(packet_size(1500, false).status, Status::Ok);
        assert_eq!(packet_size(1420, true).status, Status::Warn);
        assert_eq!(packet_size(576, false).status, Status::Fail);
    }

    #[test]
    fn the_way_to_ourselves_is_known() {
        let findings = look(Some("127.0.0.1:9".parse().unwrap()));
        assert!(findings.iter().all(|finding| finding.status == Status::Ok), "{findings:?}");
    }
}
