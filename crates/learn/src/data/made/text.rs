//! A text with made-up words and habits of which word follows which.

use laxity_link::{Pcg64, stream};

use super::{below, pick, zipf};
use crate::data::{Split, Text};

/// Words of the language.
const WORDS: usize = 400;
/// Words that may follow a word.
const FOLLOWERS: usize = 12;

/// About `length` characters: words of two to four syllables, each followed by one of twelve
/// others by Zipf's law, with full stops. The last tenth is for testing.
pub fn text(seed: u64, length: usize) -> Split<Text> {
    let mut rng = stream(seed, "text", 0);
    let words: Vec<Vec<u8>> = (0..WORDS).map(|_| word(&mut rng)).collect();
    let common = zipf(WORDS);
    let followers: Vec<Vec<usize>> =
        (0..WORDS).map(|_| (0..FOLLOWERS).map(|_| pick(&mut rng, &common)).collect()).collect();
    let habit = zipf(FOLLOWERS);
    let (mut made, mut at) = (Vec::with_capacity(length + 16), 0);
    while made.len() < length {
        made.extend_from_slice(&words[at]);
        let stop = below(&mut rng, 8) == 0;
        made.extend_from_slice(if stop { b".\n" } else { b" " });
        let next = pick(&mut rng, &habit);
        at = if stop { pick(&mut rng, &common) } else { followers[at][next] };
    }
    made.truncate(length);
    Split::of_bytes(&made)
}

fn word(rng: &mut Pcg64) -> Vec<u8> {
    let syllables = 1 + below(rng, 3);
    (0..=syllables)
        .flat_map(|_| {
            let (first, second) = (below(rng, 16), below(rng, 5));
            [b"bcdfghjklmnprstw"[first], b"aeiou"[second]]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_letters_spaces_and_full_stops() {
        let split = text(1, 20_000);
        assert_eq!(split.train.codes.len() + split.test.codes.len(), 20_000);
        assert_eq!(split.train.alphabet, b"\n .abcdefghijklmnoprstuw");
    }
}
