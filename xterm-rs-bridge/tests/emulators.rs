//! Why [`Screen`] stands on `alacritty_terminal` and not on `vt100`: the same inputs on both. Where they differ the difference is written
//! down, so that a new version of either that changes the picture is noticed here.

use std::num::NonZeroU16;

use pretty_assertions::assert_eq;
use xterm_rs_bridge::Screen;

fn ours(text: &str) -> String {
    let mut screen = Screen::new(10, 20, 100);
    screen.feed(text.as_bytes());
    screen.final_text()
}

fn other(text: &str) -> String {
    let mut parser = vt100_parser();
    parser.process(text.as_bytes());
    let contents = parser.screen().contents();
    let contents = contents.trim_end_matches('\n');
    if contents.is_empty() {
        String::new()
    } else {
        format!("{contents}\n")
    }
}

fn vt100_parser() -> vt100::Parser {
    let size = |cells| NonZeroU16::new(cells).unwrap_or(NonZeroU16::MIN);
    vt100::Parser::new(size(10), size(20), 100)
}

#[test]
fn both_play_progress_wide_characters_and_broken_sequences_alike() {
    let table = [
        ("10%\r20%\r100%\r\nDone\r\n", "100%\nDone\n"),
        ("a\r\nb\r\n\x1b[2A\x1b[2KA\r\n\x1b[2KB\r\n", "A\nB\n"),
        ("✅ ok\r\n日本 語\r\n", "✅ ok\n日本 語\n"),
        ("e\u{301}e\r\n", "e\u{301}e\n"),
        ("x\x1b]0;never ended", "x\n"),
        ("x\x1b[3", "x\n"),
    ];
    for (text, expected) in table {
        assert_eq!(
            (ours(text).as_str(), other(text).as_str()),
            (expected, expected),
            "{text:?}"
        );
    }
}

#[test]
fn links_and_lines_that_are_wrapped_anew_are_only_ours() {
    let link = b"\x1b]8;;https://example.org/\x07x";
    let mut screen = Screen::new(10, 20, 100);
    screen.feed(link);
    let mut parser = vt100_parser();
    parser.process(link);
    assert!(screen.snapshot().contains("https://example.org/"));
    assert!(
        !parser
            .screen()
            .contents_formatted()
            .contains("https://example.org/")
    );
}
