//! What models learn from: sets that are made from a seed, and loaders for well-known ones.

pub mod files;
pub mod made;

/// What to learn from, and what to be tested on.
#[derive(Clone, PartialEq, Debug)]
pub struct Split<T> {
    /// For training.
    pub train: T,
    /// For testing, disjoint from `train`.
    pub test: T,
}

/// Pictures with labels.
#[derive(Clone, PartialEq, Debug)]
pub struct Images {
    /// Rows of a picture.
    pub height: usize,
    /// Columns of a picture.
    pub width: usize,
    /// Channels of a pixel.
    pub channels: usize,
    /// How many labels there are.
    pub classes: usize,
    pixels: Vec<f32>,
    labels: Vec<u8>,
}

impl Images {
    /// An empty set of pictures of this shape.
    pub fn new(height: usize, width: usize, channels: usize, classes: usize) -> Self {
        Self { height, width, channels, classes, pixels: Vec::new(), labels: Vec::new() }
    }

    /// Adds a picture: row after row, the channels of a pixel side by side.
    ///
    /// # Panics
    /// If it has another shape or a label that is not a class.
    pub fn push(&mut self, label: u8, picture: impl IntoIterator<Item = f32>) {
        assert!(usize::from(label) < self.classes, "label {label} of {} classes", self.classes);
        self.pixels.extend(picture);
        self.labels.push(label);
        assert_eq!(self.pixels.len(), self.len() * self.size(), "pictures have one shape");
    }

    /// How many pictures there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// How many numbers a picture has.
    pub fn size(&self) -> usize {
        self.height * self.width * self.channels
    }

    /// The picture with this number.
    pub fn picture(&self, at: usize) -> &[f32] {
        &self.pixels[at * self.size()..(at + 1) * self.size()]
    }

    /// Its label.
    pub fn label(&self, at: usize) -> usize {
        usize::from(self.labels[at])
    }

    /// Keeps the first pictures only.
    pub fn truncate(&mut self, count: usize) {
        self.labels.truncate(count);
        self.pixels.truncate(count * self.size());
    }
}

impl Split<Images> {
    /// Shifts and scales all pixels so that those to learn from have mean 0 and variance 1.
    pub fn standardise(&mut self) {
        let pixels = &self.train.pixels;
        let count = pixels.len().max(1) as f64;
        let mean = pixels.iter().map(|x| f64::from(*x)).sum::<f64>() / count;
        let variance = pixels.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / count;
        let (mean, scale) = (mean as f32, 1.0 / variance.sqrt().max(1e-6) as f32);
        for set in [&mut self.train, &mut self.test] {
            set.pixels.iter_mut().for_each(|x| *x = (*x - mean) * scale);
        }
    }
}

/// A rating of an item by a user.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rating {
    /// Who rates, from 0.
    pub user: u32,
    /// What is rated, from 0.
    pub item: u32,
    /// How good it is.
    pub value: f32,
}

/// Ratings of items by users.
#[derive(Clone, PartialEq, Debug)]
pub struct Ratings {
    /// How many users there are.
    pub users: usize,
    /// How many items there are.
    pub items: usize,
    /// The ratings that are known.
    pub known: Vec<Rating>,
}

/// A text as numbers of its symbols.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Text {
    /// The symbols that occur, as bytes.
    pub alphabet: Vec<u8>,
    /// The text: places in the alphabet.
    pub codes: Vec<u8>,
}

impl Text {
    /// How many symbols there are.
    pub fn symbols(&self) -> usize {
        self.alphabet.len()
    }
}

impl Split<Text> {
    /// Numbers the bytes of a text; its last tenth is for testing.
    pub fn of_bytes(text: &[u8]) -> Self {
        let mut alphabet = text.to_vec();
        alphabet.sort_unstable();
        alphabet.dedup();
        let mut place = [0u8; 256];
        for (code, symbol) in (0..=u8::MAX).zip(&alphabet) {
            place[usize::from(*symbol)] = code;
        }
        let codes: Vec<u8> = text.iter().map(|symbol| place[usize::from(*symbol)]).collect();
        let (train, test) = codes.split_at(codes.len() - codes.len() / 10);
        let part = |codes: &[u8]| Text { alphabet: alphabet.clone(), codes: codes.to_vec() };
        Self { train: part(train), test: part(test) }
    }
}

/// Documents as counts of words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Documents {
    /// How many words there are.
    pub words: usize,
    /// For each document, (word, how often) in the order of words.
    pub documents: Vec<Vec<(u32, u32)>>,
}

impl Documents {
    /// How many words all documents have together, repetitions counted.
    pub fn tokens(&self) -> u32 {
        self.documents.iter().flatten().map(|(_, count)| count).sum()
    }
}

/// Every tenth is for testing, the others for training.
fn tenth_for_testing<T>(all: Vec<T>) -> (Vec<T>, Vec<T>) {
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for (at, one) in all.into_iter().enumerate() {
        if at % 10 == 9 { test.push(one) } else { train.push(one) }
    }
    (train, test)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_numbered_by_their_sorted_bytes() {
        let split = Split::of_bytes(b"banana band");
        assert_eq!(split.train.alphabet, b" abdn");
        assert_eq!(split.train.codes, [2, 1, 4, 1, 4, 1, 0, 2, 1, 4]);
        assert_eq!(split.test.codes, [3]);
    }

    #[test]
    fn standardised_pictures_have_mean_0_and_variance_1() {
        let mut train = Images::new(1, 2, 1, 2);
        train.push(0, [1.0, 3.0]);
        let mut test = train.clone();
        test.push(1, [5.0, 1.0]);
        let mut split = Split { train, test };
        split.standardise();
        assert_eq!(split.train.picture(0), [-1.0, 1.0]);
        assert_eq!((split.test.picture(1), split.test.label(1)), (&[3.0, -1.0][..], 1));
    }
}
