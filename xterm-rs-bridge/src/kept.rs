//! What is kept of an output when it is over: its beginning, its end, and how much there was.

use crate::gap::gap_line;
use crate::head::Head;
use crate::tail::Tail;
use crate::{EscapeScanner, TAIL_BYTES, Utf8Decoder};

/// Longer pushes are decoded in pieces of this size, so that the memory does not depend on what is pushed.
const PIECE_BYTES: usize = 64 * 1024;

/// An output as it is kept for replay, search and the model: the first [`HEAD_BYTES`](crate::HEAD_BYTES), a marker line that states
/// what was left out, and the last [`TAIL_BYTES`]. Up to their sum nothing is left out. All counts are UTF-8 bytes of the decoded text.
#[derive(Debug, Clone)]
pub struct KeptOutput {
    decoder: Utf8Decoder,
    decoded: String,
    head: Head,
    tail: Option<Tail>,
    total: u64,
    kept_in: Option<String>,
}

impl Default for KeptOutput {
    fn default() -> Self {
        Self::new()
    }
}

impl KeptOutput {
    /// An output that has not begun.
    pub fn new() -> Self {
        Self {
            decoder: Utf8Decoder::new(),
            decoded: String::new(),
            head: Head::new(),
            tail: None,
            total: 0,
            kept_in: None,
        }
    }

    /// Names the file that holds more of the output, for the marker.
    pub fn set_kept_in(&mut self, place: impl Into<String>) {
        self.kept_in = Some(place.into());
    }

    /// Adds bytes as they came out of the terminal.
    pub fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(PIECE_BYTES) {
            let mut decoded = std::mem::take(&mut self.decoded);
            decoded.clear();
            self.decoder.decode(piece, &mut decoded);
            self.add(&decoded);
            self.decoded = decoded;
        }
    }

    /// Tells that nothing follows.
    pub fn finish(&mut self) {
        let mut last = String::new();
        self.decoder.finish(&mut last);
        self.add(&last);
        self.decoded = String::new();
    }

    fn add(&mut self, text: &str) {
        self.total += text.len() as u64;
        if let Some(tail) = &mut self.tail {
            tail.push(text);
        } else if let Some(overflow) = self.head.push(text) {
            let mut tail = Tail::new(TAIL_BYTES, EscapeScanner::new());
            tail.push(&overflow);
            self.tail = Some(tail);
        }
    }

    /// The kept text, raw: escape sequences are in it, and the marker stands where something was left out. At most 1 MiB.
    pub fn text(&self) -> String {
        let mut text = self.head.text().to_owned();
        if let Some(tail) = &self.tail {
            let from = kept_from(tail);
            if from > 0 {
                text.push_str(&gap_line(
                    from,
                    self.kept_in.as_deref(),
                    !text.ends_with('\n'),
                ));
            }
            text.push_str(&tail.text(from, tail.end()));
        }
        text
    }

    /// How much was printed in all.
    pub fn total_bytes(&self) -> u64 {
        self.total
    }

    /// How much of it [`text`](Self::text) leaves out.
    pub fn left_out_bytes(&self) -> u64 {
        self.tail.as_ref().map_or(0, kept_from)
    }
}

/// Where the kept end of a tail begins; 0 when all of it is kept.
fn kept_from(tail: &Tail) -> u64 {
    let from = tail.end().saturating_sub(TAIL_BYTES as u64);
    if from == 0 {
        0
    } else {
        tail.clean_start(from, tail.end()).unwrap_or(tail.end())
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::HEAD_BYTES;

    fn kept(bytes: &[u8], step: usize) -> KeptOutput {
        let mut output = KeptOutput::new();
        bytes.chunks(step).for_each(|piece| output.push(piece));
        output.finish();
        output
    }

    #[test]
    fn a_small_output_is_kept_whole_with_its_escapes() {
        let output = kept(b"\x1b[31mred\x1b[0m \xff\r\n\xe2\x82", 1);
        assert_eq!(output.text(), "\x1b[31mred\x1b[0m \u{fffd}\r\n\u{fffd}");
        assert_eq!((output.total_bytes(), output.left_out_bytes()), (21, 0));
    }

    #[test]
    fn head_and_tail_together_lose_nothing() {
        let all = (0..)
            .map(|n| format!("{n:09} é\r\n"))
            .take((HEAD_BYTES + TAIL_BYTES) / 14)
            .collect::<Vec<_>>()
            .concat();
        for step in [999, 1 << 20] {
            let output = kept(all.as_bytes(), step);
            // A difference is half a megabyte long: not for printing.
            let whole = output.text() == all;
            assert!(whole);
            assert_eq!(
                (output.total_bytes(), output.left_out_bytes()),
                (all.len() as u64, 0)
            );
        }
    }

    #[test]
    fn a_large_output_keeps_both_ends_and_counts_the_middle() {
        let all = (0..300_000)
            .map(|n| format!("\x1b[3{}m{n:09}\r\n", n % 8))
            .collect::<Vec<_>>()
            .concat();
        let mut output = kept(all.as_bytes(), 4096);
        output.set_kept_in("/tmp/out");
        let left_out = output.left_out_bytes();
        let text = output.text();
        let (head, rest) = text.split_once("\x1b[0m").unwrap();
        let (marker, tail) = rest.split_once("]\r\n").unwrap();
        let marker = marker.trim_start_matches(['\r', '\n', '[']);
        assert_eq!(marker, format!("{left_out} bytes left out; see /tmp/out"));
        assert!(all.starts_with(head) && all.ends_with(tail) && tail.starts_with("\x1b[3"));
        assert_eq!(
            head.len() as u64 + left_out + tail.len() as u64,
            output.total_bytes()
        );
        assert!(head.len() <= HEAD_BYTES && head.len() > HEAD_BYTES - 16);
        assert!(tail.len() <= TAIL_BYTES && tail.len() > TAIL_BYTES - 20);
        assert!(text.len() <= 1 << 20);
    }

    #[test]
    fn one_line_of_ten_megabytes_is_ordinary() {
        let output = kept(&vec![b'x'; 10_000_000], 8192);
        assert_eq!(
            output.left_out_bytes(),
            10_000_000 - (HEAD_BYTES + TAIL_BYTES) as u64
        );
        assert!(
            output
                .text()
                .ends_with(&format!("out]\r\n{}", "x".repeat(TAIL_BYTES)))
        );
    }
}
