//! Which cores do the kernel's part of a host's work, and when.
//!
//! A frame that the switch hands to a host is received by the kernel on the spot, in the switch's
//! thread, and TCP may answer it right there. Beside 1 Gbit/s of TCP that made the switch late by 2 to
//! 9 ms at the 99th percentile; with the work steered to other cores it was 44 to 68 µs.

use std::{fmt, fs, io};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ethtool::Offload, interface::CARD, napi, sys};

/// How hosts take in what arrives.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Receive {
    /// At once: an arrival interrupts whatever the hosts' cores do. It costs them 10 µs and more each time
    /// on a virtual machine, whose cores cannot interrupt each other without help from outside.
    #[default]
    Interrupts,
    /// In turn with the hosts' programs, by a thread of the kernel for each host: nobody is interrupted,
    /// but packets wait while a program computes. It needs root, and `offload`; otherwise interrupts stay,
    /// and the lab's status says so.
    Threads,
}

impl fmt::Display for Receive {
    /// As a lab file has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interrupts => "interrupts",
            Self::Threads => "threads",
        })
    }
}

impl Receive {
    /// What is left of the wish where cards do no work for hosts: threads would join packets.
    pub(super) fn possible(self, offload: Offload) -> Self {
        if offload == Offload::Switch { self } else { Self::Interrupts }
    }
}

/// Steers the receive work of hosts away from the switch's core.
#[derive(Debug)]
pub(crate) struct Steering {
    cores: Vec<usize>,
    receive: Receive,
}

impl Steering {
    /// Prepares this process; `None` where there is one core only, or where it is not allowed.
    pub(crate) fn prepare(receive: Receive) -> Option<Self> {
        let cores = sys::cores_but_the_switchs()?;
        // What is mounted from here on is seen by this process alone.
        sys::unshare(libc::CLONE_NEWNS).ok()?;
        sys::mount(c"none", c"/", None, libc::MS_REC | libc::MS_SLAVE).ok()?;
        Some(Self { cores, receive })
    }

    /// Steers the work of the host whose network the calling thread is in; says how it is done now.
    pub(crate) fn apply(&self) -> io::Result<Receive> {
        // A /sys shows the network from which it was mounted.
        sys::mount(c"lab", c"/sys", Some(c"sysfs"), 0)?;
        let steered = self.steer();
        sys::unmount(c"/sys")?;
        steered
    }

    fn steer(&self) -> io::Result<Receive> {
        if self.receive == Receive::Threads && napi::start(CARD, &self.cores).is_ok() {
            return Ok(Receive::Threads);
        }
        let steered = format!("/sys/class/net/{CARD}/queues/rx-0/rps_cpus");
        fs::write(steered, mask(&self.cores)).map(|()| Receive::Interrupts)
    }
}

/// A set of cores as the kernel writes it: hexadecimal words of 32 bits, the highest first.
fn mask(cores: &[usize]) -> String {
    let mut words = vec![0u32; cores.iter().max().map_or(0, |core| core / 32) + 1];
    for core in cores {
        words[core / 32] |= 1 << (core % 32);
    }
    let words: Vec<_> = words.iter().rev().map(|word| format!("{word:08x}")).collect();
    words.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_written_as_the_kernel_reads_them() {
        assert_eq!(mask(&[0]), "00000001");
        assert_eq!(mask(&[0, 1, 5]), "00000023");
        assert_eq!(mask(&[0, 33]), "00000002,00000001");
    }

    #[test]
    fn threads_need_cards_that_join() {
        assert_eq!(Receive::Threads.possible(Offload::Switch), Receive::Threads);
        assert_eq!(Receive::Threads.possible(Offload::Hosts), Receive::Interrupts);
    }
}
