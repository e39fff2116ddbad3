//! The checks that the fuzz targets make, on bytes that are rich in what can go wrong.

#[path = "../../fuzz/checks/decoder.rs"]
mod decoder;
#[path = "../../fuzz/checks/screen.rs"]
mod screen;

use proptest::prelude::*;

fn soup() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        any::<u8>().prop_map(|byte| vec![byte]),
        (0x80u8..=0xff).prop_map(|byte| vec![byte]),
        any::<char>().prop_map(|c| c.to_string().into_bytes()),
        "\\x1b[\\[\\]P(#]?[0-9;:?]{0,5}[!-~]".prop_map(String::into_bytes),
        "\\x1b\\](8;;http:x|0;t|52;c;QQ==)(\\x07|\\x1b\\\\)?".prop_map(String::into_bytes),
        "\\x1b\\[\\?(1|6|7|25|1049|2026)[hl]".prop_map(String::into_bytes),
        "[a-z日✅\u{301}\u{200d}\r\n\t\u{8} ]{0,12}".prop_map(String::into_bytes),
    ];
    prop::collection::vec(piece, 0..50).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_cut_at_any_places_give_the_same_text(bytes in soup(), lengths in prop::collection::vec(any::<u8>(), 0..6)) {
        decoder::the_same_text_whatever_the_cuts(&bytes, &lengths);
    }

    #[test]
    fn any_bytes_leave_a_whole_screen(bytes in soup(), rows in any::<u8>(), columns in any::<u8>()) {
        screen::any_bytes_leave_a_whole_screen(&bytes, rows, columns);
    }
}

/// Longer than head and tail together, so that everything is cut.
#[test]
fn a_long_output_is_accounted_for() {
    let bytes = b"\x1b[31mr\xc3\xa9d\x1b[m \xff\r\n".repeat(120_000);
    decoder::the_same_text_whatever_the_cuts(&bytes, &[250, 3]);
}
