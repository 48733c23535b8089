//! MNIST and sets in its format (IDX).

use std::path::Path;

use super::{LoadError, open::Content, open::first_existing};
use crate::data::{Images, Split};

/// Ten kinds of pictures in IDX files, packed or not; pixels are standardised.
pub fn digits(folder: &Path) -> Result<Split<Images>, LoadError> {
    let mut split = Split { train: set(folder, "train")?, test: set(folder, "t10k")? };
    split.standardise();
    Ok(split)
}

fn set(folder: &Path, part: &str) -> Result<Images, LoadError> {
    let read = |kind: &str| {
        let plain = format!("{part}-{kind}-ubyte");
        let packed = format!("{plain}.gz");
        let found = first_existing(folder, &[packed.clone(), plain]);
        Content::read(found.unwrap_or_else(|| folder.join(packed)))
    };
    let (images, labels) = (read("images-idx3")?, read("labels-idx1")?);
    let [count, height, width] = header(&images, 0x0803)?;
    let [labelled] = header(&labels, 0x0801)?;
    if labelled != count {
        return Err(labels.damaged(4, format!("{labelled} labels for {count} images")));
    }
    let (pixels, labels) =
        (body(&images, 16, count * height * width)?, (body(&labels, 8, count)?, &labels));
    let mut set = Images::new(height, width, 1, 10);
    for (at, picture) in pixels.chunks_exact(height * width).enumerate() {
        let label = labels.0[at];
        if label > 9 {
            return Err(labels.1.damaged(8 + at, format!("label {label}, expected 0 to 9")));
        }
        set.push(label, picture.iter().map(|pixel| f32::from(*pixel) / 255.0));
    }
    Ok(set)
}

/// The sizes in the head of an IDX file.
fn header<const SIZES: usize>(content: &Content, magic: u32) -> Result<[usize; SIZES], LoadError> {
    let word = |at: usize| {
        let bytes = content.bytes.get(4 * at..4 * at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes
            .map(u32::from_be_bytes)
            .ok_or_else(|| content.damaged(4 * at, "the head is cut short"))
    };
    let found = word(0)?;
    if found != magic {
        return Err(content.damaged(0, format!("expected the mark {magic:08x}, found {found:08x}")));
    }
    let mut sizes = [0; SIZES];
    for (at, size) in sizes.iter_mut().enumerate() {
        let found = word(at + 1)?;
        // Sizes beyond any picture or set would overflow products before the length is checked.
        if found == 0 || found > 1 << 20 {
            return Err(content.damaged(4 * at + 4, format!("a size of {found}")));
        }
        *size = found as usize;
    }
    Ok(sizes)
}

/// What follows the head, exactly `length` bytes.
fn body(content: &Content, head: usize, length: usize) -> Result<&[u8], LoadError> {
    let found = content.bytes.len() - head;
    if found != length {
        let offset = head + found.min(length);
        return Err(
            content.damaged(offset, format!("{found} bytes after the head, expected {length}"))
        );
    }
    Ok(&content.bytes[head..])
}
