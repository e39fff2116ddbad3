//! What is sent of an output while the command runs.

use std::collections::VecDeque;
use std::time::Duration;

use crate::gap::{gap_line, longest_gap_line};
use crate::head::Head;
use crate::tail::Tail;
use crate::{EscapeScanner, TAIL_BYTES, Utf8Decoder};

/// At most 30 pieces a second.
const PACE: Duration = Duration::from_nanos(1_000_000_000 / 30);

/// The most that one piece holds.
const PIECE_BYTES: usize = 64 * 1024;

/// How much goes on live in any second after the free part.
const LIVE_BYTES_PER_SECOND: usize = 4 * 1024;

const SECOND: Duration = Duration::from_secs(1);

/// The live stream of one card, as a state machine without a clock: output is [pushed](Self::push) in, and at the times that
/// [`ready_at`](Self::ready_at) names, pieces are [taken](Self::take) out.
///
/// - The first [`HEAD_BYTES`](crate::HEAD_BYTES) are lossless however rarely they are taken.
/// - After that the newest whole lines go on, at no more than 4 KiB in any second, with a marker line for each gap. Output that is slow
///   enough goes on without gaps.
/// - At the end the last [`TAIL_BYTES`] of what followed the last shown byte come, after a marker if that leaves something out.
///
/// What was shown and what the markers count add up to all that was pushed. Pieces end between characters and outside of escape
/// sequences; an unfinished one waits. A line ends with LF or a lone CR, so that a progress display counts as lines.
/// All counts are UTF-8 bytes of the decoded text; all times are since the command's start and never go backwards.
#[derive(Debug, Clone)]
pub struct LiveOutput {
    decoder: Utf8Decoder,
    decoded: String,
    /// The free part, and after the end all that is still to be sent.
    head: Head,
    tail: Option<Tail>,
    /// The place in the tail up to which everything was shown or counted by a marker.
    passed: u64,
    left_out: u64,
    /// The state of the escape sequences after what was sent.
    sent: EscapeScanner,
    /// What was sent last did not end its line.
    line_open: bool,
    last_take: Option<Duration>,
    /// Since when something waits that could be sent.
    waiting_since: Option<Duration>,
    /// What went out past the free part within the last second.
    recent: VecDeque<(Duration, usize)>,
    finished_at: Option<Duration>,
    kept_in: Option<String>,
}

impl Default for LiveOutput {
    fn default() -> Self {
        Self::new()
    }
}

impl LiveOutput {
    /// The stream of a command that has printed nothing.
    pub fn new() -> Self {
        Self {
            decoder: Utf8Decoder::new(),
            decoded: String::new(),
            head: Head::new(),
            tail: None,
            passed: 0,
            left_out: 0,
            sent: EscapeScanner::new(),
            line_open: false,
            last_take: None,
            waiting_since: None,
            recent: VecDeque::new(),
            finished_at: None,
            kept_in: None,
        }
    }

    /// Names the file that holds the whole output, for the markers.
    pub fn set_kept_in(&mut self, place: impl Into<String>) {
        self.kept_in = Some(place.into());
    }

    /// Adds bytes as they came out of the terminal at `now`.
    pub fn push(&mut self, bytes: &[u8], now: Duration) {
        for piece in bytes.chunks(PIECE_BYTES) {
            let mut decoded = std::mem::take(&mut self.decoded);
            decoded.clear();
            self.decoder.decode(piece, &mut decoded);
            self.add(&decoded);
            self.decoded = decoded;
        }
        if self.waiting_since.is_none() && self.has_sendable() {
            self.waiting_since = Some(now);
        }
    }

    /// Tells that nothing follows: what remains is ready at once and is not paced any more.
    pub fn finish(&mut self, now: Duration) {
        if self.finished_at.is_some() {
            return;
        }
        self.finished_at = Some(now);
        let mut last = String::new();
        self.decoder.finish(&mut last);
        self.add(&last);
        self.decoded = String::new();
        let mut rest = String::new();
        if let Some(tail) = self.tail.take() {
            let end = tail.end();
            let mut from = self.passed;
            if end - from > TAIL_BYTES as u64 {
                from = tail
                    .clean_start(end - TAIL_BYTES as u64, end)
                    .unwrap_or(end);
                rest = self.gap(from, self.head.text().is_empty().then_some(self.line_open));
            }
            rest.push_str(&tail.text(from, end));
            self.passed = end;
        }
        self.head.close_with(&rest);
    }

    fn add(&mut self, text: &str) {
        if let Some(tail) = &mut self.tail {
            tail.push(text);
        } else if let Some(overflow) = self.head.push(text) {
            let mut tail = Tail::new(TAIL_BYTES, EscapeScanner::new());
            tail.push(&overflow);
            self.tail = Some(tail);
        }
    }

    fn has_sendable(&self) -> bool {
        self.head.boundary() > 0
            || self
                .tail
                .as_ref()
                .is_some_and(|tail| tail.boundary() > self.passed)
    }

    /// The earliest time at which [`take`](Self::take) gives something, which may have passed already; `None` when nothing waits.
    pub fn ready_at(&self) -> Option<Duration> {
        if let Some(finished_at) = self.finished_at {
            return (!self.is_drained()).then_some(finished_at);
        }
        let since = self.waiting_since?;
        let paced = self.last_take.map_or(since, |last| since.max(last + PACE));
        if self.head.boundary() > 0 {
            return Some(paced);
        }
        let backlog = self.tail.as_ref()?.boundary() - self.passed;
        let wanted = usize::try_from(backlog).map_or(LIVE_BYTES_PER_SECOND, |backlog| {
            backlog.min(LIVE_BYTES_PER_SECOND)
        });
        Some(paced.max(self.allowed_at(wanted)))
    }

    /// When `wanted` bytes (at most a second's worth) fit into the second that ends then.
    fn allowed_at(&self, wanted: usize) -> Duration {
        let mut used: usize = self.recent.iter().map(|&(_, bytes)| bytes).sum();
        let mut at = Duration::ZERO;
        for &(sent_at, bytes) in &self.recent {
            if used + wanted <= LIVE_BYTES_PER_SECOND {
                break;
            }
            used -= bytes;
            at = sent_at + SECOND;
        }
        at
    }

    /// All that may go out at `now`, at most 64 KiB; `None` when nothing may. Until the end, at most 30 pieces a second are given, the
    /// first of a quiet stream at once.
    pub fn take(&mut self, now: Duration) -> Option<String> {
        if self.ready_at()? > now {
            return None;
        }
        let piece = if self.head.boundary() > 0 {
            Some(self.take_head())
        } else {
            self.take_newest(now)
        };
        if let Some(piece) = &piece {
            self.sent.advance(piece);
            self.line_open = !piece.ends_with('\n');
            self.last_take = Some(now);
        }
        // Without a piece there was nothing but the middle of a sequence: what is pushed next decides.
        self.waiting_since = (piece.is_some() && self.has_sendable()).then_some(now);
        piece
    }

    fn take_head(&mut self) -> String {
        let mut len = self.head.boundary();
        if len > PIECE_BYTES {
            let text = self.head.text();
            let limit = text.floor_char_boundary(PIECE_BYTES);
            let mut probe = self.sent;
            // A sequence is given up long before it fills a piece; only a broken end of the output has no boundary at all.
            len = probe
                .advance(&text[..limit])
                .filter(|&at| at > 0)
                .unwrap_or(limit);
        }
        self.head.take_front(len)
    }

    /// Past the free part: everything that waits if it fits into the second's share, else its newest whole lines after a marker.
    fn take_newest(&mut self, now: Duration) -> Option<String> {
        while self
            .recent
            .front()
            .is_some_and(|&(sent_at, _)| sent_at + SECOND <= now)
        {
            self.recent.pop_front();
        }
        let tail = self.tail.as_ref()?;
        let end = tail.boundary();
        let piece = if end - self.passed <= LIVE_BYTES_PER_SECOND as u64 {
            let piece = tail.text(self.passed, end);
            self.passed = end;
            piece
        } else {
            let room = LIVE_BYTES_PER_SECOND
                .saturating_sub(longest_gap_line(self.kept_in.as_deref()))
                as u64;
            let earliest = self.passed.max(end.saturating_sub(room));
            let until = tail.last_line_end(earliest, end).unwrap_or(end);
            // A line that is longer than a second's share is shown from somewhere in its middle.
            let from = tail.clean_start(self.passed.max(until.saturating_sub(room)), until - 1)?;
            let newest = tail.text(from, until);
            let mut piece = self.gap(from, Some(self.line_open));
            piece.push_str(&newest);
            self.passed = until;
            piece
        };
        if let Some(tail) = &mut self.tail {
            tail.forget_before(self.passed);
        }
        self.recent.push_back((now, piece.len()));
        Some(piece)
    }

    /// The marker for everything between what was passed and `from`. `line_open` is `None` when the free part still waits before it.
    fn gap(&mut self, from: u64, line_open: Option<bool>) -> String {
        let bytes = from - self.passed;
        if bytes == 0 {
            return String::new();
        }
        self.left_out += bytes;
        let line_open = line_open.unwrap_or_else(|| !self.head.text().ends_with('\n'));
        let marker = gap_line(bytes, self.kept_in.as_deref(), line_open);
        // CAN makes a terminal drop the sequence that it may still be in, or it would swallow the marker too.
        if self.sent.gave_up() {
            format!("\x18{marker}")
        } else {
            marker
        }
    }

    /// How many bytes the markers sent so far (or ready to be sent) count.
    pub fn left_out_bytes(&self) -> u64 {
        self.left_out
    }

    /// Finished, and everything was taken.
    pub fn is_drained(&self) -> bool {
        self.finished_at.is_some() && self.head.text().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;
    use crate::HEAD_BYTES;

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// Takes everything that is ready up to `until`, each piece at the time that the stream itself names.
    fn take_until(live: &mut LiveOutput, until: Duration) -> Vec<(Duration, String)> {
        let mut pieces = Vec::new();
        while let Some(at) = live.ready_at().filter(|&at| at <= until) {
            match live.take(at) {
                Some(piece) => pieces.push((at, piece)),
                None => assert_eq!(live.ready_at(), None),
            }
        }
        pieces
    }

    fn text(pieces: &[(Duration, String)]) -> String {
        pieces.iter().map(|(_, piece)| piece.as_str()).collect()
    }

    /// Splits a stream at its markers: the shown parts and the counts.
    fn parts(stream: &str) -> (Vec<&str>, Vec<u64>) {
        let mut shown = Vec::new();
        let mut counts = Vec::new();
        let mut rest = stream;
        while let Some(at) = rest
            .find("\x1b[0m")
            .filter(|_| rest.contains(" left out]\r\n"))
        {
            shown.push(&rest[..at]);
            let marker = rest[at + 4..].trim_start_matches("\r\n");
            let (words, after) = marker.split_once(" left out]\r\n").unwrap();
            counts.push(words[1..].split(' ').next().unwrap().parse().unwrap());
            rest = after;
        }
        shown.push(rest);
        (shown, counts)
    }

    #[test]
    fn the_first_byte_goes_at_once_and_the_next_ones_together() {
        let mut live = LiveOutput::new();
        assert_eq!(live.ready_at(), None);
        live.push(b"a", ms(500));
        assert_eq!(live.ready_at(), Some(ms(500)));
        assert_eq!(live.take(ms(501)), Some("a".to_owned()));
        live.push(b"b", ms(502));
        live.push(b"c", ms(510));
        let next = ms(501) + PACE;
        assert_eq!((live.ready_at(), live.take(ms(520))), (Some(next), None));
        assert_eq!(live.take(next), Some("bc".to_owned()));
        assert_eq!((live.ready_at(), live.is_drained()), (None, false));
        live.finish(ms(900));
        assert_eq!((live.ready_at(), live.is_drained()), (None, true));
    }

    #[test]
    fn thirty_pieces_a_second_at_most() {
        let mut live = LiveOutput::new();
        let mut pieces = 0;
        for at in 0..1000 {
            live.push(b".", ms(at));
            pieces += take_until(&mut live, ms(at)).len();
        }
        assert_eq!(pieces, 30);
    }

    #[test]
    fn unfinished_characters_and_sequences_wait_and_are_flushed_at_the_end() {
        let mut live = LiveOutput::new();
        live.push(b"a\x1b[3", ms(0));
        assert_eq!(live.take(ms(0)), Some("a".to_owned()));
        assert_eq!(live.ready_at(), None);
        live.push(b"1mb\xc3", ms(100));
        assert_eq!(live.take(ms(100)), Some("\x1b[31mb".to_owned()));
        live.push(b"\x1b]0;", ms(200));
        assert_eq!(live.take(ms(200)), Some("\u{fffd}".to_owned()));
        live.finish(ms(210));
        assert_eq!(live.take(ms(210)), Some("\x1b]0;".to_owned()));
        assert!(live.is_drained());
    }

    #[test]
    fn the_free_part_is_lossless_however_rarely_it_is_taken() {
        let all = (0..)
            .map(|n| format!("\x1b[1m{n:07}é\r\n"))
            .take(HEAD_BYTES / 16)
            .collect::<Vec<_>>()
            .concat();
        let mut live = LiveOutput::new();
        all.as_bytes()
            .chunks(777)
            .for_each(|piece| live.push(piece, ms(1)));
        let pieces = take_until(&mut live, ms(60_000));
        assert!(text(&pieces) == all);
        assert!(pieces.iter().all(|(_, piece)| piece.len() <= PIECE_BYTES && piece.is_char_boundary(piece.len())));
        for (_, piece) in pieces {
            assert_eq!(EscapeScanner::new().advance(&piece), Some(piece.len()));
        }
    }

    #[test]
    fn yes_for_a_minute() {
        let mut live = LiveOutput::new();
        let chunk = b"y\r\n".repeat(10_000);
        let mut pieces = Vec::new();
        let mut pushed = 0;
        for tick in 0..6000 {
            live.push(&chunk, ms(tick * 10));
            pushed += chunk.len() as u64;
            pieces.extend(take_until(&mut live, ms(tick * 10)));
        }
        let before_end = pieces.len();
        live.finish(ms(60_000));
        pieces.extend(take_until(&mut live, ms(60_000)));
        assert!(live.is_drained());

        // It never froze, and no second after the free part had more than its share.
        let limited: Vec<_> = pieces[..before_end]
            .iter()
            .skip_while(|(at, _)| *at < ms(2_000))
            .collect();
        assert!(limited.len() >= 55, "{}", limited.len());
        for (at, _) in &limited {
            let in_second: usize = limited
                .iter()
                .filter(|(other, _)| other <= at && *other + SECOND > *at)
                .map(|(_, piece)| piece.len())
                .sum();
            assert!(in_second <= LIVE_BYTES_PER_SECOND, "{in_second} at {at:?}");
        }
        let stream = text(&pieces);
        let (shown, counts) = parts(&stream);
        assert!(
            shown[1..]
                .iter()
                .all(|part| part.starts_with('y') && part.ends_with("y\r\n"))
        );
        let shown_bytes: u64 = shown.iter().map(|part| part.len() as u64).sum();
        assert_eq!(shown_bytes + counts.iter().sum::<u64>(), pushed);
        assert_eq!(counts.iter().sum::<u64>(), live.left_out_bytes());
        let last = shown[shown.len() - 1].len();
        assert!(last <= TAIL_BYTES && last > TAIL_BYTES - 8, "{last}");
    }

    #[test]
    fn one_line_of_ten_megabytes() {
        let mut live = LiveOutput::new();
        live.push(&vec![b'x'; 10_000_000], ms(0));
        let mut pieces = take_until(&mut live, ms(3_000));
        live.finish(ms(3_000));
        pieces.extend(take_until(&mut live, ms(3_000)));
        let stream = text(&pieces);
        let (shown, counts) = parts(&stream);
        assert_eq!(shown[0].len(), HEAD_BYTES);
        // Half a second of what the line ended with, once; nothing of it is left for the end.
        assert_eq!((shown.len(), counts.len()), (2, 1));
        let shown_bytes: u64 = shown.iter().map(|part| part.len() as u64).sum();
        assert_eq!(shown_bytes + counts[0], 10_000_000);
    }

    #[test]
    fn slow_output_past_the_free_part_has_no_gaps_and_shows_a_prompt() {
        let mut live = LiveOutput::new();
        live.push(&vec![b'\n'; HEAD_BYTES], ms(0));
        take_until(&mut live, ms(1_000));
        let mut pieces = Vec::new();
        for n in 0..100u64 {
            live.push(format!("step {n}\r").as_bytes(), ms(1_000 + n * 50));
            pieces.extend(take_until(&mut live, ms(1_000 + n * 50)));
        }
        live.push(b"go on? ", ms(7_000));
        pieces.extend(take_until(&mut live, ms(7_000)));
        let all = (0..100)
            .map(|n| format!("step {n}\r"))
            .collect::<Vec<_>>()
            .concat();
        assert_eq!(text(&pieces), all + "go on? ");
        assert_eq!(live.left_out_bytes(), 0);
    }

    #[test]
    fn colours_end_at_a_cut_and_the_file_is_named() {
        let mut live = LiveOutput::new();
        live.set_kept_in("/run/out.bin");
        live.push(b"\x1b[31m", ms(0));
        live.push(&vec![b'z'; HEAD_BYTES + TAIL_BYTES + 100], ms(0));
        live.finish(ms(0));
        let stream = text(&take_until(&mut live, ms(0)));
        let expected = "\x1b[0m\r\n[105 bytes left out; the whole output is in /run/out.bin]\r\nz";
        assert_eq!(&stream[HEAD_BYTES..HEAD_BYTES + expected.len()], expected);
        assert_eq!(live.left_out_bytes(), 105);
    }

    #[test]
    fn a_title_that_never_ends_neither_hides_the_marker_nor_stops_the_stream() {
        let mut live = LiveOutput::new();
        live.push(b"\x1b]0;", ms(0));
        live.push(&vec![b'x'; 3 * HEAD_BYTES], ms(0));
        let pieces = take_until(&mut live, ms(2_000));
        assert!(text(&pieces).contains("\x18\x1b[0m\r\n["));
    }

    proptest! {
        #[test]
        fn a_small_output_is_sent_exactly(pieces in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..9), 0u64..90), 0..40)) {
            let mut live = LiveOutput::new();
            let mut now = ms(0);
            let mut sent = Vec::new();
            let mut all = Vec::new();
            for (bytes, wait) in pieces {
                now += ms(wait);
                sent.extend(take_until(&mut live, now));
                live.push(&bytes, now);
                all.extend(bytes);
            }
            live.finish(now);
            sent.extend(take_until(&mut live, now));
            prop_assert!(live.is_drained());
            prop_assert_eq!(text(&sent), String::from_utf8_lossy(&all));
        }
    }
}
