//! The beginning of an output, up to a bound, cut where a cut is clean.

use crate::{EscapeScanner, HEAD_BYTES};

/// The first [`HEAD_BYTES`] of an output.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    text: String,
    /// The last place in `text` that lies in no escape sequence.
    boundary: usize,
    scanner: EscapeScanner,
}

impl Head {
    pub(crate) fn new() -> Self {
        Self {
            text: String::new(),
            boundary: 0,
            scanner: EscapeScanner::new(),
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The length of the text up to the last place that lies in no escape sequence.
    pub(crate) fn boundary(&self) -> usize {
        self.boundary
    }

    /// The state of the escape sequences after the text.
    pub(crate) fn scanner(&self) -> EscapeScanner {
        self.scanner
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.text.capacity()
    }

    /// Adds `text`. When the bound is passed the head is complete, ends at a boundary, and what did not fit is returned: it begins
    /// the tail, in plain text.
    pub(crate) fn push(&mut self, text: &str) -> Option<String> {
        let room = HEAD_BYTES - self.text.len();
        let (own, rest) = text.split_at(text.floor_char_boundary(room));
        if self.text.capacity() < HEAD_BYTES && self.text.len() + own.len() > HEAD_BYTES / 2 {
            // Doubling from here could take twice the bound.
            self.text.reserve_exact(room);
        }
        if let Some(at) = self.scanner.advance(own) {
            self.boundary = self.text.len() + at;
        }
        self.text.push_str(own);
        if text.len() <= room {
            return None;
        }
        let mut overflow = self.text.split_off(self.boundary);
        overflow.push_str(rest);
        self.scanner = EscapeScanner::new();
        Some(overflow)
    }

    /// The first place at or after `from` that lies in no escape sequence; the end of the text when there is none.
    pub(crate) fn clean_start(&self, from: usize) -> usize {
        let from = self.text.floor_char_boundary(from);
        let mut scanner = EscapeScanner::new();
        scanner.advance(&self.text[..from]);
        let mut at = from;
        for character in self.text[from..].chars() {
            if scanner.at_boundary() {
                break;
            }
            let after = at + character.len_utf8();
            scanner.advance(&self.text[at..after]);
            at = after;
        }
        at
    }
}
