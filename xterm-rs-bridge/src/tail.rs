//! The newest part of an output, in bounded memory.

use std::collections::VecDeque;

use crate::EscapeScanner;

/// Text is held in blocks of about this size, so that dropping the oldest costs nothing however much is pushed.
const BLOCK_BYTES: usize = 16 * 1024;

/// A cut looks this far ahead for the beginning of a line before it settles for the middle of one.
const LINE_SEARCH_BYTES: usize = 8 * 1024;

#[derive(Debug, Clone)]
struct Block {
    text: String,
    /// The state of the escape sequences before the first byte.
    before: EscapeScanner,
    /// The state after the last byte.
    after: EscapeScanner,
}

/// The newest text of an output. Places in it are counted in bytes since the output's beginning and stay valid when old text is
/// dropped.
#[derive(Debug, Clone)]
pub(crate) struct Tail {
    bound: usize,
    blocks: VecDeque<Block>,
    /// Where the tail began, before anything was dropped.
    origin: u64,
    start: u64,
    end: u64,
    /// The last place at which the text may be cut.
    boundary: u64,
    scanner: EscapeScanner,
}

impl Tail {
    /// A tail that begins at `origin`, in plain text, and keeps at least the newest `bound` bytes and at most a block more.
    pub(crate) fn new(bound: usize, origin: u64) -> Self {
        Self {
            bound,
            blocks: VecDeque::new(),
            origin,
            start: origin,
            end: origin,
            boundary: origin,
            scanner: EscapeScanner::new(),
        }
    }

    /// The place where the tail began.
    pub(crate) fn origin(&self) -> u64 {
        self.origin
    }

    /// The state of the escape sequences after the newest byte.
    pub(crate) fn scanner(&self) -> EscapeScanner {
        self.scanner
    }

    /// The place after the newest byte.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// The last place that lies in no escape sequence.
    pub(crate) fn boundary(&self) -> u64 {
        self.boundary
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let blocks = self.blocks.capacity() * size_of::<Block>();
        blocks
            + self
                .blocks
                .iter()
                .map(|block| block.text.capacity())
                .sum::<usize>()
    }

    pub(crate) fn push(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let room = match self.blocks.back() {
                Some(block) => {
                    rest.floor_char_boundary(BLOCK_BYTES.saturating_sub(block.text.len()))
                }
                None => 0,
            };
            if room == 0 {
                self.open_block();
                continue;
            }
            let (piece, after) = rest.split_at(room);
            if let Some(at) = self.scanner.advance(piece) {
                self.boundary = self.end + at as u64;
            }
            if let Some(block) = self.blocks.back_mut() {
                block.text.push_str(piece);
                block.after = self.scanner;
            }
            self.end += piece.len() as u64;
            rest = after;
        }
    }

    /// Starts a block, in the memory of the oldest one when that is no longer needed.
    fn open_block(&mut self) {
        let mut text = String::new();
        while let Some(oldest) = self.blocks.front() {
            let after_drop = self.start + oldest.text.len() as u64;
            if self.end - after_drop < self.bound as u64 {
                break;
            }
            self.start = after_drop;
            text = self
                .blocks
                .pop_front()
                .map_or_else(String::new, |block| block.text);
        }
        text.clear();
        text.reserve_exact(BLOCK_BYTES.saturating_sub(text.capacity()));
        self.blocks.push_back(Block {
            text,
            before: self.scanner,
            after: self.scanner,
        });
    }

    /// The text from `from` to `to`, each brought back to the beginning of its character; what is no longer held is not in it.
    pub(crate) fn text(&self, from: u64, to: u64) -> String {
        let mut out = String::with_capacity(
            usize::try_from(to.saturating_sub(from.max(self.start))).unwrap_or(0),
        );
        let mut at = self.start;
        for block in &self.blocks {
            let after = at + block.text.len() as u64;
            if after > from && at < to {
                let first = usize::try_from(from.saturating_sub(at)).unwrap_or(0);
                let last = usize::try_from(to.min(after) - at).unwrap_or(0);
                let text = &block.text;
                out.push_str(
                    &text[text.floor_char_boundary(first)..text.floor_char_boundary(last)],
                );
            }
            at = after;
        }
        out
    }

    /// The first place at or after `from` where a cut is clean: outside of escape sequences, and at the beginning of a line if one
    /// begins soon after and before `limit`. `None` when there is no such place up to `limit`.
    pub(crate) fn clean_start(&self, from: u64, limit: u64) -> Option<u64> {
        let from = from.max(self.start);
        let mut first_boundary = None;
        let mut at = self.start;
        for (index, block) in self.blocks.iter().enumerate() {
            let block_at = at;
            at += block.text.len() as u64;
            let after_block = self
                .blocks
                .get(index + 1)
                .and_then(|next| next.text.chars().next());
            if at < from {
                continue;
            }
            let mut scanner = block.before;
            let mut line_began = block_at == self.origin;
            let mut places = block.text.char_indices().peekable();
            while let Some((offset, character)) = places.next() {
                let place = block_at + offset as u64;
                if place > limit {
                    return first_boundary;
                }
                if place >= from && scanner.at_boundary() {
                    if line_began {
                        return Some(place);
                    }
                    let boundary = *first_boundary.get_or_insert(place);
                    if place - boundary > LINE_SEARCH_BYTES as u64 {
                        return first_boundary;
                    }
                }
                scanner.advance(&block.text[offset..offset + character.len_utf8()]);
                let next = places.peek().map(|&(_, next)| next).or(after_block);
                line_began = ends_line(character, next);
            }
            if at >= from && at <= limit && block.after.at_boundary() {
                // The end of the block is the start of the next one; a line that begins there is found as an ordinary boundary.
                first_boundary.get_or_insert(at);
                if line_began {
                    return Some(at);
                }
            }
        }
        first_boundary
    }

    /// The last place in `(from, to]` at which a line ends outside of escape sequences.
    pub(crate) fn last_line_end(&self, from: u64, to: u64) -> Option<u64> {
        let mut at = self.end;
        let mut after_block: Option<char> = None;
        for block in self.blocks.iter().rev() {
            at -= block.text.len() as u64;
            let mut scanner = block.before;
            let mut found = None;
            let mut places = block.text.char_indices().peekable();
            while let Some((offset, character)) = places.next() {
                let place = at + (offset + character.len_utf8()) as u64;
                if place > to {
                    break;
                }
                scanner.advance(&block.text[offset..offset + character.len_utf8()]);
                let next = places.peek().map(|&(_, next)| next).or(after_block);
                // A CR that is the newest character may still become a CR LF.
                let settled = character == '\n' || next.is_some();
                if place > from && settled && scanner.at_boundary() && ends_line(character, next) {
                    found = Some(place);
                }
            }
            if found.is_some() || at <= from {
                return found;
            }
            after_block = block.text.chars().next().or(after_block);
        }
        None
    }
}

/// A line ends with LF, and with a CR that no LF follows: a progress display is a sequence of such lines.
fn ends_line(character: char, next: Option<char>) -> bool {
    character == '\n' || (character == '\r' && next != Some('\n'))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn filled(bound: usize, text: &str, step: usize) -> Tail {
        let mut tail = Tail::new(bound, 0);
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(step.max(4)));
            tail.push(piece);
            rest = after;
        }
        tail
    }

    #[test]
    fn the_newest_text_is_held_and_memory_is_bounded() {
        let text = (0..200_000)
            .map(|n| format!("line {n} é\n"))
            .collect::<Vec<_>>()
            .concat();
        for step in [7, 5000, text.len()] {
            let tail = filled(50_000, &text, step);
            assert_eq!(tail.end(), text.len() as u64);
            assert!(tail.end() - tail.start >= 50_000);
            let memory = tail.memory_bytes();
            assert!(memory <= 50_000 + 4 * BLOCK_BYTES, "{memory}");
            let from = tail.clean_start(tail.end() - 50_000, tail.end()).unwrap();
            let kept = tail.text(from, tail.end());
            assert_eq!(kept, text[text.len() - kept.len()..]);
            assert!(kept.starts_with("line ") && kept.len() > 49_900);
        }
    }

    #[test]
    fn a_cut_avoids_sequences_and_prefers_lines() {
        let tail = filled(100, "ab\x1b[31mcd\r\nef", 100);
        let starts: Vec<_> = (0..=13).map(|from| tail.clean_start(from, 13)).collect();
        let expected = [0, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 12, 13].map(Some);
        assert_eq!(starts, expected);
        assert_eq!(tail.clean_start(3, 8), Some(7));
        assert_eq!(tail.clean_start(3, 5), None);
    }

    #[test]
    fn lines_end_with_lf_and_with_a_lone_cr() {
        let tail = filled(100, "10%\r20%\rab\r\ncd\r", 100);
        assert_eq!(tail.last_line_end(0, tail.end()), Some(12));
        assert_eq!(tail.last_line_end(0, 11), Some(8));
        assert_eq!(tail.last_line_end(8, 11), None);
    }
}
