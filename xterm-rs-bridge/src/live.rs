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

    /// Names the file that holds more of the output, for the markers.
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
        self.head.close_with(rest);
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
mod tests;
