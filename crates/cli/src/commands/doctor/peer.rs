//! The key, and a peer that should have the same.

use std::{os::unix::fs::MetadataExt, time::Duration};

use anyhow::Result;

use super::finding::Finding;
use crate::{
    args::{KeyArgs, NetworkArgs},
    commands::connect::{ASK_DOCTOR, Route, connect},
    failure::{is_interrupt, remedy_of},
    keys::{self, Protection},
};

/// Whether only its owner can read the key.
pub(super) fn key(args: &KeyArgs, protection: &Protection) -> Finding {
    let Protection::Key(key) = protection else {
        let remedy = "make a key with `laxity keygen` and give both sides --key-file";
        return Finding::warn("key", "none: anybody who reaches the port can join", remedy);
    };
    let file = args.key_file.clone().or_else(keys::from_environment).unwrap_or_default();
    let mode = file.metadata().map_or(0, |about| about.mode() & 0o777);
    let (shown, id) = (file.display(), keys::id_text(key));
    Finding::ok_if(
        mode & 0o077 == 0,
        "key",
        format!("id {id}, the same on both sides; file mode {mode:03o}"),
        format!("others can read it: `chmod 600 {shown}`"),
    )
}

/// Connects, and asks how it is.
pub(super) fn reach(
    to: &str,
    timeout: Duration,
    network: &NetworkArgs,
    protection: &Protection,
) -> Result<Vec<Finding>> {
    let route = Route { to, bind: None, timeout };
    let reached = match connect(&route, network, protection) {
        Ok(reached) => reached,
        Err(error) if is_interrupt(&error) => return Err(error),
        Err(error) => {
            let remedy = remedy_of(&error).unwrap_or("check the address");
            // Whoever reads this has asked the doctor already.
            let remedy = remedy.split(ASK_DOCTOR).next().unwrap_or(remedy).to_owned();
            let found = format!("{error}: {}", error.root_cause());
            return Ok(vec![Finding::fail("peer", found, remedy)]);
        }
    };
    let Some(info) = reached.peer.info() else {
        let remedy = "look at what the peer printed";
        return Ok(vec![Finding::fail("peer", format!("{to} left at once"), remedy)]);
    };
    let cipher = info.cipher.map_or_else(|| "no encryption".into(), |cipher| cipher.to_string());
    let found = format!("{} answered, round trip {}, {cipher}", info.address, info.rtt);
    let failures = reached.endpoint.send_failures();
    let refused = format!("{found}; the kernel refused {failures} of our datagrams");
    let remedy = "look for local firewall rules on outgoing UDP (`nft list ruleset`)";
    Ok(vec![match failures {
        0 => Finding::ok("peer", found),
        _ => Finding::warn("peer", refused, remedy),
    }])
}
