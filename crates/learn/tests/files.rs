//! Sets of files: small ones that are right, and broken ones that are told apart.

use std::{fs, io::Write, path::Path};

use flate2::{Compression, write::GzEncoder};
use laxity_learn::data::files::{LoadError, cifar, digits, movielens, shakespeare, words};
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder for the test")
}

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    fs::write(folder.join(name), bytes).expect("a file for the test");
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).expect("memory takes everything");
    packer.finish().expect("memory takes everything")
}

/// Asserts that an error names this file and place, and says this.
#[track_caller]
fn names<T>(result: Result<T, LoadError>, file: &str, offset: usize, says: &str) {
    let Err(error) = result else { panic!("a broken {file} was loaded") };
    let text = error.to_string();
    let found = matches!(&error, LoadError::Damaged { file: found, offset: at, .. }
        if found.ends_with(file) && *at == offset);
    assert!(found && text.contains(says), "{error:?}");
    assert!(text.contains(file) && text.contains(&format!("byte {offset}")), "{text}");
}

/// Two pictures of 2 × 3 pixels.
fn idx_images() -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3];
    bytes.extend([0, 255, 0, 255, 0, 255, 255, 255, 255, 0, 0, 0]);
    bytes
}

const IDX_LABELS: [u8; 10] = [0, 0, 8, 1, 0, 0, 0, 2, 7, 0];

fn idx_folder(images: &[u8], labels: &[u8]) -> TempDir {
    let folder = folder();
    for part in ["train", "t10k"] {
        write(folder.path(), &format!("{part}-images-idx3-ubyte.gz"), &packed(images));
        write(folder.path(), &format!("{part}-labels-idx1-ubyte.gz"), &packed(labels));
    }
    folder
}

#[test]
fn pictures_in_idx_files() {
    let folder = idx_folder(&idx_images(), &IDX_LABELS);
    let set = digits(folder.path()).expect("a set").train;
    assert_eq!((set.len(), set.height, set.width, set.channels), (2, 2, 3, 1));
    assert_eq!((set.label(0), set.label(1)), (7, 0));
    // Half black, half white: standardised to -1 and 1.
    assert_eq!(set.picture(0), [-1.0, 1.0, -1.0, 1.0, -1.0, 1.0]);
}

#[test]
fn broken_idx_files() {
    let images = "train-images-idx3-ubyte.gz";
    let labels = "train-labels-idx1-ubyte.gz";
    let broken = |at: usize, value: u8| {
        let mut bytes = idx_images();
        bytes[at] = value;
        digits(idx_folder(&bytes, &IDX_LABELS).path())
    };
    names(broken(3, 1), images, 0, "00000803");
    names(broken(4, 255), images, 4, "a size of");
    names(broken(15, 4), images, 28, "expected 16");
    names(broken(15, 2), images, 24, "expected 8");
    names(digits(idx_folder(&idx_images()[..9], &IDX_LABELS).path()), images, 8, "cut short");
    let with_labels = |at: usize, value: u8| {
        let mut bytes = IDX_LABELS;
        bytes[at] = value;
        digits(idx_folder(&idx_images(), &bytes).path())
    };
    names(with_labels(9, 10), labels, 9, "label 10");
    names(with_labels(7, 3), labels, 4, "3 labels for 2 images");
    let none = folder();
    let text = digits(none.path()).unwrap_err().to_string();
    assert!(text.contains(images), "{text}");
    let half = packed(&idx_images());
    let cut = idx_folder(&idx_images(), &IDX_LABELS);
    write(cut.path(), images, &half[..half.len() / 2]);
    assert!(matches!(digits(cut.path()), Err(LoadError::Read { .. })));
}

#[test]
fn cifar_in_its_original_format() {
    let folder = folder();
    // Red rises along a picture; green and blue are constant.
    let mut record = vec![3];
    record.extend((0..1024u32).map(|at| (at / 4) as u8));
    record.extend([0; 1024]);
    record.extend([255; 1024]);
    write(folder.path(), "data_batch_2.bin", &[record.clone(), record.clone()].concat());
    write(folder.path(), "test_batch.bin", &record);
    let set = cifar(folder.path()).expect("a set");
    assert_eq!((set.train.len(), set.test.len(), set.train.label(1)), (2, 1, 3));
    let picture = set.train.picture(0);
    assert_eq!((picture.len(), set.train.channels), (3072, 3));
    // Channels of a pixel lie side by side, so every third number is blue: the largest there is.
    let most = picture.iter().fold(f32::MIN, |most, x| most.max(*x));
    assert!(picture.chunks(3).all(|pixel| pixel[2] == most && pixel[1] < most));
    write(folder.path(), "test_batch.bin", &record[..3000]);
    names(cifar(folder.path()), "test_batch.bin", 0, "3000 bytes");
    record[0] = 12;
    write(folder.path(), "test_batch.bin", &record);
    names(cifar(folder.path()), "test_batch.bin", 0, "label 12");
    fs::remove_file(folder.path().join("test_batch.bin")).expect("it was there");
    assert!(matches!(cifar(folder.path()), Err(LoadError::Missing { .. })));
    write(folder.path(), "test_batch.webp", b"RIFF....WEBPVP8L");
    write(folder.path(), "test_batch.labels", &[0; 10_000]);
    names(cifar(folder.path()), "test_batch.webp", 0, "WebP");
}

#[test]
fn ratings_in_lines() {
    let folder = folder();
    let lines: String =
        (1..=20).map(|at| format!("{at}\t{}\t{}\t88\n", 21 - at, at % 5 + 1)).collect();
    write(folder.path(), "u.data", lines.as_bytes());
    let set = movielens(folder.path()).expect("a set");
    assert_eq!((set.train.users, set.train.items), (20, 20));
    assert_eq!((set.train.known.len(), set.test.known.len()), (18, 2));
    for (line, says) in
        [("1\t2\t3", "4 whole numbers"), ("0\t1\t1\t1", "user 0"), ("1\t1\t6\t1", "rating 6")]
    {
        write(folder.path(), "u.data", format!("5\t5\t5\t5\r\n{line}\n").as_bytes());
        names(movielens(folder.path()), "u.data", 9, says);
    }
    write(folder.path(), "u.data", b"1\t1\t1\t1\n");
    names(movielens(folder.path()), "u.data", 8, "too few");
}

#[test]
fn texts() {
    let folder = folder();
    write(folder.path(), "input.txt", &b"abc ".repeat(1000));
    let set = shakespeare(folder.path()).expect("a set");
    assert_eq!((set.train.codes.len(), set.test.codes.len()), (3600, 400));
    assert_eq!(set.train.alphabet, b" abc");
    write(folder.path(), "input.txt", b"too short");
    names(shakespeare(folder.path()), "input.txt", 9, "9 bytes");
}

#[test]
fn bags_of_words() {
    let folder = folder();
    let entries: String = (1..=10).map(|at| format!("{at} 2 3\n{at} 1 1\n")).collect();
    let name = "docword.test.txt.gz";
    write(folder.path(), name, &packed(format!("11\n4\n20\n{entries}").as_bytes()));
    let set = words(folder.path()).expect("a set");
    // One document of eleven is empty; the tenth of the others is for testing.
    assert_eq!((set.train.documents.len(), set.test.documents.len()), (9, 1));
    assert_eq!(set.train.documents[0], [(0, 1), (1, 3)]);
    assert_eq!((set.train.words, set.train.tokens()), (4, 36));
    for (content, offset, says) in [
        ("1\n1\n", 4, "no entries"),
        ("0\n1\n1\n", 0, "0 documents"),
        ("1\n1\n2\n1 1 1\n", 12, "1 entries, expected 2"),
        ("1\n1\n1\n2 1 1\n", 6, "document 2 of 1"),
        ("1\n1\n1\n1 1 x\n", 6, "3 whole numbers"),
    ] {
        write(folder.path(), name, &packed(content.as_bytes()));
        names(words(folder.path()), name, offset, says);
    }
    fs::remove_file(folder.path().join(name)).expect("it was there");
    assert!(matches!(words(folder.path()), Err(LoadError::Missing { .. })));
}
