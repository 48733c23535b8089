//! Against the kernel: it cuts the same frames, in software, on the way into a cable.
#![allow(unsafe_code, reason = "sets up a packet socket and writes to it")]

use std::time::{Duration, Instant};

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, TestRunner},
};

use super::made::{Made, cut, recipes, sealed};
use crate::{
    engine::ring::Ring,
    host::{Offload, Receive, Site, site},
};

/// Frames to compare.
const FRAMES: usize = 300;

/// Two ends of a cable whose cards do nothing for the kernel.
struct Cable {
    near: Ring,
    far: Ring,
    _site: Site,
}

impl Cable {
    /// Lays one between namespaces of its own, if that is allowed.
    fn lay() -> Option<Self> {
        let site = Site::build(&[1500], Offload::Hosts, Receive::Interrupts);
        let site = site.inspect_err(|error| eprintln!("skipped: {error}")).ok()?;
        let open = |name: &str| Ring::open(name, 8 << 20).expect("a packet socket");
        let near = site.inside(0, || open("eth0")).expect("a namespace can be joined");
        let no: libc::c_int = 0;
        // A frame that goes straight to the driver is not cut on the way.
        // SAFETY: the pointer and the length are those of one number.
        let result = unsafe {
            libc::setsockopt(
                near.fd(),
                libc::SOL_PACKET,
                libc::PACKET_QDISC_BYPASS,
                (&raw const no).cast(),
                size_of_val(&no) as libc::socklen_t,
            )
        };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
        Some(Self { near, far: open(&site::port_name(0)), _site: site })
    }

    /// What comes out at the far end when a frame goes in at the near one.
    fn carry(&mut self, made: &Made, packets: usize) -> Vec<Vec<u8>> {
        let bytes = [&made.meta.encode()[..], &made.bytes].concat();
        // SAFETY: the pointer and the length are those of one buffer.
        let sent = unsafe { libc::write(self.near.fd(), bytes.as_ptr().cast(), bytes.len()) };
        assert_eq!(sent, bytes.len() as isize, "{}", std::io::Error::last_os_error());
        let (mut all, begun) = (Vec::new(), Instant::now());
        while all.len() < packets && begun.elapsed() < Duration::from_secs(20) {
            if self.far.peek().is_none() {
                std::thread::yield_now();
                continue;
            }
            let (meta, bytes) = self.far.read().expect("it fits the ring");
            assert_eq!((meta.checksum, meta.several), (None, None), "the kernel has done it all");
            all.push(bytes.to_vec());
            self.far.release();
        }
        all
    }
}

#[test]
fn packets_are_those_that_the_kernel_makes() {
    // In a thread of its own, whose namespace ends with it.
    std::thread::spawn(|| {
        let Some(mut cable) = Cable::lay() else { return };
        let mut runner = TestRunner::new(Config::default());
        for _ in 0..FRAMES {
            let recipe = recipes().new_tree(&mut runner).expect("no filter").current();
            let made = recipe.make();
            let ours: Vec<_> = cut(&made).iter().map(sealed).collect();
            let theirs = cable.carry(&made, ours.len());
            assert_eq!(ours.len(), theirs.len(), "{recipe:?}");
            for (number, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                assert_eq!(ours, theirs, "packet {number} of {recipe:?}");
            }
        }
    })
    .join()
    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}
