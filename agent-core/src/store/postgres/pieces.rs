//! A text as the index of words takes it: in pieces that fit a `tsvector`, and queries to match.
//!
//! A `tsvector` remembers at most 255 places of a word, places up to 16383, and about a megabyte in all; beyond that it forgets
//! without a word. So a text is cut before any of that happens. The pieces overlap, so that a phrase lies whole in one of them.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::store::search::{Query, words};

/// How many words two pieces share.
const OVERLAP: usize = 32;

/// The most words of a piece.
const MOST_WORDS: usize = 16_000;

/// How often a word may stand in a piece.
const MOST_PLACES: usize = 255;

/// The most bytes of a piece's different words: far below the limit, since a piece is read whole to compare places.
const MOST_BYTES: usize = 256 * 1024;

/// Longer words are known by their digest; the limit is 2046 bytes.
const LONGEST_WORD: usize = 256;

/// A text's pieces, as the input of `tsvector`. None for a text without words.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut piece = Piece::default();
    let mut last: VecDeque<String> = VecDeque::with_capacity(OVERLAP);
    for (_, word) in words(text) {
        let word = lexeme(&word.to_lowercase()).into_owned();
        if !piece.has_room_for(&word) {
            pieces.push(piece.written());
            piece = Piece::default();
            for word in &last {
                piece.add(word);
            }
        }
        piece.add(&word);
        if last.len() == OVERLAP {
            last.pop_front();
        }
        last.push_back(word);
    }
    if piece.words > 0 {
        pieces.push(piece.written());
    }
    pieces
}

/// What all must match a piece of a text that a query is found in, each perhaps another piece, as the input of `tsquery`.
/// A text whose pieces match need not hold the query: a phrase longer than the overlap is looked for in parts.
pub(super) fn queries(query: &Query) -> Vec<String> {
    let parts = query
        .phrases()
        .iter()
        .flat_map(|phrase| phrase.chunks(OVERLAP + 1));
    let mut queries: Vec<String> = parts
        .map(|part| {
            let words: Vec<String> = part
                .iter()
                .map(|word| format!("'{}'", lexeme(word)))
                .collect();
            words.join(" <-> ")
        })
        .collect();
    queries.sort();
    queries.dedup();
    queries
}

/// A lower-case word as the index knows it.
fn lexeme(word: &str) -> Cow<'_, str> {
    if word.len() <= LONGEST_WORD {
        return Cow::Borrowed(word);
    }
    // No word begins so.
    let mut digest = String::from("#");
    for byte in Sha256::digest(word.as_bytes()) {
        // Writing to a string does not fail.
        let _ = write!(digest, "{byte:02x}");
    }
    Cow::Owned(digest)
}

/// A piece in the making.
#[derive(Debug, Default)]
struct Piece {
    places: HashMap<String, Vec<usize>>,
    words: usize,
    bytes: usize,
}

impl Piece {
    fn has_room_for(&self, word: &str) -> bool {
        self.words < MOST_WORDS
            && self.bytes + word.len() <= MOST_BYTES
            && self
                .places
                .get(word)
                .is_none_or(|places| places.len() < MOST_PLACES)
    }

    fn add(&mut self, word: &str) {
        self.words += 1;
        if let Some(places) = self.places.get_mut(word) {
            places.push(self.words);
        } else {
            self.bytes += word.len();
            self.places.insert(word.to_owned(), vec![self.words]);
        }
    }

    /// Words hold letters, digits and `_` alone, so nothing in them ends the quotes.
    fn written(&self) -> String {
        let mut text = String::with_capacity(self.bytes + 8 * self.words);
        for (word, places) in &self.places {
            let _ = write!(text, "'{word}':");
            for (at, place) in places.iter().enumerate() {
                let comma = if at == 0 { "" } else { "," };
                let _ = write!(text, "{comma}{place}");
            }
            text.push(' ');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::collections::BTreeMap;

    /// The words of a piece with their places.
    fn read(piece: &str) -> BTreeMap<String, Vec<usize>> {
        piece
            .split_whitespace()
            .map(|entry| {
                let (word, places) = entry.rsplit_once(':').unwrap();
                let places = places.split(',').map(|place| place.parse().unwrap());
                (word.trim_matches('\'').to_owned(), places.collect())
            })
            .collect()
    }

    #[test]
    fn a_short_text_is_one_piece() {
        let found = pieces("Error: it's an ERROR, Übung 错误");
        let expected = [
            ("an", vec![4]),
            ("error", vec![1, 5]),
            ("it", vec![2]),
            ("s", vec![3]),
            ("übung", vec![6]),
            ("错", vec![7]),
            ("误", vec![8]),
        ];
        let expected: BTreeMap<String, Vec<usize>> = expected
            .into_iter()
            .map(|(word, places)| (word.to_owned(), places))
            .collect();
        assert_eq!(
            found.iter().map(|piece| read(piece)).collect::<Vec<_>>(),
            [expected]
        );
        assert_eq!(pieces(" … \n"), Vec::<String>::new());
    }

    #[test]
    fn pieces_stay_below_the_limits_and_overlap() {
        let numbers = |count: usize| (0..count).map(|number| format!("{number:0>250}"));
        let many: Vec<String> = (0..40_000).map(|number| format!("w{number}")).collect();
        let many = many.join(" ");
        let same = "again ".repeat(1000);
        let long = numbers(3000).collect::<Vec<String>>().join(" ");
        for (text, least) in [(many, 3), (same, 4), (long, 3)] {
            let pieces: Vec<_> = pieces(&text).iter().map(|piece| read(piece)).collect();
            assert!(pieces.len() >= least, "{} pieces", pieces.len());
            let mut before: Vec<String> = Vec::new();
            for piece in pieces {
                let mut words = BTreeMap::new();
                for (word, places) in &piece {
                    assert!(places.len() <= MOST_PLACES);
                    words.extend(places.iter().map(|place| (*place, word.clone())));
                }
                assert_eq!(words.keys().copied().max(), Some(words.len()));
                assert!(words.len() <= MOST_WORDS);
                let words: Vec<String> = words.into_values().collect();
                if !before.is_empty() {
                    assert_eq!(words[..OVERLAP], before[before.len() - OVERLAP..]);
                }
                before = words;
            }
        }
    }

    #[test]
    fn queries_are_phrases_of_words_that_the_index_knows() {
        let of = |query: &str| queries(&Query::parse(query).unwrap());
        assert_eq!(of("Alpha beta ALPHA"), ["'alpha'", "'beta'"]);
        assert_eq!(of("\"the end\" 错误"), ["'the' <-> 'end'", "'错' <-> '误'"]);
        let long = "x".repeat(300);
        let digest = lexeme(&long).into_owned();
        assert_eq!((digest.len(), &digest[..1]), (65, "#"));
        assert_eq!(of(&long), [format!("'{digest}'")]);
        assert!(pieces(&long)[0].starts_with(&format!("'{digest}':1")));
        let phrase: Vec<String> = (100..140).map(|number| number.to_string()).collect();
        let quoted = |part: &[String]| {
            let words: Vec<String> = part.iter().map(|word| format!("'{word}'")).collect();
            words.join(" <-> ")
        };
        assert_eq!(
            of(&format!("\"{}\"", phrase.join(" "))),
            [quoted(&phrase[..33]), quoted(&phrase[33..])]
        );
    }
}
