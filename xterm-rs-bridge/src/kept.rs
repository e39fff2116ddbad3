//! What is held of an output: its beginning, its end, and how much there was.

use crate::gap::gap_line;
use crate::head::Head;
use crate::plain::plain_text_of;
use crate::tail::Tail;
use crate::{EscapeScanner, TAIL_BYTES, Utf8Decoder};

/// Longer pushes are decoded in pieces of this size, so that the memory does not depend on what is pushed.
const PIECE_BYTES: usize = 64 * 1024;

/// How many of the first raw bytes are held: enough to tell a picture from text, also one that begins with an XML prologue.
const FIRST_BYTES: usize = 1024;

/// The one place where a command's output is held, for all who read it: the first [`HEAD_BYTES`](crate::HEAD_BYTES) and the last
/// [`TAIL_BYTES`], decoded once, with exact counts. Up to their sum nothing is left out.
///
/// Who looks when it is over (a replay, a search, the model) reads [`text`](Self::text); who looks now and then reads
/// [`text_since`](Self::text_since); a card follows with a [`LiveCursor`](crate::LiveCursor). Unless another unit is named, counts and
/// places are UTF-8 bytes of the decoded text.
#[derive(Debug, Clone, Default)]
pub struct KeptOutput {
    decoder: Utf8Decoder,
    scratch: String,
    held: Held,
    /// The first bytes as they came.
    first: Vec<u8>,
    raw_bytes: u64,
    spill: Option<SpillBound>,
    finished: bool,
    kept_in: Option<String>,
}

/// Up to where a spill file takes the output.
#[derive(Debug, Clone, Copy)]
struct SpillBound {
    /// In raw bytes.
    limit: u64,
    /// Where the limit was passed.
    cut: Option<SpillCut>,
}

#[derive(Debug, Clone, Copy)]
struct SpillCut {
    raw: u64,
    /// The same place in the decoded text.
    decoded: u64,
}

/// The decoded text, as far as it is held.
#[derive(Debug, Clone)]
struct Held {
    head: Head,
    tail: Option<Tail>,
}

impl Default for Held {
    fn default() -> Self {
        Self {
            head: Head::new(),
            tail: None,
        }
    }
}

impl Held {
    fn add(&mut self, text: &str) {
        if let Some(tail) = &mut self.tail {
            tail.push(text);
        } else if let Some(overflow) = self.head.push(text) {
            let mut tail = Tail::new(TAIL_BYTES, self.head.text().len() as u64);
            tail.push(&overflow);
            self.tail = Some(tail);
        }
    }

    fn end(&self) -> u64 {
        self.tail
            .as_ref()
            .map_or(self.head.text().len() as u64, Tail::end)
    }

    fn scanner(&self) -> EscapeScanner {
        self.tail
            .as_ref()
            .map_or(self.head.scanner(), Tail::scanner)
    }
}

/// What came since an earlier look, from [`KeptOutput::text_since`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Since {
    /// The new text, raw: escape sequences are in it, and a marker line stands where something is no longer held.
    pub text: String,
    /// How many bytes the marker line counts.
    pub left_out: u64,
    /// Where the next look begins.
    pub next: u64,
}

impl KeptOutput {
    /// An output that has not begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the file that holds more of the output, for the markers.
    pub fn set_kept_in(&mut self, place: impl Into<String>) {
        self.kept_in = Some(place.into());
    }

    /// Names no file any more, because it could not be written on.
    pub fn clear_kept_in(&mut self) {
        self.kept_in = None;
    }

    pub(crate) fn kept_in(&self) -> Option<&str> {
        self.kept_in.as_deref()
    }

    /// Adds bytes as they came out of the terminal; after the [end](Self::finish) none are taken.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.finished {
            return;
        }
        let room = FIRST_BYTES - self.first.len();
        self.first
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
        for piece in bytes.chunks(PIECE_BYTES) {
            self.mind_spill_limit(piece);
            let held = &mut self.held;
            self.decoder
                .decode_to(piece, &mut self.scratch, |text| held.add(text));
            self.raw_bytes += piece.len() as u64;
        }
    }

    /// Tells that nothing follows.
    pub fn finish(&mut self) {
        if self.finished {
            return;
        }
        self.finished = true;
        let mut last = String::new();
        self.decoder.finish(&mut last);
        self.held.add(&last);
        self.scratch = String::new();
    }

    /// Was the end told?
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// The kept text, raw: escape sequences are in it, and the marker stands where something was left out. At most 1 MiB.
    pub fn text(&self) -> String {
        self.since(0, self.total_bytes()).text
    }

    /// The [`plain_text`](crate::plain_text) of the kept text, without holding that in one piece as well.
    pub fn plain_text(&self) -> String {
        let head = self.held.head.text();
        let mut marker = String::new();
        let mut end = String::new();
        if let Some(tail) = &self.held.tail {
            let from = (head.len() as u64).max(kept_from(tail));
            let left_out = from - head.len() as u64;
            if left_out > 0 {
                let line_open = !head.is_empty() && !head.ends_with('\n');
                marker = gap_line(left_out, self.kept_in(), line_open);
            }
            end = tail.text(from, self.total_bytes());
        }
        let pieces = [head, &marker, &end];
        plain_text_of(pieces.iter().map(|piece| piece.len()).sum(), pieces)
    }

    /// What came after the place `from`, as far as it is held. Text ends between characters and, until the [end](Self::finish), outside
    /// of escape sequences: the beginning of one waits for the next look. At most 1 MiB.
    pub fn text_since(&self, from: u64) -> Since {
        self.since(from, self.settled_bytes())
    }

    fn since(&self, from: u64, to: u64) -> Since {
        let mut text = String::new();
        let mut left_out = 0;
        let head = self.held.head.text();
        let head_end = head.len() as u64;
        if from < to.min(head_end) {
            text.push_str(&head[floor(head, from)..floor(head, to)]);
        }
        if let Some(tail) = &self.held.tail {
            let wanted = from.max(head_end);
            let start = wanted.max(kept_from(tail).min(to));
            if start > wanted {
                left_out = start - wanted;
                let line_open = !text.is_empty() && !text.ends_with('\n');
                text.push_str(&gap_line(left_out, self.kept_in(), line_open));
            }
            if start < to {
                text.push_str(&tail.text(start, to));
            }
        }
        Since {
            text,
            left_out,
            next: to,
        }
    }

    /// How much was printed in all.
    pub fn total_bytes(&self) -> u64 {
        self.held.end()
    }

    /// How much was printed, without an escape sequence that has not ended: as far as [`text_since`](Self::text_since) goes.
    pub fn settled_bytes(&self) -> u64 {
        if self.finished {
            self.total_bytes()
        } else {
            let head = &self.held.head;
            self.held
                .tail
                .as_ref()
                .map_or(head.boundary() as u64, Tail::boundary)
        }
    }

    /// How much of it [`text`](Self::text) leaves out.
    pub fn left_out_bytes(&self) -> u64 {
        self.tail()
            .map_or(0, |tail| kept_from(tail) - tail.origin())
    }

    /// The first raw bytes, at most 1024: what begins a picture is among them.
    pub fn first_bytes(&self) -> &[u8] {
        &self.first
    }

    /// The memory that this holds, in bytes: under 1.5 MiB whatever is pushed.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + self.scratch.capacity()
            + self.first.capacity()
            + self.held.head.memory_bytes()
            + self.tail().map_or(0, Tail::memory_bytes)
    }

    pub(crate) fn head(&self) -> &str {
        self.held.head.text()
    }

    /// The text after the head, once there is any.
    pub(crate) fn tail(&self) -> Option<&Tail> {
        self.held.tail.as_ref()
    }

    /// A spill file takes no more than `limit` raw bytes from the front. To be told before the first push.
    pub fn set_spill_limit(&mut self, limit: u64) {
        self.spill = Some(SpillBound { limit, cut: None });
    }

    /// The place, in raw bytes, at which the spill file stops to take what comes: the last one up to the limit that splits no character
    /// and no escape sequence: one that began in an earlier push may be split, and such a character is taken whole, up to three bytes
    /// past the limit. `None` while the limit is not passed.
    pub fn spill_cut(&self) -> Option<u64> {
        Some(self.spill?.cut?.raw)
    }

    /// What belongs into a spill file after the cut, once nothing follows: a marker line for what is in neither, and the end of the
    /// output. `None` when the limit was not passed. The text of the file then adds up with the marker's count to all that was printed.
    pub fn spill_ending(&self) -> Option<String> {
        let cut = self.spill?.cut?.decoded;
        let end = self.total_bytes();
        let last = end.saturating_sub(TAIL_BYTES as u64);
        let from = match self.tail() {
            Some(tail) if last >= tail.origin() => tail.clean_start(last, end).unwrap_or(end),
            _ => self.held.head.clean_start(clamp(last)) as u64,
        };
        let from = from.max(cut);
        let marker = if from > cut {
            gap_line(from - cut, None, true)
        } else {
            String::new()
        };
        Some(marker + &self.since(from, end).text)
    }

    /// Before `piece` is decoded: does it pass the limit of the spill file, and where is the last clean place before that?
    fn mind_spill_limit(&mut self, piece: &[u8]) {
        let Some(bound) = self.spill.filter(|bound| bound.cut.is_none()) else {
            return;
        };
        let room = clamp(bound.limit.saturating_sub(self.raw_bytes));
        if piece.len() <= room {
            return;
        }
        let mut decoder = self.decoder.clone();
        let mut scanner = self.held.scanner();
        let mut place = SpillCut {
            raw: self.raw_bytes,
            decoded: self.total_bytes(),
        };
        // The file has the beginning of a character that is split between pieces, so it takes the rest as well.
        let mut cut = (decoder.held() == 0).then_some(place);
        let mut text = String::new();
        for (index, byte) in piece.iter().enumerate() {
            if index >= room && cut.is_some() {
                break;
            }
            text.clear();
            decoder.decode(&[*byte], &mut text);
            scanner.advance(&text);
            place.raw += 1;
            place.decoded += text.len() as u64;
            let held = decoder.held();
            if held == 0 && scanner.at_boundary() {
                cut = Some(place);
            } else if cut.is_none() && held <= index + 1 {
                // What is held now begins in this piece, so whatever was split before it is over, broken or not.
                cut = Some(SpillCut {
                    raw: place.raw - held as u64,
                    ..place
                });
            }
        }
        self.spill = Some(SpillBound { cut, ..bound });
    }
}

/// Where the kept end of a tail begins; its origin when all of it is kept.
fn kept_from(tail: &Tail) -> u64 {
    let from = tail.end().saturating_sub(TAIL_BYTES as u64);
    if from <= tail.origin() {
        tail.origin()
    } else {
        tail.clean_start(from, tail.end()).unwrap_or(tail.end())
    }
}

fn clamp(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// The beginning of the character at `place`, or the text's end.
fn floor(text: &str, place: u64) -> usize {
    text.floor_char_boundary(clamp(place))
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
    fn the_plain_text_is_that_of_the_kept_text() {
        for bytes in [0, 1000, HEAD_BYTES + 7, 3 * HEAD_BYTES] {
            let text: String = (0..)
                .flat_map(|n: u32| {
                    format!("\x1b[3{}m{n}%\r{n} \u{1f600}\u{9b}K\r\n", n % 8)
                        .chars()
                        .collect::<Vec<_>>()
                })
                .scan(0, |length, c| {
                    *length += c.len_utf8();
                    (*length <= bytes).then_some(c)
                })
                .collect();
            let output = kept(text.as_bytes(), 4096);
            // A difference is half a megabyte long: not for printing.
            let same = output.plain_text() == crate::plain_text(&output.text());
            assert!(same, "{bytes}");
        }
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

    #[test]
    fn a_later_look_gets_what_is_new_and_waits_for_the_rest_of_a_sequence() {
        let mut output = KeptOutput::new();
        let since = |output: &KeptOutput, from| {
            let Since {
                text,
                left_out,
                next,
            } = output.text_since(from);
            (text, left_out, next)
        };
        assert_eq!(since(&output, 0), (String::new(), 0, 0));
        output.push(b"one\r\n\x1b[3");
        assert_eq!(since(&output, 0), ("one\r\n".to_owned(), 0, 5));
        assert_eq!(since(&output, 5), (String::new(), 0, 5));
        output.push("1mr\u{e9}\u{20ac}".as_bytes());
        assert_eq!(
            since(&output, 5),
            ("\x1b[31mr\u{e9}\u{20ac}".to_owned(), 0, 16)
        );
        // A place within a character begins with that character; one past the end gives nothing.
        assert_eq!(since(&output, 15), ("\u{20ac}".to_owned(), 0, 16));
        assert_eq!(since(&output, 99), (String::new(), 0, 16));
        output.push(b"\x1b]0;t");
        output.finish();
        assert_eq!(since(&output, 16), ("\x1b]0;t".to_owned(), 0, 21));
        output.push(b"too late");
        assert_eq!((output.total_bytes(), output.is_finished()), (21, true));
    }

    #[test]
    fn a_look_after_a_long_time_is_told_what_it_missed() {
        let mut output = KeptOutput::new();
        output.push(b"begin\n");
        let all = b"0123456789abcde\n".repeat(100_000);
        output.push(&all);
        let gap = output.left_out_bytes();
        for from in [0, 6, 100, HEAD_BYTES as u64, HEAD_BYTES as u64 + 1000] {
            let since = output.text_since(from);
            let missed = gap - from.saturating_sub(HEAD_BYTES as u64);
            assert_eq!((since.left_out, since.next), (missed, 1_600_006));
            let (before, after) = since
                .text
                .split_once(&format!("[{missed} bytes left out]\r\n"))
                .unwrap();
            let before = before.strip_suffix("\r\n").unwrap_or(before);
            let before = before.strip_suffix("\x1b[0m").unwrap_or(before);
            let before = before.strip_suffix("\x1b[0m").unwrap_or(before);
            assert_eq!(
                from + before.len() as u64 + missed + after.len() as u64,
                1_600_006
            );
        }
        assert_eq!(output.text_since(1_600_000).text, "abcde\n");
    }

    #[test]
    fn the_first_bytes_are_held_as_they_came() {
        let output = kept(b"\x89PNG\r\n\x1a\n\xff\xfe", 3);
        assert_eq!(output.first_bytes(), b"\x89PNG\r\n\x1a\n\xff\xfe");
        assert_eq!(kept(&[b'x'; 5000], 700).first_bytes(), &[b'x'; 1024]);
    }

    #[test]
    fn a_spill_file_is_cut_where_a_cut_is_clean() {
        let spilled = |bytes: &[u8], limit| {
            let mut output = KeptOutput::new();
            output.set_spill_limit(limit);
            output.push(bytes);
            output.finish();
            Some((output.spill_cut()?, output.spill_ending()?))
        };
        assert_eq!(spilled(b"0123456789", 10), None);
        // The output, the limit, the raw bytes that the file takes, and what ends it.
        let table: &[(&[u8], u64, u64, &str)] = &[
            (b"0123456789", 4, 4, "456789"),
            ("ab\u{e9}cd".as_bytes(), 3, 2, "\u{e9}cd"),
            (b"ab\x1b[31mc", 5, 2, "\x1b[31mc"),
            (b"a\xffbc", 2, 2, "bc"),
            (b"a\xff\xfebc", 2, 2, "\u{fffd}bc"),
            (b"ab", 0, 0, "ab"),
        ];
        for &(bytes, limit, cut, ending) in table {
            let expected = Some((cut, ending.to_owned()));
            assert_eq!(spilled(bytes, limit), expected, "{bytes:?} {limit}");
        }
    }

    #[test]
    fn the_ending_of_a_spill_file_counts_what_is_in_neither() {
        let all = "\x1b[1m12345\u{e9}\r\n".repeat(200_000);
        for limit in [100, 300_000, 1_500_001, all.len() as u64 - 5] {
            let mut output = KeptOutput::new();
            output.set_spill_limit(limit);
            output.push(all.as_bytes());
            output.finish();
            let cut = output.spill_cut().unwrap();
            assert!(cut <= limit && cut + 13 > limit);
            let ending = output.spill_ending().unwrap();
            let (left_out, tail) = match ending.split_once(" bytes left out]\r\n") {
                Some((marker, tail)) => {
                    let (_, count) = marker.rsplit_once('[').unwrap();
                    (count.parse().unwrap(), tail)
                }
                None => (0, ending.as_str()),
            };
            assert!(all.ends_with(tail));
            assert_eq!(cut + left_out + tail.len() as u64, all.len() as u64);
        }
    }

    #[test]
    fn memory_is_bounded_whatever_is_printed() {
        let table: [&[u8]; 6] = [
            b"plain words\r\n",
            b"\xff",
            b"\x1b]0;",
            "\u{65e5}\u{672c}".as_bytes(),
            b"\x1b[1;31mred\x1b[m",
            b"\0",
        ];
        for piece in table {
            let bytes = piece.repeat(3_000_000 / piece.len());
            for step in [700, 65_536, bytes.len()] {
                let mut output = KeptOutput::new();
                for pushed in bytes.chunks(step) {
                    output.push(pushed);
                }
                let memory = output.memory_bytes();
                assert!(
                    memory < 3 << 19,
                    "{memory} for {piece:?} in steps of {step}"
                );
            }
        }
    }
}
