//! What is sent of an output while the command runs.

use std::collections::VecDeque;
use std::time::Duration;

use crate::gap::{gap_line, longest_gap_line};
use crate::tail::Tail;
use crate::{EscapeScanner, KeptOutput, TAIL_BYTES};

/// At most 30 pieces a second.
const PACE: Duration = Duration::from_nanos(1_000_000_000 / 30);

/// The most that one piece holds.
const PIECE_BYTES: usize = 64 * 1024;

/// How much goes on live in any second after the free part.
const LIVE_BYTES_PER_SECOND: usize = 4 * 1024;

const SECOND: Duration = Duration::from_secs(1);

/// The live stream of one card: a place in a [`KeptOutput`] and a pace, without a clock. It is told when bytes were
/// [pushed](Self::pushed) to the output, and at the times that [`ready_at`](Self::ready_at) names, pieces are [taken](Self::take).
///
/// - The first [`HEAD_BYTES`](crate::HEAD_BYTES) are lossless however rarely they are taken.
/// - After that the newest whole lines go on, at no more than 4 KiB in any second, with a marker line for each gap. Output that is slow
///   enough goes on without gaps.
/// - At the end the last [`TAIL_BYTES`] of what followed the last shown byte come, after a marker if that leaves something out.
///
/// What was shown and what the markers count add up to all that was pushed. Pieces end between characters and outside of escape
/// sequences; an unfinished one waits. A line ends with LF or a lone CR, so that a progress display counts as lines.
/// All counts are UTF-8 bytes of the decoded text; all times are since the command's start and never go backwards. A cursor belongs to
/// one output, whose every push it must be told.
#[derive(Debug, Clone, Default)]
pub struct LiveCursor {
    /// The place up to which everything was shown or counted by a marker.
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
}

impl LiveCursor {
    /// At the beginning of an output.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells that bytes were pushed to `output` at `now`.
    pub fn pushed(&mut self, output: &KeptOutput, now: Duration) {
        if self.waiting_since.is_none() && output.settled_bytes() > self.passed {
            self.waiting_since = Some(now);
        }
    }

    /// Tells that the output was finished at `now`: what remains is ready at once and is not paced any more.
    pub fn finished(&mut self, now: Duration) {
        self.finished_at.get_or_insert(now);
    }

    /// The earliest time at which [`take`](Self::take) gives something, which may have passed already; `None` when nothing waits.
    pub fn ready_at(&self, output: &KeptOutput) -> Option<Duration> {
        if let Some(finished_at) = self.finished_at {
            return (!self.is_drained(output)).then_some(finished_at);
        }
        let since = self.waiting_since?;
        let paced = self.last_take.map_or(since, |last| since.max(last + PACE));
        let backlog = output.settled_bytes().saturating_sub(self.passed);
        if self.passed < free_end(output) {
            return Some(paced);
        }
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
    pub fn take(&mut self, output: &KeptOutput, now: Duration) -> Option<String> {
        if self.ready_at(output)? > now {
            return None;
        }
        let free = free_end(output);
        let piece = if self.passed < free {
            Some(self.take_free(output, free))
        } else {
            match output.tail()? {
                tail if self.finished_at.is_some() => Some(self.take_rest(tail, output.kept_in())),
                tail => self.take_newest(tail, output.kept_in(), now),
            }
        };
        if let Some(piece) = &piece {
            self.sent.advance(piece);
            self.line_open = !piece.ends_with('\n');
            self.last_take = Some(now);
        }
        // Without a piece there was nothing but the middle of a sequence: what is pushed next decides.
        self.waiting_since =
            (piece.is_some() && output.settled_bytes() > self.passed).then_some(now);
        piece
    }

    /// What waits of the free part, which is all held.
    fn take_free(&mut self, output: &KeptOutput, free: u64) -> String {
        let head = output.head();
        let from = usize::try_from(self.passed).unwrap_or(head.len());
        let to = usize::try_from(free).unwrap_or(head.len());
        let piece = self.fitting(&head[from..to], PIECE_BYTES).to_owned();
        self.passed += piece.len() as u64;
        piece
    }

    /// As much of `text`, which follows what was sent, as fits into `room`.
    fn fitting<'t>(&self, text: &'t str, room: usize) -> &'t str {
        if text.len() <= room {
            return text;
        }
        let text = &text[..text.floor_char_boundary(room)];
        let mut probe = self.sent;
        match probe.advance(text) {
            // A sequence is given up long before it fills a piece; only a broken end of the output has no boundary at all.
            Some(at) if at > 0 => &text[..at],
            _ => text,
        }
    }

    /// Past the free part, when nothing more comes: the end of the output, after a marker for what that leaves out.
    fn take_rest(&mut self, tail: &Tail, kept_in: Option<&str>) -> String {
        let end = tail.end();
        let mut piece = String::new();
        if end - self.passed > TAIL_BYTES as u64 {
            let from = tail
                .clean_start(end - TAIL_BYTES as u64, end)
                .unwrap_or(end);
            piece = self.gap(from, kept_in);
            self.sent.advance(&piece);
            self.passed = from;
        }
        let room = PIECE_BYTES - piece.len();
        let waiting = tail.text(self.passed, end.min(self.passed + PIECE_BYTES as u64));
        let text = if self.passed + waiting.len() as u64 == end && waiting.len() <= room {
            &waiting
        } else {
            self.fitting(&waiting, room.min(waiting.len().saturating_sub(1)))
        };
        self.passed += text.len() as u64;
        piece.push_str(text);
        piece
    }

    /// Past the free part: everything that waits if it fits into the second's share, else its newest whole lines after a marker.
    fn take_newest(&mut self, tail: &Tail, kept_in: Option<&str>, now: Duration) -> Option<String> {
        while self
            .recent
            .front()
            .is_some_and(|&(sent_at, _)| sent_at + SECOND <= now)
        {
            self.recent.pop_front();
        }
        let end = tail.boundary();
        let piece = if end - self.passed <= LIVE_BYTES_PER_SECOND as u64 {
            let piece = tail.text(self.passed, end);
            self.passed = end;
            piece
        } else {
            let room = LIVE_BYTES_PER_SECOND.saturating_sub(longest_gap_line(kept_in)) as u64;
            let earliest = self.passed.max(end.saturating_sub(room));
            let until = tail.last_line_end(earliest, end).unwrap_or(end);
            // A line that is longer than a second's share is shown from somewhere in its middle.
            let from = tail.clean_start(self.passed.max(until.saturating_sub(room)), until - 1)?;
            let mut piece = self.gap(from, kept_in);
            piece.push_str(&tail.text(from, until));
            self.passed = until;
            piece
        };
        self.recent.push_back((now, piece.len()));
        Some(piece)
    }

    /// The marker for everything between what was passed and `from`.
    fn gap(&mut self, from: u64, kept_in: Option<&str>) -> String {
        let bytes = from - self.passed;
        if bytes == 0 {
            return String::new();
        }
        self.left_out += bytes;
        let marker = gap_line(bytes, kept_in, self.line_open);
        // CAN makes a terminal drop the sequence that it may still be in, or it would swallow the marker too.
        if self.sent.gave_up() {
            format!("\x18{marker}")
        } else {
            marker
        }
    }

    /// How many bytes the markers sent so far count.
    pub fn left_out_bytes(&self) -> u64 {
        self.left_out
    }

    /// Finished, and everything was taken.
    pub fn is_drained(&self, output: &KeptOutput) -> bool {
        self.finished_at.is_some() && self.passed >= output.total_bytes()
    }
}

/// Where the lossless part ends that may be sent.
fn free_end(output: &KeptOutput) -> u64 {
    output.settled_bytes().min(output.head().len() as u64)
}

#[cfg(test)]
mod tests;
