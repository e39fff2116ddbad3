//! Whatever bytes come, and wherever they are cut: the same text, nothing lost, nothing told twice.

use std::time::Duration;

use xterm_rs_bridge::{HEAD_BYTES, KeptOutput, LiveCursor, Utf8Decoder};

/// Sends `bytes` through decoder, store and card in pieces whose lengths are taken from `lengths` in turn, and panics unless all give what
/// one look at the whole gives.
pub fn the_same_text_whatever_the_cuts(bytes: &[u8], lengths: &[u8]) {
    let expected = String::from_utf8_lossy(bytes);
    let mut decoder = Utf8Decoder::new();
    let mut text = String::new();
    let mut output = KeptOutput::new();
    let mut card = LiveCursor::new();
    let mut shown = String::new();
    let mut looked = String::new();
    let mut seen = 0;
    let mut now = Duration::ZERO;
    for piece in pieces(bytes, lengths) {
        decoder.decode(piece, &mut text);
        output.push(piece);
        card.pushed(&output, now);
        shown.extend(card.take(&output, now));
        let since = output.text_since(seen);
        looked.push_str(&since.text);
        seen = since.next;
        now += Duration::from_millis(20);
    }
    decoder.finish(&mut text);
    output.finish();
    card.finished(now);
    while let Some(piece) = card.take(&output, now) {
        shown.push_str(&piece);
    }
    looked.push_str(&output.text_since(seen).text);
    assert_eq!(text, expected);
    assert_eq!(output.total_bytes(), expected.len() as u64);
    assert!(card.is_drained(&output));
    assert!(output.memory_bytes() < 3 << 19);
    // Past the head a card leaves out what it has no room for.
    if expected.len() <= HEAD_BYTES {
        assert_eq!(output.text(), expected);
        assert_eq!(shown, expected);
        assert_eq!(looked, expected);
    }
}

fn pieces<'b>(mut bytes: &'b [u8], lengths: &[u8]) -> Vec<&'b [u8]> {
    let mut pieces = Vec::new();
    let mut lengths = lengths.iter().copied().cycle();
    while !bytes.is_empty() {
        let length = lengths
            .next()
            .map_or(bytes.len(), |length| usize::from(length) + 1);
        let (piece, rest) = bytes.split_at(length.min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}
