//! Files as memory: the page cache is the only copy.

use std::{fs::File, io, os::fd::AsRawFd, ptr::NonNull};

use laxity_endpoint::Element;

/// A stretch of a file, mapped.
#[derive(Debug)]
struct Region {
    /// Where the mapping begins: at a page.
    start: NonNull<u8>,
    /// Its length; 0 if nothing is mapped.
    mapped: usize,
    /// How far into it the stretch begins.
    skip: usize,
    /// The stretch's length.
    length: usize,
}

// SAFETY: a region is memory like any other; whoever has it may use it from any thread.
unsafe impl Send for Region {}
// SAFETY: through a shared reference it is only read.
unsafe impl Sync for Region {}

impl Region {
    fn new(file: &File, offset: u64, length: u64, protection: libc::c_int) -> io::Result<Self> {
        if length == 0 {
            // The kernel maps no empty files.
            return Ok(Self { start: NonNull::dangling(), mapped: 0, skip: 0, length: 0 });
        }
        let too_large = |_| io::Error::from(io::ErrorKind::FileTooLarge);
        let skip = offset % page_size();
        let at = libc::off_t::try_from(offset - skip).map_err(too_large)?;
        let mapped = usize::try_from(skip + length).map_err(too_large)?;
        let fd = file.as_raw_fd();
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing of ours.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), mapped, protection, libc::MAP_SHARED, fd, at)
        };
        let failed = start == libc::MAP_FAILED;
        match NonNull::new(start.cast()) {
            Some(start) if !failed => {
                Ok(Self { start, mapped, skip: skip as usize, length: length as usize })
            }
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The stretch's first byte.
    fn first(&self) -> NonNull<u8> {
        // SAFETY: `skip` lies inside the mapping, or is 0.
        unsafe { self.start.add(self.skip) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if self.mapped > 0 {
            // SAFETY: this is our mapping and nobody borrows from it any more.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.mapped) };
        }
    }
}

fn page_size() -> u64 {
    // SAFETY: the call only reads a setting.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).unwrap_or(4096)
}

/// A file to be read.
#[derive(Debug)]
pub(crate) struct ReadMap(Region);

impl ReadMap {
    /// Maps a whole file of this length.
    ///
    /// Another process may change the file meanwhile: then some packets carry old bytes and some new
    /// ones, as with any reader; if it is cut short, [`signal`](super::signal) explains the end.
    pub(crate) fn whole(file: &File, length: u64) -> io::Result<Self> {
        Region::new(file, 0, length, libc::PROT_READ).map(Self)
    }
}

impl AsRef<[u8]> for ReadMap {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the region is mapped readable for this length and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.0.first().as_ptr(), self.0.length) }
    }
}

/// A stretch of a file to be written.
#[derive(Debug)]
pub(crate) struct WriteMap(Region);

impl WriteMap {
    /// Maps a stretch for which [`reserve`] made room. The file must be open for reading, too.
    pub(crate) fn stretch(file: &File, offset: u64, length: u64) -> io::Result<Self> {
        Region::new(file, offset, length, libc::PROT_READ | libc::PROT_WRITE).map(Self)
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: mapped readable for this length, and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.0.first().as_ptr(), self.0.length) }
    }

    /// Forgets what was there.
    pub(crate) fn clear(&mut self) {
        if let Some(bytes) = self.elements::<u8>() {
            bytes.fill(0);
        }
    }

    /// The stretch as numbers; `None` if it does not lie on a boundary of theirs.
    #[allow(clippy::needless_pass_by_ref_mut)] // What is handed out is exclusive.
    pub(crate) fn elements<T: Element>(&mut self) -> Option<&mut [T]> {
        let first = self.0.first().cast::<T>();
        let whole = self.0.length.is_multiple_of(size_of::<T>());
        if self.0.length == 0 {
            return Some(&mut []);
        }
        if !whole || !first.is_aligned() {
            return None;
        }
        let count = self.0.length / size_of::<T>();
        // SAFETY: mapped readable and writable, aligned and long enough as just checked, exclusively
        // borrowed; every bit pattern is a valid `Element`.
        Some(unsafe { std::slice::from_raw_parts_mut(first.as_ptr(), count) })
    }
}

/// Makes sure that the disk has room for this stretch, which then reads as zeros where it is new.
///
/// Without it a full disk would show only when a mapped page is written, as a signal.
pub(crate) fn reserve(file: &File, offset: u64, length: u64) -> io::Result<()> {
    if length == 0 {
        return Ok(());
    }
    let too_large = |_| io::Error::from(io::ErrorKind::FileTooLarge);
    let at = libc::off_t::try_from(offset).map_err(too_large)?;
    let count = libc::off_t::try_from(length).map_err(too_large)?;
    // SAFETY: the call changes a file that we own, no memory.
    if unsafe { libc::fallocate(file.as_raw_fd(), 0, at, count) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            let end = offset.checked_add(length).ok_or(io::ErrorKind::FileTooLarge)?;
            if file.metadata()?.len() < end { file.set_len(end) } else { Ok(()) }
        }
        error => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use super::*;

    #[test]
    fn what_is_written_to_memory_is_in_the_file() {
        let mut file = tempfile::tempfile().unwrap();
        let offset = page_size() + 8;
        reserve(&file, offset, 12).unwrap();
        let mut map = WriteMap::stretch(&file, offset, 12).unwrap();
        map.elements::<f32>().unwrap()[2] = 1.5;
        assert!(map.elements::<f64>().is_none(), "12 bytes are not whole f64");
        assert_eq!(map.bytes()[8..], 1.5f32.to_le_bytes());
        drop(map);
        let mut text = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut text).unwrap();
        assert_eq!(text.len() as u64, offset + 12);
        assert_eq!(text[text.len() - 4..], 1.5f32.to_le_bytes());
        let again = ReadMap::whole(&file, offset + 12).unwrap();
        assert_eq!(again.as_ref(), text);
    }

    #[test]
    fn an_odd_stretch_is_bytes_only() {
        let file = tempfile::tempfile().unwrap();
        reserve(&file, 3, 8).unwrap();
        let mut map = WriteMap::stretch(&file, 3, 8).unwrap();
        assert!(map.elements::<u8>().is_some());
        assert!(map.elements::<f64>().is_none(), "3 is no boundary of f64");
        assert_eq!(WriteMap::stretch(&file, 0, 0).unwrap().bytes(), b"");
    }
}
