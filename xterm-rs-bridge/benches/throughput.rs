//! How fast bytes go through each part, beside a plain copy of the same bytes in the same run. Medians; nothing is asserted.
//!
//! `cargo bench -p xterm-rs-bridge`

// The figures are this program's output.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use xterm_rs_bridge::{KeptOutput, LiveCursor, PersonFilter, Screen, Utf8Decoder, plain_text};

/// What one read of a pseudo-terminal gives at most.
const READ_BYTES: usize = 64 * 1024;

const ROUNDS: usize = 9;

fn main() {
    let inputs = [
        ("seq 1 2000000", numbers(8 << 20)),
        ("yes", b"y\r\n".repeat((8 << 20) / 3)),
        ("one line of 8 MiB", vec![b'x'; 8 << 20]),
        (
            "words in UTF-8",
            "Größe 日本語 naïve\r\n".repeat(300_000).into_bytes(),
        ),
        (
            "colours",
            b"\x1b[1;32m   Compiling\x1b[0m serde v1.0.228\r\n".repeat(200_000),
        ),
        ("nothing but colours", b"\x1b[31mr\x1b[0m".repeat(800_000)),
        ("no text at all", noise(8 << 20)),
    ];
    for (name, bytes) in &inputs {
        println!("{name}");
        let copy = median(bytes, |bytes| {
            let mut target = vec![0; READ_BYTES];
            for read in bytes.chunks(READ_BYTES) {
                target[..read.len()].copy_from_slice(read);
                black_box(&mut target);
            }
        });
        tell("copy", bytes, copy, copy);
        tell("decode", bytes, copy, median(bytes, decode));
        tell("KeptOutput::push", bytes, copy, median(bytes, keep));
        tell("… and a card", bytes, copy, median(bytes, keep_and_show));
        tell("PersonFilter", bytes, copy, median(bytes, filter));
        // These do far more a byte, so they get a sixteenth.
        let short = &bytes[..bytes.len() / 16];
        let copy = copy / 16;
        tell("Screen::feed", short, copy, median(short, screen));
        tell("plain_text", short, copy, median(short, plain));
    }
}

fn decode(bytes: &[u8]) {
    let mut decoder = Utf8Decoder::new();
    let mut text = String::with_capacity(3 * READ_BYTES);
    for read in bytes.chunks(READ_BYTES) {
        text.clear();
        decoder.decode(read, &mut text);
        black_box(&mut text);
    }
}

fn keep(bytes: &[u8]) {
    let mut output = KeptOutput::new();
    for read in bytes.chunks(READ_BYTES) {
        output.push(read);
    }
    output.finish();
    black_box(&mut output);
}

/// A command that prints 1 GiB a second, followed by a card.
fn keep_and_show(bytes: &[u8]) {
    let mut output = KeptOutput::new();
    let mut card = LiveCursor::new();
    let mut now = Duration::ZERO;
    for read in bytes.chunks(READ_BYTES) {
        now += Duration::from_micros(61);
        output.push(read);
        card.pushed(&output, now);
        black_box(card.take(&output, now));
    }
    output.finish();
    card.finished(now);
    while let Some(piece) = card.take(&output, now) {
        black_box(piece);
    }
}

fn filter(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut filter = PersonFilter::new();
    let mut out = String::new();
    let mut rest = text.as_ref();
    while !rest.is_empty() {
        let (read, after) = rest.split_at(rest.floor_char_boundary(READ_BYTES));
        out.clear();
        filter.filter(read, &mut out);
        black_box(&mut out);
        rest = after;
    }
}

fn screen(bytes: &[u8]) {
    let mut screen = Screen::new(40, 120, 1000);
    screen.feed(bytes);
    black_box(screen.final_text());
}

fn plain(bytes: &[u8]) {
    black_box(plain_text(&String::from_utf8_lossy(bytes)));
}

fn median(bytes: &[u8], work: impl Fn(&[u8])) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            work(black_box(bytes));
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[ROUNDS / 2]
}

#[allow(clippy::cast_precision_loss)] // Far below 2^52 bytes.
fn tell(what: &str, bytes: &[u8], copy: Duration, time: Duration) {
    let speed = bytes.len() as f64 / time.as_secs_f64() / 1e6;
    let ratio = time.as_secs_f64() / copy.as_secs_f64();
    println!("  {what:<18} {speed:>9.0} MB/s  {ratio:>7.1} times a copy");
}

fn numbers(bytes: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes);
    for number in 1.. {
        if text.len() >= bytes {
            break;
        }
        text.extend_from_slice(format!("{number}\r\n").as_bytes());
    }
    text
}

/// The same bytes in every run, without a pattern.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 1u64;
    (0..bytes)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        })
        .collect()
}
