//! What travels beside the bytes: a name, and where a part belongs in a whole.
//!
//! A file small enough for one job is sent as one, its label the name. Streams, whose length nobody
//! knows yet, and very large files go as consecutive jobs; each label then has a second line:
//!
//! ```text
//! NAME
//! laxity-part STREAM INDEX OFFSET more|last
//! ```
//!
//! STREAM is a random number in hexadecimal that tells streams apart, INDEX counts from 0, OFFSET is
//! where the part's first byte belongs.

use std::path::Path;

use anyhow::Result;
use laxity_endpoint::ResetCode;

use crate::failure::usage;

const MARK: &[u8] = b"laxity-part ";
/// What the protocol allows.
const LONGEST: usize = 256;
/// What file systems allow, less what drafts add to the name.
const LONGEST_NAME: usize = 224;

/// A job's label.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Label {
    /// The sender's name for the whole.
    pub(crate) name: Vec<u8>,
    /// Which part this is; `None`: all of it.
    pub(crate) part: Option<Part>,
}

/// A part of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    /// Which stream.
    pub(crate) stream: u64,
    /// Counts from 0.
    pub(crate) index: u64,
    /// Where its first byte belongs.
    pub(crate) offset: u64,
    /// No more follow.
    pub(crate) last: bool,
}

impl Label {
    /// As bytes for the wire.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let mut bytes = self.name.clone();
        if let Some(Part { stream, index, offset, last }) = self.part {
            let end = if last { "last" } else { "more" };
            bytes.push(b'\n');
            bytes.extend_from_slice(MARK);
            bytes.extend_from_slice(format!("{stream:x} {index} {offset} {end}").as_bytes());
        }
        if bytes.len() > LONGEST {
            let most = LONGEST - (bytes.len() - self.name.len());
            let have = self.name.len();
            return Err(usage(format!(
                "the name has {have} bytes, {most} are allowed; give a shorter one with --label"
            )));
        }
        Ok(bytes)
    }

    /// From the wire. What is not a part in every detail is a name.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let line = bytes.iter().rposition(|byte| *byte == b'\n');
        let found = line.and_then(|at| Some((at, decode_part(&bytes[at + 1..])?)));
        match found {
            Some((at, part)) => Self { name: bytes[..at].to_vec(), part: Some(part) },
            None => Self { name: bytes.to_vec(), part: None },
        }
    }

    /// For people: quoted, harmless on a terminal.
    pub(crate) fn shown(&self) -> String {
        self.name.escape_ascii().to_string()
    }
}

fn decode_part(line: &[u8]) -> Option<Part> {
    let text = std::str::from_utf8(line.strip_prefix(MARK)?).ok()?;
    let mut words = text.split(' ');
    let part = Part {
        stream: u64::from_str_radix(words.next()?, 16).ok()?,
        index: words.next()?.parse().ok()?,
        offset: words.next()?.parse().ok()?,
        last: match words.next()? {
            "last" => true,
            "more" => false,
            _ => return None,
        },
    };
    words.next().is_none().then_some(part)
}

/// Why a receiver says no, beyond what the protocol has words for. Travels as a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum No {
    /// The name is not one that a file in the receiver's folder may have.
    Name,
    /// There is such a file.
    Exists,
    /// The parts of a stream do not fit together.
    Order,
    /// The receiver's disk does not take it.
    Disk,
}

impl No {
    const ALL: [(Self, u64); 4] = [
        (Self::Name, 0x6c61_7801),
        (Self::Exists, 0x6c61_7802),
        (Self::Order, 0x6c61_7803),
        (Self::Disk, 0x6c61_7804),
    ];

    /// As the reason that the sender will read.
    pub(crate) fn code(self) -> ResetCode {
        let code = Self::ALL.iter().find(|(no, _)| *no == self).map_or(0, |(_, code)| *code);
        ResetCode::Other(code)
    }

    /// In words for the sender: why, and what to do.
    pub(crate) fn explain(code: ResetCode) -> Option<&'static str> {
        let ResetCode::Other(code) = code else { return None };
        let (no, _) = Self::ALL.iter().find(|(_, known)| *known == code)?;
        Some(match no {
            Self::Name => {
                "the receiver takes no file of this name; give a plain file name with --label"
            }
            Self::Exists => {
                "the receiver has a file of this name; give another with --label, or start it with \
                 --force"
            }
            Self::Order => {
                "the receiver missed a part of this stream; start it again, then send again"
            }
            Self::Disk => "the receiver's disk does not take it; free some space there",
        })
    }
}

/// The name as that of a file inside a folder, if it is one and can be nothing else.
///
/// Names come from the other side of the network. Anything with a separator, with control characters,
/// hidden or special is refused rather than repaired: a repaired name would be a surprise, too.
pub(crate) fn file_name(name: &[u8]) -> Result<&Path, &'static str> {
    let text = std::str::from_utf8(name).map_err(|_| "it is not UTF-8")?;
    if text.is_empty() {
        return Err("it is empty");
    }
    if text.len() > LONGEST_NAME {
        return Err("it is too long");
    }
    if text.starts_with('.') {
        return Err("it begins with a dot");
    }
    if text.contains(['/', '\\']) {
        return Err("it contains a path separator");
    }
    if text.chars().any(char::is_control) {
        return Err("it contains control characters");
    }
    let path = Path::new(text);
    // The rules above leave nothing else; this one does not depend on their being complete.
    if path.file_name() == Some(path.as_os_str()) {
        Ok(path)
    } else {
        Err("it is not a plain name")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_survive_the_wire() {
        let part = Part { stream: 0xbeef, index: 3, offset: 1 << 40, last: true };
        for part in [None, Some(part), Some(Part { last: false, ..part })] {
            let label = Label { name: b"two\nlines".to_vec(), part };
            assert_eq!(Label::decode(&label.encode().unwrap()), label);
        }
        for odd in ["a\nlaxity-part ", "a\nlaxity-part 1 2 3 soon", "a\nlaxity-part 1 2 3 last 4"] {
            assert_eq!(Label::decode(odd.as_bytes()).part, None, "{odd}");
        }
        let long = Label { name: vec![b'x'; 250], part: Some(part) };
        assert!(long.encode().unwrap_err().to_string().contains("--label"));
    }

    #[test]
    fn only_plain_names_become_files() {
        for good in ["a", "weights.bin", "größe 2", "a..b"] {
            assert_eq!(file_name(good.as_bytes()), Ok(Path::new(good)));
        }
        let bad: [&[u8]; 13] = [
            b"",
            b".",
            b"..",
            b"../evil",
            b"/etc/passwd",
            b"a/b",
            b"a/",
            b"..\\evil",
            b".bashrc",
            b"a\0b",
            b"a\nb",
            b"\xff",
            b"\x1b[31m",
        ];
        for name in bad {
            assert!(file_name(name).is_err(), "{}", name.escape_ascii());
        }
        assert!(file_name(&[b'x'; 225]).is_err());
    }

    #[test]
    fn refusals_have_words() {
        for no in [No::Name, No::Exists, No::Order, No::Disk] {
            assert!(No::explain(no.code()).is_some());
        }
        assert_eq!(No::explain(ResetCode::Other(9)), None);
        assert_eq!(No::explain(ResetCode::TooLarge), None);
    }
}
