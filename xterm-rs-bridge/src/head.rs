//! The beginning of an output, up to a bound, cut where a cut is clean.

use crate::{EscapeScanner, HEAD_BYTES};

/// The first [`HEAD_BYTES`] of an output. What was taken from its front makes no new room.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    text: String,
    room: usize,
    /// The last place in `text` that lies in no escape sequence.
    boundary: usize,
    scanner: EscapeScanner,
}

impl Head {
    pub(crate) fn new() -> Self {
        Self {
            text: String::new(),
            room: HEAD_BYTES,
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

    /// Adds `text`. When the bound is passed the head is complete, ends at a boundary, and what did not fit is returned: it begins
    /// the tail, in plain text.
    pub(crate) fn push(&mut self, text: &str) -> Option<String> {
        let fits = text.len() <= self.room;
        let (own, rest) = text.split_at(text.floor_char_boundary(self.room));
        if self.text.capacity() < HEAD_BYTES && self.text.len() + own.len() > HEAD_BYTES / 2 {
            // Doubling from here could take twice the bound.
            self.text.reserve_exact(HEAD_BYTES - self.text.len());
        }
        if let Some(at) = self.scanner.advance(own) {
            self.boundary = self.text.len() + at;
        }
        self.text.push_str(own);
        self.room -= own.len();
        if fits {
            return None;
        }
        self.room = 0;
        let mut overflow = self.text.split_off(self.boundary);
        overflow.push_str(rest);
        Some(overflow)
    }

    /// Removes and returns the first `len` bytes; `len` must be a boundary.
    pub(crate) fn take_front(&mut self, len: usize) -> String {
        let taken = if len == self.text.len() {
            std::mem::take(&mut self.text)
        } else {
            self.text.drain(..len).collect()
        };
        self.boundary = self.boundary.saturating_sub(len);
        taken
    }

    /// Adds what ends the output, past any bound, and makes all of it takeable.
    pub(crate) fn close_with(&mut self, text: String) {
        if self.text.is_empty() {
            self.text = text;
        } else {
            self.text.reserve_exact(text.len());
            self.text.push_str(&text);
        }
        self.boundary = self.text.len();
    }
}
