//! The other processes.

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use laxity_controller::{
    Access, Agent, AgentOptions, ControllerServer, HostKeys, Link, Options, ServerOptions,
    TlsIdentity, make_certificate,
};
use laxity_fabric::rendezvous::Secret;
use laxity_interface::{Bytes, Flow, Job, Rate, Span};
use laxity_protocol::Key;

/// Nothing here takes longer, whatever the machine does besides.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

const ROLE: &str = "LAXITY_TEST_ROLE";
const FOLDER: &str = "LAXITY_TEST_FOLDER";
const LISTEN: &str = "LAXITY_TEST_LISTEN";

pub(crate) fn secret() -> Secret {
    Secret::Key(Key::new([7; 32]))
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < end, "waited for {PATIENCE:?} in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Not a test: what the other processes do.
#[test]
#[ignore = "run by other tests, as a process of its own"]
fn be_another_process() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("a folder"));
    match std::env::var(ROLE).as_deref() {
        Ok("controller") => {
            let listen = std::env::var(LISTEN).expect("an address").parse().expect("an address");
            let mut options = Options::new("ctl");
            options.lease = Span::from_secs(120);
            let server = ControllerServer::start(ServerOptions {
                listen,
                secret: secret(),
                tls: Some(TlsIdentity::read(&folder).expect("a certificate")),
                state: Some(folder.join("state")),
                options,
            });
            let server = server.expect("a controller");
            fs::write(folder.join("ready"), server.address().to_string()).expect("a file");
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        Ok("host") => {
            let controller = std::env::var(LISTEN).expect("an address");
            let agent = Agent::start(host(access(&folder, &controller), "slow", 77));
            let agent = agent.expect("an agent");
            let flows = (0..2000).map(|at| {
                Flow::builder("slow", format!("sink-{}", at % 7), Bytes::from_mib(100 + at))
            });
            agent.submit(Job::builder("many").flows(flows).build().expect("a job")).expect("taken");
            assert!(agent.wait_link(PATIENCE, |link| matches!(link, Link::Attached(_))));
            fs::write(folder.join("host-ready"), "").expect("a file");
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        other => panic!("told to be {other:?}"),
    }
}

/// A process, killed when dropped.
#[derive(Debug)]
pub(crate) struct Process(pub(crate) Child);

impl Process {
    pub(crate) fn start(role: &str, folder: &Path, listen: &str) -> Self {
        let child = Command::new(std::env::current_exe().expect("this program"))
            .args(["child::be_another_process", "--exact", "--ignored", "--nocapture"])
            .env(ROLE, role)
            .env(FOLDER, folder)
            .env(LISTEN, listen)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("a process");
        Self(child)
    }

    /// As `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.0.kill().expect("it lives");
        self.0.wait().expect("it ends");
    }

    /// Sends a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        let (name, id) = (format!("-{name}"), self.0.id().to_string());
        let status = Command::new("kill").args([name, id]).status();
        assert!(status.expect("kill is there").success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A controller's machine: certificate, state and a port that stays.
pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) listen: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        make_certificate(folder.path()).expect("a certificate");
        // A port that is free now, and most likely also in a moment.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let listen: SocketAddr = free.expect("a port");
        Self { folder, listen: listen.to_string() }
    }

    pub(crate) fn start(&self) -> Process {
        let ready = self.folder.path().join("ready");
        let _ = fs::remove_file(&ready);
        let mut process = Process::start("controller", self.folder.path(), &self.listen);
        until("a controller that listens", || {
            assert!(process.0.try_wait().expect("a process").is_none(), "it has ended");
            ready.exists()
        });
        process
    }

    pub(crate) fn access(&self) -> Access {
        access(self.folder.path(), &self.listen)
    }
}

fn access(folder: &Path, controller: &str) -> Access {
    let certificate = Some(fs::read(folder.join("controller.pem")).expect("a certificate"));
    Access { controller: controller.to_owned(), secret: secret(), certificate }
}

/// A host's options: it comes back quickly.
pub(crate) fn host(access: Access, name: &str, seed: u8) -> AgentOptions {
    let mut options = AgentOptions::new(access, name.parse().expect("a name"));
    options.keys = HostKeys::from_seed([seed; 32]);
    options.up = Some(Rate::from_mbps(100));
    options.down = Some(Rate::from_mbps(100));
    options.patience = Span::from_ms(100);
    options.hold = Span::from_ms(300);
    options.backoff = (Span::from_ms(20), Span::from_ms(200));
    options
}

pub(crate) fn is_attached(link: &Link) -> bool {
    matches!(link, Link::Attached(_))
}
