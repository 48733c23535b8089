//! Addresses as people write them.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use anyhow::Result;

use crate::failure::{Explain, usage};

/// The addresses behind `HOST:PORT`, best first, each once.
pub(crate) fn resolve(text: &str) -> Result<Vec<SocketAddr>> {
    if !text.contains(':') {
        return Err(usage(format!("`{text}` has no port; write HOST:PORT, such as 10.0.0.2:7000")));
    }
    let found = text.to_socket_addrs().explain(
        format!("cannot find the address of `{text}`"),
        "write HOST:PORT, such as 10.0.0.2:7000 or [fd00::2]:7000; check the name with `getent hosts`",
    )?;
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in found {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        return Err(usage(format!("`{text}` has no address")));
    }
    Ok(addresses)
}

/// The addresses to try for `--bind`: `HOST:PORT`, or `:PORT` for every address of this machine.
pub(crate) fn to_bind(text: &str) -> Result<Vec<SocketAddr>> {
    match text.strip_prefix(':').map(str::parse::<u16>) {
        // The IPv6 socket serves IPv4 as well; where there is no IPv6 the other has to do.
        Some(Ok(port)) => {
            Ok(vec![(Ipv6Addr::UNSPECIFIED, port).into(), (Ipv4Addr::UNSPECIFIED, port).into()])
        }
        Some(Err(_)) => Err(usage(format!("`{text}` is not a port; write :PORT, such as :7000"))),
        None => resolve(text),
    }
}

/// Any port of this machine from which `to` can be reached.
pub(crate) fn any_for(to: SocketAddr) -> SocketAddr {
    match to {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_alone_mean_every_address() {
        let both = to_bind(":7000").unwrap();
        assert_eq!(both, ["[::]:7000".parse().unwrap(), "0.0.0.0:7000".parse().unwrap()]);
        assert_eq!(to_bind("127.0.0.1:0").unwrap(), ["127.0.0.1:0".parse().unwrap()]);
        assert!(to_bind(":http").is_err());
        assert!(resolve("10.0.0.1").is_err(), "the port is missing");
        assert!(any_for("[::1]:9".parse().unwrap()).is_ipv6());
    }
}
