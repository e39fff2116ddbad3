//! The live stream at work, on the clock of the tests.

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::HEAD_BYTES;

/// An output and the cursor that follows it, as whoever runs a command holds them.
struct LiveOutput {
    output: KeptOutput,
    cursor: LiveCursor,
}

impl LiveOutput {
    fn new() -> Self {
        Self {
            output: KeptOutput::new(),
            cursor: LiveCursor::new(),
        }
    }

    fn push(&mut self, bytes: &[u8], now: Duration) {
        self.output.push(bytes);
        self.cursor.pushed(&self.output, now);
    }

    fn finish(&mut self, now: Duration) {
        self.output.finish();
        self.cursor.finished(now);
    }

    fn ready_at(&self) -> Option<Duration> {
        self.cursor.ready_at(&self.output)
    }

    fn take(&mut self, now: Duration) -> Option<String> {
        self.cursor.take(&self.output, now)
    }

    fn is_drained(&self) -> bool {
        self.cursor.is_drained(&self.output)
    }
}

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

/// Every shown part stands in the output just where the counts of the markers before it say, and nothing is unaccounted for.
fn assert_accounts_for(output: &str, stream: &str) {
    let (shown, counts) = parts(stream);
    let mut at = 0;
    for (index, part) in shown.iter().enumerate() {
        assert!(
            output[at..].starts_with(part),
            "part {index} is not at {at}"
        );
        at += part.len();
        at += counts
            .get(index)
            .map_or(0, |&count| usize::try_from(count).unwrap());
    }
    assert_eq!(at, output.len());
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
    // A difference is half a megabyte long: not for printing.
    let whole = text(&pieces) == all;
    assert!(whole);
    assert!(
        pieces
            .iter()
            .all(|(_, piece)| piece.len() <= PIECE_BYTES && piece.is_char_boundary(piece.len()))
    );
    for (_, piece) in pieces {
        assert_eq!(EscapeScanner::new().advance(&piece), Some(piece.len()));
    }
}

#[test]
fn yes_for_a_minute() {
    let mut live = LiveOutput::new();
    let chunk = b"y\r\n".repeat(3_000);
    let mut pieces = Vec::new();
    let mut pushed = 0;
    for tick in 0..6000 {
        live.push(&chunk, ms(tick * 10));
        pushed += chunk.len() as u64;
        pieces.extend(take_until(&mut live, ms(tick * 10)));
    }
    let before_end = pieces.len();
    live.push(&chunk.repeat(60), ms(60_000));
    pushed += 60 * chunk.len() as u64;
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
    assert_eq!(counts.iter().sum::<u64>(), live.cursor.left_out_bytes());
    let last = shown[shown.len() - 1].len();
    assert!(last <= TAIL_BYTES && last > TAIL_BYTES - 8, "{last}");
}

#[test]
fn every_byte_is_shown_or_counted_whatever_the_rhythm() {
    let words = [
        "plain words\r\n",
        "\x1b[3",
        "2mgreen\x1b[m",
        "Größe 日本語 ",
        "\rprogress ",
        "\n",
        "\x1b]0;title\x07",
        "x",
    ];
    for seed in 1..=6u64 {
        let mut random = seed;
        let mut next = |below: u64| {
            // Knuth's linear congruential generator: the same cases in every run.
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        let mut live = LiveOutput::new();
        let mut output = String::new();
        let mut pieces = Vec::new();
        let mut now = ms(0);
        while output.len() < 2_500_000 {
            let mut chunk = String::new();
            for _ in 0..next(2_000 * seed) {
                chunk.push_str(words[usize::try_from(next(8)).unwrap()]);
            }
            live.push(chunk.as_bytes(), now);
            output.push_str(&chunk);
            now += ms(next(200 * seed));
            if next(3) > 0 {
                pieces.extend(take_until(&mut live, now));
            }
        }
        live.finish(now);
        pieces.extend(take_until(&mut live, now));
        assert!(live.is_drained());
        assert!(
            pieces
                .iter()
                .all(
                    |(_, piece)| EscapeScanner::new().advance(piece) == Some(piece.len())
                        || piece.ends_with("\x1b[3")
                )
        );
        assert_accounts_for(&output, &text(&pieces));
    }
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
    assert_eq!(live.cursor.left_out_bytes(), 0);
}

#[test]
fn colours_end_at_a_cut_and_the_file_is_named() {
    let mut live = LiveOutput::new();
    live.output.set_kept_in("/run/out.bin");
    live.push(b"\x1b[31m", ms(0));
    live.push(&vec![b'z'; HEAD_BYTES + TAIL_BYTES + 100], ms(0));
    live.finish(ms(0));
    let stream = text(&take_until(&mut live, ms(0)));
    let expected = "\x1b[0m\r\n[105 bytes left out; see /run/out.bin]\r\nz";
    assert_eq!(&stream[HEAD_BYTES..HEAD_BYTES + expected.len()], expected);
    assert_eq!(live.cursor.left_out_bytes(), 105);
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
