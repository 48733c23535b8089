//! Hosts in network namespaces of their own around an engine, for tests.
//!
//! The namespaces are held by descriptors of this process and go away with it. Needs the rights of
//! root; without them tests say that they are skipped.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]
#![allow(unsafe_code, reason = "namespaces, socket options")]

pub mod traffic;

use std::{
    fs::{self, File},
    io, mem,
    os::fd::{AsRawFd, OwnedFd},
    process::Command,
    thread,
};

use laxity_interface::Span;
use laxity_lab::engine::{Engine, EngineOptions, Health};
use laxity_switch::{Fabric, HostId, MacAddress, PortConfig, PortCounters};

/// A network namespace.
pub struct Namespace(OwnedFd);

impl Namespace {
    pub fn new() -> io::Result<Self> {
        thread::spawn(|| {
            // SAFETY: affects this thread only, which ends below.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                return Err(io::Error::last_os_error());
            }
            File::open("/proc/thread-self/ns/net").map(|file| Self(file.into()))
        })
        .join()
        .expect("the thread does not panic")
    }

    /// Runs something in a thread inside the namespace.
    pub fn inside<R: Send>(&self, run: impl FnOnce() -> R + Send) -> R {
        let fd = self.0.as_raw_fd();
        thread::scope(|scope| {
            let inside = scope.spawn(move || {
                // SAFETY: affects this thread only.
                let result = unsafe { libc::setns(fd, libc::CLONE_NEWNET) };
                assert_eq!(result, 0, "{}", io::Error::last_os_error());
                run()
            });
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Runs words of a command line inside the namespace.
    pub fn command(&self, line: &str) {
        let mut words = line.split_whitespace();
        let output = self.inside(|| {
            Command::new(words.next().expect("a program")).args(words).output().expect(line)
        });
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "`{line}`: {error}");
    }

    /// How commands of this process can name it.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }
}

/// Whether namespaces can be made here; says so if not.
pub fn allowed(test: &str) -> bool {
    let ip = Command::new("ip").arg("-V").output();
    let why = match (Namespace::new(), ip) {
        (Ok(_), Ok(_)) => return true,
        (Err(error), _) => format!("cannot make a network namespace: {error}; run as root"),
        (_, Err(error)) => format!("cannot run `ip`: {error}; install iproute2"),
    };
    eprintln!("{test}: skipped: {why}");
    false
}

/// An engine with hosts around it.
pub struct World {
    pub engine: Engine,
    pub hosts: Vec<Namespace>,
    // Last, so that the engine stops before its interfaces go.
    pub middle: Namespace,
}

impl World {
    /// A star whose ports to hosts are as given; frames enter without delay.
    pub fn star(hosts: u16, down: &PortConfig) -> Self {
        Self::star_with(hosts, down, EngineOptions::default())
    }

    /// Hosts that leave cutting and checksums to the engine, as to a network card.
    pub fn star_with_cards(hosts: u16, down: &PortConfig) -> Self {
        Self::build(hosts, down, EngineOptions::default(), true)
    }

    pub fn star_with(count: u16, down: &PortConfig, options: EngineOptions) -> Self {
        Self::build(count, down, options, false)
    }

    fn build(count: u16, down: &PortConfig, options: EngineOptions, cards: bool) -> Self {
        let middle = Namespace::new().expect("checked by `allowed`");
        let mut builder = Fabric::builder(1);
        let switch = builder.add_switch();
        let mut hosts = Vec::new();
        let mut ports = Vec::new();
        quiet(&middle);
        for number in 0..count {
            let host = Namespace::new().expect("checked by `allowed`");
            quiet(&host);
            let (name, mac) = (format!("h{number}"), MacAddress::of_host(number));
            let path = host.path();
            middle.command(&format!(
                "ip link add {name} type veth peer name eth0 address {mac} netns {path}"
            ));
            middle.command(&format!("ip link set {name} up"));
            if !cards {
                host.inside(|| offloads_off("eth0"));
            }
            host.command(&format!("ip address add {}/15 dev eth0", address(number)));
            host.command("ip link set lo up");
            host.command("ip link set eth0 up");
            let id = builder.add_host(mac);
            builder.connect(id, switch, PortConfig::default(), down.clone());
            ports.push((id, name));
            hosts.push(host);
        }
        for (number, host) in hosts.iter().enumerate() {
            for other in (0..count).filter(|other| usize::from(*other) != number) {
                let (ip, mac) = (address(other), MacAddress::of_host(other));
                host.command(&format!("ip neighbour replace {ip} lladdr {mac} dev eth0"));
            }
        }
        let fabric = builder.build().expect("a star can be built");
        let engine = middle.inside(|| Engine::start(ports, fabric, options)).expect("it starts");
        // Only now, because the engine's thread inherits on which cores it may run.
        step_forward();
        Self { engine, hosts, middle }
    }

    /// Counters of the port to a host. (Ports are numbered up, down, up, down …)
    pub fn down(&self, host: usize) -> PortCounters {
        self.engine.snapshot().counters.ports[2 * host + 1].clone()
    }
}

/// The n-th host's address.
pub fn address(number: u16) -> String {
    format!("198.18.0.{}", number + 1)
}

/// The host of this number.
pub fn host(number: u32) -> HostId {
    HostId::new(number)
}

/// No IPv6: nobody talks unless a test does.
fn quiet(namespace: &Namespace) {
    for scope in ["all", "default"] {
        let file = format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6");
        // A kernel without IPv6 is quiet as it is.
        namespace.inside(|| drop(fs::write(file, "1")));
    }
}

/// Lets the kernel finish checksums and cut segments before a frame reaches the wire, which is here a
/// packet socket that would see unfinished ones.
pub fn offloads_off(interface: &str) {
    #[repr(C)]
    struct Value {
        command: u32,
        data: u32,
    }
    const COMMANDS: [(&str, u32); 3] = [("tx", 0x17), ("tso", 0x1f), ("gso", 0x24)];
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").expect("a socket");
    for (name, command) in COMMANDS {
        let mut value = Value { command, data: 0 };
        // SAFETY: all-zero bytes are a valid request.
        let mut request: libc::ifreq = unsafe { mem::zeroed() };
        for (place, byte) in request.ifr_name.iter_mut().zip(interface.bytes()) {
            *place = byte as libc::c_char;
        }
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        // SAFETY: the request names an interface and points to a value for this command.
        let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &request) };
        assert_eq!(result, 0, "{name} off: {}", io::Error::last_os_error());
    }
}

/// Keeps the calling thread off the last core, where the engine runs, and puts it before whatever
/// else the machine does.
pub fn step_forward() {
    // SAFETY: sets of cores are plain bits, 0 is the calling thread.
    unsafe {
        let mut parameters: libc::sched_param = mem::zeroed();
        // Below the engine, above everything ordinary.
        parameters.sched_priority = 40;
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &parameters);
        let mut cores: libc::cpu_set_t = mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&cores), &mut cores);
        if libc::CPU_COUNT(&cores) > 1 {
            let set = |core: &usize| libc::CPU_ISSET(*core, &cores);
            let last = (0..libc::CPU_SETSIZE as usize).rev().find(set).expect("more than one");
            libc::CPU_CLR(last, &mut cores);
            libc::sched_setaffinity(0, size_of_val(&cores), &cores);
        }
    }
}

/// One line about the engine's health.
pub fn describe(health: &Health) -> String {
    let late = health.lateness;
    format!(
        "in {} out {} in {:.2} s; late p50 {} p99 {} max {}; busy {:.0} % (loop {:.0} %); ring drops \
         {}, oversized {}, refused {}, real-time {}",
        health.received,
        health.sent,
        health.seconds,
        round(late.p50),
        round(late.p99),
        round(late.max),
        health.busy * 100.0,
        health.spinning * 100.0,
        health.ring_drops,
        health.oversized,
        health.refused,
        health.realtime,
    )
}

/// Two hosts with a cable between them and no switch.
pub fn pair() -> [Namespace; 2] {
    let hosts = [0, 1].map(|_| Namespace::new().expect("checked by `allowed`"));
    hosts.iter().for_each(quiet);
    let path = hosts[1].path();
    let macs = [0, 1].map(MacAddress::of_host);
    hosts[0].command(&format!(
        "ip link add eth0 address {} type veth peer name eth0 address {} netns {path}",
        macs[0], macs[1]
    ));
    for (number, host) in hosts.iter().enumerate() {
        host.inside(|| offloads_off("eth0"));
        host.command(&format!("ip address add {}/15 dev eth0", address(number as u16)));
        host.command("ip link set eth0 up");
        let other = 1 - number;
        let ip = address(other as u16);
        host.command(&format!("ip neighbour replace {ip} lladdr {} dev eth0", macs[other]));
    }
    hosts
}

/// Whole microseconds.
pub fn round(span: Span) -> Span {
    Span::from_us(span.as_us())
}

/// Repeats a measurement until the machine was quiet enough to judge it, or gives up and says so.
/// `measure` answers none for a run that does not count.
pub fn judged<R>(test: &str, mut measure: impl FnMut() -> Option<R>) -> Option<R> {
    for _ in 0..8 {
        if let Some(result) = measure() {
            return Some(result);
        }
    }
    eprintln!("{test}: not judged: the machine was too busy in all 8 runs");
    None
}
