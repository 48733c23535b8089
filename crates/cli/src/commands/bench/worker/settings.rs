//! A host's kernel, set up so that runs do not learn from each other.

use std::fs;

/// Makes the settings; returns those that could not be made.
pub(super) fn prepare(tcp_ecn: bool) -> Vec<String> {
    let settings = [
        // A new connection would begin with the threshold and round trip that an earlier one found.
        ("net/ipv4/tcp_no_metrics_save", "1"),
        // 2 is the kernel's default: agree to ECN, do not ask for it.
        ("net/ipv4/tcp_ecn", if tcp_ecn { "1" } else { "2" }),
    ];
    let failed = settings.into_iter().filter_map(|(name, value)| {
        let error = fs::write(format!("/proc/sys/{name}"), value).err()?;
        Some(format!("{}={value}: {error}", name.replace('/', ".")))
    });
    failed.collect()
}
