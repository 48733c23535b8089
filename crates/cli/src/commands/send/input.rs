//! What is sent: a mapped file or a stream, cut into the parts that become jobs.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, IsTerminal, Read},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use anyhow::{Context, Result};
use bytes::Bytes;
use laxity_endpoint::ElementType;

use super::groups::Groups;
use crate::{
    failure::{Explain, usage},
    sys::{map::ReadMap, signal},
};

/// The largest job made of a file: about half of what a receiver takes with the smallest datagrams.
const LARGEST_JOB: u64 = 8 << 30;

/// Something to send.
pub(crate) struct Input {
    /// For the label.
    pub(crate) name: Vec<u8>,
    /// For messages.
    pub(crate) shown: String,
    source: Source,
    element: ElementType,
    /// Where the next part begins.
    offset: u64,
    over: bool,
}

enum Source {
    File(Bytes),
    Stream(BufReader<Box<dyn Read>>),
}

/// A stretch of the input that becomes one job.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// Where it begins in the input.
    pub(crate) offset: u64,
    /// Its bytes.
    pub(crate) bytes: Bytes,
    /// Nothing follows.
    pub(crate) last: bool,
}

impl Input {
    /// Opens a file, or stdin for `-`, and checks that it can be sent as asked.
    pub(crate) fn open(path: &Path, element: ElementType, groups: &Groups) -> Result<Self> {
        let source = if path == Path::new("-") {
            if io::stdin().is_terminal() {
                return Err(usage("nothing to send: give a FILE, or pipe something to stdin"));
            }
            Source::Stream(BufReader::new(Box::new(io::stdin())))
        } else {
            open_file(path)?
        };
        let shown = path.display().to_string();
        if let Source::File(bytes) = &source {
            let (length, reach) = (bytes.len() as u64, groups.reach());
            whole_elements(&shown, length, element)?;
            if reach > length {
                return Err(usage(format!(
                    "--group speaks of byte {reach}; `{shown}` has {length} bytes"
                )));
            }
        }
        let name = match path.file_name() {
            Some(name) if path != Path::new("-") => name.as_bytes().to_vec(),
            _ => b"stdin".to_vec(),
        };
        Ok(Self { name, shown, source, element, offset: 0, over: false })
    }

    /// How much there is, where that is known.
    pub(crate) fn length(&self) -> Option<u64> {
        match &self.source {
            Source::File(bytes) => Some(bytes.len() as u64),
            Source::Stream(_) => None,
        }
    }

    /// The next part: of a stream at most `segment` bytes. An empty input has one empty part.
    pub(crate) fn next(&mut self, segment: u64) -> Result<Option<Chunk>> {
        if self.over {
            return Ok(None);
        }
        let offset = self.offset;
        let (bytes, last) = match &mut self.source {
            Source::File(all) => {
                let end = (offset + LARGEST_JOB).min(all.len() as u64);
                (all.slice(offset as usize..end as usize), end == all.len() as u64)
            }
            Source::Stream(stream) => {
                let (bytes, last) = read_segment(stream, segment as usize)
                    .with_context(|| format!("cannot read `{}`", self.shown))?;
                whole_elements(&self.shown, bytes.len() as u64, self.element)?;
                (bytes, last)
            }
        };
        self.offset += bytes.len() as u64;
        self.over = last;
        Ok(Some(Chunk { offset, bytes, last }))
    }
}

fn open_file(path: &Path) -> Result<Source> {
    let what = || format!("cannot read `{}`", path.display());
    let remedy = "check the name and that you may read it";
    let file = File::open(path).explain(what(), remedy)?;
    let about = file.metadata().explain(what(), remedy)?;
    if about.is_dir() {
        return Err(usage(format!(
            "`{0}` is a folder; send it with `tar c {0} | laxity send - …`",
            path.display()
        )));
    }
    // Pipes, devices and the kernel's own files, which claim to be empty, are read as streams.
    if !about.is_file() || about.len() == 0 {
        return Ok(Source::Stream(BufReader::new(Box::new(file))));
    }
    let map = ReadMap::whole(&file, about.len()).explain(what(), remedy)?;
    Ok(Source::File(Bytes::from_owner(map)))
}

fn whole_elements(shown: &str, length: u64, element: ElementType) -> Result<()> {
    let size = element.size() as u64;
    if length.is_multiple_of(size) {
        return Ok(());
    }
    let (name, over) = (element.name(), length % size);
    Err(usage(format!(
        "`{shown}` is not a whole number of {name}: {over} bytes are left over; send it with \
         --element u8"
    )))
}

/// Reads a segment, and looks whether anything follows it.
fn read_segment(stream: &mut impl BufRead, length: usize) -> Result<(Bytes, bool)> {
    let mut bytes = Vec::new();
    loop {
        let found = match stream.fill_buf() {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                signal::check()?;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if found.is_empty() || bytes.len() == length {
            return Ok((bytes.into(), found.is_empty()));
        }
        let count = found.len().min(length - bytes.len());
        if bytes.capacity() == 0 && count == found.len() {
            // Short streams take no more than they need; long ones do not grow by copying.
            bytes.reserve_exact(length.min(1 << 20));
        }
        bytes.extend_from_slice(&found[..count]);
        stream.consume(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_know_whether_they_are_the_last() {
        let read = |text: &[u8], length| {
            let mut stream = BufReader::with_capacity(3, text);
            let (mut parts, mut over) = (Vec::new(), false);
            while !over {
                let (bytes, last) = read_segment(&mut stream, length).unwrap();
                parts.push(bytes.to_vec());
                over = last;
            }
            parts
        };
        assert_eq!(read(b"", 4), [b""]);
        assert_eq!(read(b"1234", 4), [b"1234"], "an exact fit is the last");
        assert_eq!(read(b"123456789", 4), [&b"1234"[..], b"5678", b"9"]);
    }

    #[test]
    fn elements_are_whole() {
        assert!(whole_elements("x", 12, ElementType::F32).is_ok());
        let error = whole_elements("x", 13, ElementType::F32).unwrap_err().to_string();
        assert!(error.contains("1 bytes") && error.contains("u8"), "{error}");
    }
}
