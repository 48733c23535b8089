//! Reaching a peer by name.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Result, anyhow};
use laxity_endpoint::{ConnectError, Endpoint, Peer, SendError};

use crate::{
    address,
    args::NetworkArgs,
    failure::{Explain, usage},
    keys::Protection,
    progress,
    sys::signal,
    wait,
};

/// Whom to reach, and how.
#[derive(Debug)]
pub(crate) struct Route<'a> {
    /// `HOST:PORT` of the peer.
    pub(crate) to: &'a str,
    /// Our own address, if it matters.
    pub(crate) bind: Option<&'a str>,
    /// How long to try.
    pub(crate) timeout: Duration,
}

/// A peer that answered, and our end of the connection, which lives as long as this does.
#[derive(Debug)]
pub(crate) struct Reached {
    pub(crate) endpoint: Endpoint,
    pub(crate) peer: Peer,
    pub(crate) address: SocketAddr,
}

/// Connects; where a name has several addresses, to the first that answers.
pub(crate) fn connect(
    route: &Route<'_>,
    network: &NetworkArgs,
    protection: &Protection,
) -> Result<Reached> {
    let Route { to, bind, timeout } = *route;
    let mut candidates = address::resolve(to)?;
    let own = bind.map(address::to_bind).transpose()?;
    if let Some(own) = &own {
        candidates.retain(|candidate| own.iter().any(|own| own.is_ipv4() == candidate.is_ipv4()));
        if candidates.is_empty() {
            let bind = bind.unwrap_or_default();
            return Err(usage(format!("{to} and --bind {bind}: one is IPv4 and one is IPv6")));
        }
    }
    let share = timeout / candidates.len() as u32;
    let mut outcome = Err(anyhow!("{to} has no address"));
    for address in candidates {
        let addresses = own.clone().unwrap_or_else(|| vec![address::any_for(address)]);
        let endpoint =
            network.bind(protection, &addresses, |builder| builder.connect_timeout(share))?;
        let shown = if to == address.to_string() { to.into() } else { format!("{to} ({address})") };
        let spinner = progress::spinner(format!("connecting to {shown}"));
        let connecting = Box::pin(endpoint.connect_async(address));
        let connected = wait::wait_for(connecting, |_| Ok(signal::check()?))?;
        spinner.finish_and_clear();
        match connected {
            Ok(peer) => return Ok(Reached { endpoint, peer, address }),
            Err(error) => {
                let remedy = remedy(&error, address);
                outcome = Err(error).explain(format!("cannot connect to {shown}"), remedy);
            }
        }
    }
    outcome
}

/// Where advice goes on with what else to ask.
pub(crate) const ASK_DOCTOR: &str = "; `laxity doctor";

fn remedy(error: &SendError, peer: SocketAddr) -> String {
    match error {
        SendError::Connect(ConnectError::NoAnswer { .. }) => {
            let port = peer.port();
            format!(
                "start `laxity recv FILE --bind :{port}` there first; let UDP port {port} through\
                 {ASK_DOCTOR} --to {peer}` looks closer"
            )
        }
        SendError::Connect(ConnectError::Refused { .. } | ConnectError::BadKey { .. }) => {
            "give both sides the same key file (or both --insecure); `laxity doctor --key-file FILE` \
             shows a key's id for comparing"
                .into()
        }
        _ => String::new(),
    }
}
