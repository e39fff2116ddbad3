//! Outputs in pieces: each with its own column in the index, so that a hit is shown by reading one of them.

use xterm_rs_bridge::plain_text;

use crate::store::search::words;

/// How many columns `words` has: an output has no more pieces.
pub(super) const COLUMNS: usize = 32;

/// What a piece is at least, in bytes.
const PIECE: usize = 32 * 1024;

/// How many words of the next piece are indexed with one, so that a phrase is found on the border.
const OVERLAP: usize = 31;

/// The longest phrase that is certainly found in one piece, in words.
pub(super) const LONGEST_PHRASE: usize = OVERLAP + 1;

/// A piece of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Where it begins in the bytes of the output.
    pub(super) source_at: usize,
    /// The line that it begins with, from 1.
    pub(super) line: usize,
    /// Its words as they are indexed.
    pub(super) words: String,
}

/// A text that is not cut.
pub(super) fn whole(plain: &str) -> Vec<Piece> {
    vec![Piece {
        source_at: 0,
        line: 1,
        words: indexed(plain),
    }]
}

/// The pieces of an output. It stays whole unless each piece, read alone, is what it is in the whole: what a program drew over
/// earlier lines cannot be cut there.
pub(super) fn cut(output: &[u8]) -> Vec<Piece> {
    let text = String::from_utf8_lossy(output);
    let plain = plain_text(&text);
    // Where bytes were replaced, places in the text are not those in the output.
    let exact = text.len() == output.len();
    let apart = exact.then(|| apart(&text, &plain)).flatten();
    apart.unwrap_or_else(|| whole(&plain))
}

fn apart(text: &str, plain: &str) -> Option<Vec<Piece>> {
    let step = PIECE.max(text.len().div_ceil(COLUMNS));
    let mut pieces = Vec::new();
    let mut source_at = 0;
    let mut line = 1;
    let mut behind = plain;
    while source_at < text.len() {
        let end = line_end(text, source_at + step);
        let alone = plain_text(text.get(source_at..end)?);
        behind = behind.strip_prefix(alone.as_str())?;
        let mut indexed = indexed(&alone);
        for (_, word) in words(behind).take(OVERLAP) {
            add(&mut indexed, word);
        }
        pieces.push(Piece {
            source_at,
            line,
            words: indexed,
        });
        line += alone.bytes().filter(|byte| *byte == b'\n').count();
        source_at = end;
    }
    (behind.is_empty() && !pieces.is_empty()).then_some(pieces)
}

/// Behind the first line end from here on.
fn line_end(text: &str, from: usize) -> usize {
    let behind = text.as_bytes().get(from..).unwrap_or_default();
    let end = behind.iter().position(|byte| *byte == b'\n');
    end.map_or(text.len(), |end| from + end + 1)
}

/// Words as they are indexed: lower-case, with a space between.
fn indexed(text: &str) -> String {
    let mut indexed = String::with_capacity(text.len() + 1);
    for (_, word) in words(text) {
        add(&mut indexed, word);
    }
    indexed
}

fn add(indexed: &mut String, word: &str) {
    if !indexed.is_empty() {
        indexed.push(' ');
    }
    if word.is_ascii() {
        let from = indexed.len();
        indexed.push_str(word);
        if let Some(added) = indexed.get_mut(from..) {
            added.make_ascii_lowercase();
        }
    } else {
        indexed.push_str(&word.to_lowercase());
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use pretty_assertions::assert_eq;

    /// Lines of twenty bytes in the output, nineteen on the screen.
    fn lines(count: usize) -> String {
        let mut lines = String::new();
        for line in 0..count {
            write!(lines, "\x1b[1m{line:07}\x1b[m Ab\r\n").unwrap();
        }
        lines
    }

    #[test]
    fn a_small_text_is_one_piece() {
        let piece = |words: &str| {
            vec![Piece {
                source_at: 0,
                line: 1,
                words: words.to_owned(),
            }]
        };
        assert_eq!(cut(b""), whole(""));
        assert_eq!(
            cut(b"\x1b[31mOne\x1b[m, Two;\r\n\xc3\x9cber\r\n"),
            piece("one two über")
        );
        assert_eq!(whole("ONE-two"), piece("one two"));
    }

    #[test]
    fn pieces_begin_with_a_line_and_end_with_words_of_the_next() {
        let text = lines(100_000);
        let pieces = cut(text.as_bytes());
        assert!((2..=COLUMNS).contains(&pieces.len()), "{}", pieces.len());
        for (at, piece) in pieces.iter().enumerate() {
            let first = format!("{:07}", piece.line - 1);
            assert!(piece.words.starts_with(&format!("{first} ab ")));
            assert!(text[piece.source_at..].starts_with(&format!("\x1b[1m{first}")));
            let end = pieces.get(at + 1).map_or(100_000, |next| next.line - 1);
            let last = (end + OVERLAP / 2).min(99_999);
            let words: Vec<&str> = piece.words.split(' ').collect();
            let lines = end - (piece.line - 1);
            let overlap = if end < 100_000 { OVERLAP } else { 0 };
            assert_eq!(words.len(), lines * 2 + overlap);
            assert!(words.contains(&format!("{last:07}").as_str()));
        }
    }

    #[test]
    fn what_cannot_be_cut_stays_whole() {
        let mut broken = lines(6_000).into_bytes();
        broken.extend(b"\xff");
        let one_line = "word ".repeat(50_000);
        for output in [&broken, one_line.as_bytes()] {
            assert_eq!(cut(output).len(), 1);
        }
        // Drawn over a border: the first piece alone would be something else.
        let mut drawn = lines(PIECE / 19 + 1);
        drawn.push_str("\x1b[10A\x1b[2Kup here\r\n");
        drawn.push_str(&"\n".repeat(PIECE));
        let pieces = cut(drawn.as_bytes());
        let all: Vec<&str> = pieces.iter().map(|piece| piece.words.as_str()).collect();
        assert_eq!(all.join(" ").matches("up here").count(), 1);
    }
}
