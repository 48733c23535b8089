//! The system's congestion control.

/// That of TCP connections that do not choose one; `None` where the kernel does not say.
pub(crate) fn default() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").ok()?;
    Some(name.trim().to_owned())
}
