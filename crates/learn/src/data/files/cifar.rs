//! CIFAR-10.

use std::{io::Cursor, path::Path};

use super::{LoadError, open::Content};
use crate::data::{Images, Split};

const SIDE: usize = 32;
const PIXELS: usize = SIDE * SIDE;
/// Pictures in a row and a column of a mosaic.
const TILES: usize = 100;

/// CIFAR-10: as many of the five training batches as there are, and the test batch, each in the
/// original binary format (`data_batch_1.bin`) or as a lossless WebP mosaic of 100 × 100 pictures
/// with a file of labels (`data_batch_1.webp`, `data_batch_1.labels`); pixels are standardised.
pub fn cifar(folder: &Path) -> Result<Split<Images>, LoadError> {
    let mut train = Images::new(SIDE, SIDE, 3, 10);
    for batch in 1..=5 {
        add(folder, &format!("data_batch_{batch}"), &mut train)?;
    }
    let mut test = Images::new(SIDE, SIDE, 3, 10);
    add(folder, "test_batch", &mut test)?;
    if train.is_empty() || test.is_empty() {
        let wanted = "data_batch_1 and test_batch of CIFAR-10 (.bin, or .webp and .labels)";
        return Err(LoadError::Missing { folder: folder.to_path_buf(), wanted });
    }
    let mut split = Split { train, test };
    split.standardise();
    Ok(split)
}

/// Adds a batch if it is there.
fn add(folder: &Path, batch: &str, set: &mut Images) -> Result<(), LoadError> {
    let [binary, mosaic, labels] =
        ["bin", "webp", "labels"].map(|end| folder.join(format!("{batch}.{end}")));
    if binary.exists() {
        from_binary(&Content::read(binary)?, set)
    } else if mosaic.exists() {
        from_mosaic(&Content::read(mosaic)?, &Content::read(labels)?, set)
    } else {
        Ok(())
    }
}

/// Records of a label and three planes: red, green, blue.
fn from_binary(content: &Content, set: &mut Images) -> Result<(), LoadError> {
    let record = 1 + 3 * PIXELS;
    let rest = content.bytes.len() % record;
    if rest != 0 {
        let offset = content.bytes.len() - rest;
        return Err(content.damaged(offset, format!("a record of {rest} bytes, expected {record}")));
    }
    for (at, record) in content.bytes.chunks_exact(record).enumerate() {
        let label = checked(content, at * record.len(), record[0])?;
        let planes = &record[1..];
        let channels = (0..3 * PIXELS).map(|at| planes[at % 3 * PIXELS + at / 3]);
        set.push(label, channels.map(|value| f32::from(value) / 255.0));
    }
    Ok(())
}

fn from_mosaic(mosaic: &Content, labels: &Content, set: &mut Images) -> Result<(), LoadError> {
    let broken = |error: image_webp::DecodingError| mosaic.damaged(0, format!("WebP: {error}"));
    let mut decoder =
        image_webp::WebPDecoder::new(Cursor::new(&mosaic.bytes[..])).map_err(broken)?;
    let (side, size) = ((SIDE * TILES) as u32, decoder.dimensions());
    if size != (side, side) || decoder.has_alpha() || decoder.is_animated() {
        let what =
            format!("{} × {} pixels, expected {side} × {side} without alpha", size.0, size.1);
        return Err(mosaic.damaged(0, what));
    }
    if labels.bytes.len() != TILES * TILES {
        let found = labels.bytes.len();
        return Err(labels.damaged(found, format!("{found} labels, expected {}", TILES * TILES)));
    }
    let mut pixels = vec![0; 3 * PIXELS * TILES * TILES];
    decoder.read_image(&mut pixels).map_err(broken)?;
    let line = 3 * SIDE * TILES;
    for (at, label) in labels.bytes.iter().enumerate() {
        let start = at / TILES * SIDE * line + at % TILES * 3 * SIDE;
        let rows = (0..SIDE).flat_map(|row| &pixels[start + row * line..][..3 * SIDE]);
        set.push(checked(labels, at, *label)?, rows.map(|value| f32::from(*value) / 255.0));
    }
    Ok(())
}

fn checked(content: &Content, offset: usize, label: u8) -> Result<u8, LoadError> {
    let wrong = || content.damaged(offset, format!("label {label}, expected 0 to 9"));
    if label > 9 { Err(wrong()) } else { Ok(label) }
}
