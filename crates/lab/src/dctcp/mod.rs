//! DCTCP as a baseline on kernels that were built without it.
//!
//! The kernel takes congestion controls as BPF programs (struct_ops, since 5.6). `dctcp.bpf.c` is one, written
//! after RFC 8257. [`Dctcp::load`] compiles it with clang, has bpftool register it under [`Dctcp::NAME`], and
//! takes it away when the last user on this machine is gone.
//!
//! The object is compiled anew for each use (0.2 s) rather than cached: what root loads into the kernel
//! should not come from a folder that somebody else may write to.

mod lock;
mod tools;

use std::{fs, io, path::PathBuf};

use lock::Lock;
use tools::Tool;

/// The program.
const SOURCE: &str = include_str!("dctcp.bpf.c");
/// The congestion controls that the kernel offers now.
const OFFERED: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// What the kernel's types look like; without it nothing can be loaded.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Why there is no DCTCP.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DctcpError {
    /// A program is not installed.
    #[error("`{tool}` is not installed; on Debian: apt install {package}")]
    Missing {
        /// Which.
        tool: &'static str,
        /// What brings it on Debian.
        package: &'static str,
    },
    /// The kernel does not describe its types.
    #[error("this kernel has no {TYPES}: it was built without CONFIG_DEBUG_INFO_BTF")]
    NoTypes,
    /// Not allowed.
    #[error("only root may load a congestion control into the kernel: run this as root")]
    NotRoot,
    /// A program failed.
    #[error("{tool} could not {what}: {output}")]
    Refused {
        /// Which program.
        tool: &'static str,
        /// What it was to do.
        what: &'static str,
        /// What it said, in short.
        output: String,
    },
    /// It was registered and is not there.
    #[error("{} was registered, but the kernel does not offer it", Dctcp::NAME)]
    NotOffered,
    /// Something of the operating system.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What it said.
        source: io::Error,
    },
}

fn system(what: &'static str) -> impl FnOnce(io::Error) -> DctcpError {
    move |source| DctcpError::System { what, source }
}

/// DCTCP in the kernel, for as long as this lives. Several processes may hold one at a time.
#[derive(Debug)]
pub struct Dctcp {
    lock: Lock,
    bpftool: Tool,
}

impl Dctcp {
    /// What to give to `TCP_CONGESTION`, on the listening socket too: the receiver has a part in it.
    pub const NAME: &'static str = "laxity_dctcp";

    /// Registers it, unless another process has done so.
    ///
    /// # Errors
    /// [`DctcpError`] says what is missing and how to get it.
    pub fn load() -> Result<Self, DctcpError> {
        if !tools::is_root() {
            return Err(DctcpError::NotRoot);
        }
        if !fs::exists(TYPES).unwrap_or(false) {
            return Err(DctcpError::NoTypes);
        }
        let clang = Tool::find("clang", "clang")?;
        let bpftool = Tool::find("bpftool", "bpftool")?;
        let lock = Lock::exclusive().map_err(system("lock the loading of DCTCP"))?;
        if !is_offered() {
            let folder = Folder::create().map_err(system("create a temporary folder"))?;
            let (source, object) = (folder.0.join("dctcp.bpf.c"), folder.0.join("dctcp.bpf.o"));
            fs::write(&source, SOURCE).map_err(system("write the program"))?;
            let flags = ["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-c"];
            let paths = [source.as_os_str(), "-o".as_ref(), object.as_os_str()];
            clang.run("compile DCTCP", flags.iter().map(AsRef::as_ref).chain(paths))?;
            let words = ["struct_ops".as_ref(), "register".as_ref(), object.as_os_str()];
            bpftool.run("register DCTCP", words)?;
        }
        if !is_offered() {
            return Err(DctcpError::NotOffered);
        }
        lock.share().map_err(system("share the lock of DCTCP"))?;
        Ok(Self { lock, bpftool })
    }
}

impl Drop for Dctcp {
    fn drop(&mut self) {
        // Somebody else's measurement may still need it; the last one takes it away. One that was killed
        // leaves it in place, unused, until the next one ends.
        if self.lock.try_exclusive() {
            let words = ["struct_ops", "unregister", "name", Self::NAME].map(AsRef::as_ref);
            // Nothing depends on it, and it takes no part in anything unless a socket asks for it.
            let _ = self.bpftool.run("unregister DCTCP", words);
        }
    }
}

/// Whether the kernel offers it now.
fn is_offered() -> bool {
    let offered = fs::read_to_string(OFFERED).unwrap_or_default();
    offered.split_whitespace().any(|name| name == Dctcp::NAME)
}

/// A folder of our own, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn create() -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let number = since.map_or(0, |time| time.subsec_nanos());
        let name = format!("laxity-dctcp-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // Fails if it exists: a folder that somebody prepared for us is not ours.
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is two small files in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_fits_the_kernel_and_is_the_programs() {
        assert!(Dctcp::NAME.len() < 16, "TCP_CA_NAME_MAX");
        assert!(SOURCE.contains(&format!(".name = \"{}\"", Dctcp::NAME)));
    }

    #[test]
    fn it_is_offered_while_somebody_holds_it() {
        let first = match Dctcp::load() {
            Ok(first) => first,
            Err(DctcpError::Refused { tool, what, output }) => {
                panic!("{tool} could not {what}: {output}")
            }
            Err(why) => return eprintln!("skipped: {why}"),
        };
        let second = Dctcp::load().expect("it was possible a moment ago");
        drop(first);
        assert!(is_offered(), "the second still holds it");
        drop(second);
        // Another process may hold it as well, so its absence proves nothing either way.
    }
}
