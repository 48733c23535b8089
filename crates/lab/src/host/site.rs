//! Where a lab lives: a network namespace in the middle and one for every host.

use std::{
    fs::{self, File},
    io,
    net::Ipv4Addr,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::MetadataExt,
    },
};

use super::{
    ethtool::Offload,
    interface::{self, CARD, Cable},
    steer::{Receive, Steering},
    sys,
};

/// The range that RFC 2544 sets aside for measuring networks; no address in it is anybody's.
const FIRST: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const PREFIX: u8 = 15;
/// As many hosts as a lab may have: a namespace, a cable and a ring buffer each.
pub(crate) const MOST_HOSTS: usize = 1024;

/// The address of a host, by its place in the lab.
pub(crate) fn address(host: usize) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(FIRST) + host as u32)
}

/// The hardware address of a host, by its place in the lab.
pub(crate) fn mac(host: usize) -> [u8; 6] {
    let [.., high, low] = (host as u32 + 1).to_be_bytes();
    [2, 0, 0, 0, high, low]
}

/// The name of the cable's end in the middle, by the host's place in the lab.
pub(crate) fn port_name(host: usize) -> String {
    format!("port{host}")
}

/// Why a lab's namespaces could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SiteError {
    /// Neither root nor user namespaces.
    #[error(
        "this process may not make network namespaces ({root}) nor user namespaces ({user}); run \
         it as root, or allow user namespaces: `sysctl user.max_user_namespaces=15000`, and where \
         they exist `sysctl kernel.unprivileged_userns_clone=1` and \
         `sysctl kernel.apparmor_restrict_unprivileged_userns=0`; in a container, add the \
         capability SYS_ADMIN"
    )]
    Forbidden {
        /// What the kernel said without a user namespace.
        root: io::Error,
        /// What it said to a user namespace.
        user: io::Error,
    },
    /// One step failed.
    #[error("cannot {what}: {source}; `laxity lab check` looks at what this machine lacks")]
    Step {
        /// What was tried.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Says what was tried when something fails.
fn step<T>(what: impl Into<String>, outcome: io::Result<T>) -> Result<T, SiteError> {
    outcome.map_err(|source| SiteError::Step { what: what.into(), source })
}

/// The namespaces of a lab. They last as long as this: nothing else holds them.
#[derive(Debug)]
pub(crate) struct Site {
    /// The user namespace around all, where this is not root's lab.
    user: Option<OwnedFd>,
    middle: OwnedFd,
    hosts: Vec<OwnedFd>,
    receive: Option<Receive>,
}

impl Site {
    /// Makes them, one host for each largest packet size (MTU). The calling thread ends up in the middle.
    /// What cards do for hosts is left to whom `offload` says, and hosts take in what arrives as `receive` says.
    ///
    /// PRECONDITION: the process has one thread, because others could not follow into a user namespace.
    pub(crate) fn build(
        mtus: &[u32],
        offload: Offload,
        receive: Receive,
    ) -> Result<Self, SiteError> {
        let user = leave()?;
        let steering = Steering::prepare(receive.possible(offload));
        let mut possible = steering.is_some().then_some(receive);
        let middle = step("open the lab's own namespace", here())?;
        quiet();
        let all: Vec<_> = (0..mtus.len()).map(|host| (address(host), mac(host))).collect();
        let mut hosts = Vec::with_capacity(mtus.len());
        for (host, mtu) in mtus.iter().enumerate() {
            let what = |what: &str| format!("{what} host {} of {}", host + 1, mtus.len());
            step(what("make a network namespace for"), sys::unshare(libc::CLONE_NEWNET))?;
            hosts.push(step(what("open the namespace of"), here())?);
            quiet();
            let cable = Cable {
                address: address(host),
                prefix: PREFIX,
                mac: mac(host),
                mtu: *mtu,
                far_name: &port_name(host),
                far_mac: far_mac(host),
                far_side: middle.as_fd(),
                neighbours: &all,
            };
            step(what("lay a cable to"), interface::lay(&cable))?;
            step(what("set the offloads of"), offload.apply(CARD))?;
            // Where that is not allowed, the switch is late more often, and says so.
            let steered = steering.as_ref().and_then(|steering| steering.apply().ok());
            possible = possible.zip(steered).map(|(all, this)| all.min(this));
        }
        step("return to the lab's own namespace", sys::join(middle.as_fd(), libc::CLONE_NEWNET))?;
        let ports: Vec<_> = (0..mtus.len()).map(port_name).collect();
        step("bring the ports up", interface::bring_up(ports.iter().map(String::as_str)))?;
        for port in &ports {
            step(format!("set the offloads of {port}"), offload.apply(port))?;
        }
        Ok(Self { user, middle, hosts, receive: possible })
    }

    /// How all hosts take in what arrives, which may be less than was wished; `None` where the switch's
    /// core does that work too.
    pub(crate) fn receive(&self) -> Option<Receive> {
        self.receive
    }

    /// The user namespace around all, where there is one.
    pub(crate) fn user(&self) -> Option<BorrowedFd<'_>> {
        self.user.as_ref().map(AsFd::as_fd)
    }

    /// A host's network namespace.
    pub(crate) fn host(&self, host: usize) -> BorrowedFd<'_> {
        self.hosts[host].as_fd()
    }

    /// What tells the hosts' namespaces from others, in the order of the hosts.
    pub(crate) fn numbers(&self) -> io::Result<Vec<Number>> {
        self.hosts.iter().map(Number::of).collect()
    }

    /// Does something in a host's network, on the calling thread, and comes back to the middle.
    pub(crate) fn inside<T>(&self, host: usize, act: impl FnOnce() -> T) -> io::Result<T> {
        sys::join(self.host(host), libc::CLONE_NEWNET)?;
        let outcome = act();
        sys::join(self.middle.as_fd(), libc::CLONE_NEWNET)?;
        Ok(outcome)
    }
}

/// Tells a namespace from all others that exist at the same time.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize,
)]
pub(crate) struct Number {
    device: u64,
    inode: u64,
}

impl Number {
    fn of(fd: &OwnedFd) -> io::Result<Self> {
        let file = File::from(fd.try_clone()?);
        file.metadata().map(|meta| Self { device: meta.dev(), inode: meta.ino() })
    }

    /// Of the network that a process is in; `None` if it is gone or not ours to look at.
    pub(crate) fn of_process(process: u32) -> Option<Self> {
        let meta = fs::metadata(format!("/proc/{process}/ns/net")).ok()?;
        Some(Self { device: meta.dev(), inode: meta.ino() })
    }
}

/// Leaves this machine's network, as root or with the help of a user namespace.
pub(crate) fn leave() -> Result<Option<OwnedFd>, SiteError> {
    let Err(root) = sys::unshare(libc::CLONE_NEWNET) else { return Ok(None) };
    let (user, group) = sys::ids();
    if let Err(error) = sys::unshare(libc::CLONE_NEWUSER) {
        return Err(SiteError::Forbidden { root, user: error });
    }
    // Whoever makes the namespace is its root and nobody else is in it.
    step("give up groups", fs::write("/proc/self/setgroups", "deny"))?;
    step("map the user", fs::write("/proc/self/uid_map", format!("0 {user} 1\n")))?;
    step("map the group", fs::write("/proc/self/gid_map", format!("0 {group} 1\n")))?;
    if let Err(error) = sys::unshare(libc::CLONE_NEWNET) {
        return Err(SiteError::Forbidden { root, user: error });
    }
    let user = step("open the user namespace", File::open("/proc/self/ns/user"))?;
    Ok(Some(user.into()))
}

/// The network namespace of the calling thread.
fn here() -> io::Result<OwnedFd> {
    File::open("/proc/thread-self/ns/net").map(OwnedFd::from)
}

/// Sets what keeps a namespace from talking or remembering by itself.
fn quiet() {
    const SETTINGS: [(&str, &str); 3] = [
        // No neighbour discovery, no router solicitation: only what programs send.
        ("ipv6/conf/all/disable_ipv6", "1"),
        ("ipv6/conf/default/disable_ipv6", "1"),
        // A connection must not start with what an earlier one found out about the path.
        ("ipv4/tcp_no_metrics_save", "1"),
    ];
    for (name, value) in SETTINGS {
        // A kernel without IPv6, or a read-only /proc in a container: measurements get a little
        // noisier, nothing else.
        let _ = fs::write(format!("/proc/sys/net/{name}"), value);
    }
}

fn far_mac(host: usize) -> [u8; 6] {
    let [.., high, low] = mac(host);
    [2, 0, 0, 1, high, low]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_the_measuring_range() {
        assert_eq!(address(0), Ipv4Addr::new(198, 18, 0, 1));
        assert_eq!(address(255), Ipv4Addr::new(198, 18, 1, 0));
        assert_eq!(mac(0), [2, 0, 0, 0, 0, 1]);
        assert_eq!(mac(MOST_HOSTS - 1), [2, 0, 0, 0, 4, 0]);
    }
}
