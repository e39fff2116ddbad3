//! Terminal output as the text that a person finally reads.

use std::borrow::Cow;

use vte::{Params, Parser, Perform};

use crate::sheet::Sheet;

/// Plays `raw` on a sheet and returns what stands there at the end, with everything that scrolled away before it: no escape
/// sequences, no overwritten progress, lines ended by `\n`. Long lines are not wrapped, tabs stay tabs. The cursor reaches the last 40
/// lines, as on a terminal of that height. Time and memory are linear in the length of `raw`, whatever it holds.
///
/// ```
/// assert_eq!(xterm_rs_bridge::plain_text("10%\r20%\r100%\nDone\n"), "100%\nDone\n");
/// ```
pub fn plain_text(raw: &str) -> String {
    plain_text_of(raw.len(), [raw])
}

/// The same of an output in pieces of `bytes` altogether, cut between characters: it need not be held in one piece as well.
pub(crate) fn plain_text_of<'a>(bytes: usize, pieces: impl IntoIterator<Item = &'a str>) -> String {
    let mut player = Player {
        sheet: Sheet::new(bytes),
    };
    let mut parser = Parser::new();
    for piece in pieces {
        parser.advance(&mut player, seven_bit(piece).as_bytes());
    }
    player.sheet.into_text()
}

/// The one-character forms of the escape sequences (U+0080 to U+009F) as the two-character ones, which alone the parser knows.
fn seven_bit(raw: &str) -> Cow<'_, str> {
    let is_c1 = |c: char| ('\u{80}'..='\u{9f}').contains(&c);
    if !raw.contains(is_c1) {
        return Cow::Borrowed(raw);
    }
    let mut long = String::with_capacity(raw.len());
    for c in raw.chars() {
        match u8::try_from(u32::from(c)) {
            Ok(byte) if is_c1(c) => long.extend(['\x1b', char::from(byte - 0x40)]),
            _ => long.push(c),
        }
    }
    Cow::Owned(long)
}

#[derive(Debug)]
struct Player {
    sheet: Sheet,
}

impl Perform for Player {
    fn print(&mut self, character: char) {
        self.sheet.print(character);
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            0x08 => self.sheet.backspace(),
            b'\t' => self.sheet.tab(),
            b'\n' | 0x0b | 0x0c => self.sheet.line_feed(),
            b'\r' => self.sheet.carriage_return(),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: char) {
        if ignore {
            return;
        }
        let mut values = params
            .iter()
            .map(|param| param.first().copied().unwrap_or(0));
        let first = values.next().unwrap_or(0);
        let second = values.next().unwrap_or(0);
        let sheet = &mut self.sheet;
        if intermediates == b"?" {
            let full_screen = params
                .iter()
                .any(|param| matches!(param.first(), Some(47 | 1047 | 1049)));
            match action {
                'h' if full_screen => sheet.enter_display(),
                'l' if full_screen => sheet.leave_display(),
                _ => {}
            }
            return;
        }
        if !intermediates.is_empty() {
            return;
        }
        let count = usize::from(first.max(1));
        match action {
            'A' => sheet.up(count),
            'B' | 'e' => sheet.down(count),
            'C' | 'a' => sheet.forward(count),
            'D' => sheet.back(count),
            'E' => {
                sheet.down(count);
                sheet.carriage_return();
            }
            'F' => {
                sheet.up(count);
                sheet.carriage_return();
            }
            'G' | '`' => sheet.move_to_col(count - 1),
            'H' | 'f' => {
                sheet.move_to_row(count - 1);
                sheet.move_to_col(usize::from(second.max(1)) - 1);
            }
            'd' => sheet.move_to_row(count - 1),
            'J' => sheet.erase_in_display(first),
            'K' => sheet.erase_in_line(first),
            'X' => sheet.erase_cells(count),
            'P' => sheet.delete_cells(count),
            '@' => sheet.insert_cells(count),
            'L' => sheet.insert_rows(count),
            'M' => sheet.delete_rows(count),
            'b' => sheet.repeat_last(count),
            's' => sheet.save_cursor(),
            'u' => sheet.restore_cursor(),
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _ignore: bool, byte: u8) {
        if !intermediates.is_empty() {
            return;
        }
        match byte {
            b'7' => self.sheet.save_cursor(),
            b'8' => self.sheet.restore_cursor(),
            b'D' | b'E' => self.sheet.line_feed(),
            b'M' => self.sheet.up(1),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_person_finally_reads() {
        let table: &[(&str, &str)] = &[
            ("", ""),
            ("a\r\nb\r\n", "a\nb\n"),
            // Half of a wide character never stays behind where cells are taken out or put in.
            ("日\r\x1b[P\x1b[Jx", "x"),
            ("日本\r\x1b[Pz", "z本"),
            ("日本\r\x1b[C\x1b[@z", " z 本"),
            ("a\n\n\nb", "a\n\n\nb"),
            ("a\n\n\n", "a\n\n\n"),
            ("10%\r20%\r100%\nDone\n", "100%\nDone\n"),
            ("\x1b[1;31mred\x1b[0m plain", "red plain"),
            ("a\tb\n", "a\tb\n"),
            ("\ta\rx\n", "x       a\n"),
            ("abc\x08\x08X\n", "aXc\n"),
            ("downloading\r\x1b[Kdone\n", "done\n"),
            ("abcdef\x1b[3D\x1b[1Kx\n", "   xef\n"),
            ("abc\x1b[2K\rz", "z"),
            ("abc\x1b[2Kz", "   z"),
            ("one\ntwo\nthree\n\x1b[2A\x1b[2KTWO\n", "one\nTWO\nthree\n"),
            ("one\ntwo\x1b[1;1HONE", "ONE\ntwo"),
            ("old\nold\n\x1b[H\x1b[2J\x1b[3Jnew\n", "new\n"),
            ("a\nb\nc\x1b[2;1H\x1b[J", "a\n"),
            ("a\x1b[5Gb", "a   b"),
            ("a\x1b[3Cb\x1b[99C", "a   b"),
            ("trailing  \n", "trailing  \n"),
            ("日本\x08\x08x\n", "日x\n"),
            ("日本\x1b[2Gx\n", " x本\n"),
            ("e\u{301}te\u{301}\r\n", "e\u{301}te\u{301}\n"),
            ("e\u{301}\rE\n", "E\n"),
            ("👩\u{200d}💻!\n", "👩\u{200d}💻!\n"),
            (
                "\x1b]0;title\x07\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\\n",
                "link\n",
            ),
            ("\x1bPq#0;2;0;0;0\x1b\\ok\n", "ok\n"),
            ("abcdef\x1b[1G\x1b[2P\x1b[1@\n", " cdef\n"),
            ("-\x1b[9b\n", "----------\n"),
            ("a\x1b7bc\x1b8X\n", "aXc\n"),
            (
                "before\n\x1b[?1049h\x1b[Hfull screen\x1b[?1049lafter\n",
                "before\nafter\n",
            ),
            ("before\n\x1b[?1049hfull", "before\nfull"),
            ("x\x1b[3", "x"),
            ("\u{9b}31mred\u{9b}m \u{9d}0;title\u{9c}é", "red é"),
            ("a\0\x07\x7fb", "ab"),
        ];
        for (raw, expected) in table {
            assert_eq!(plain_text(raw), *expected, "{raw:?}");
        }
    }

    #[test]
    fn the_cursor_reaches_the_last_forty_lines() {
        let lines = (1..=50)
            .map(|n| format!("{n}\n"))
            .collect::<Vec<_>>()
            .concat();
        // The cursor stands in an empty 51st line, so the screen shows 12 to 50 and that one.
        let shown = plain_text(&format!("{lines}\x1b[99A!"));
        assert_eq!(shown, lines.replace("12\n", "!2\n"));
        assert_eq!(
            plain_text(&format!("{lines}\x1b[H?")),
            lines.replace("12\n", "?2\n")
        );
    }

    /// Output that would cost a careless sheet a time that grows with the square of its length.
    #[test]
    fn hostile_output_takes_linear_time() {
        let long = "x".repeat(400_000);
        let cases = [
            "x".repeat(1 << 20),
            format!("{long}{}", "\x1b[1K".repeat(100_000)),
            format!("{long}{}", "\x1b[2Ky".repeat(100_000)),
            format!("{long}{}", "\x1b[1G\x1b[P\x1b[@".repeat(60_000)),
            format!("{long}{}", "\ry\x1b[500000C\x1b[1K".repeat(30_000)),
            "\x1b[65535;65535Hx\n".repeat(50_000),
            "a\u{301}\u{302}\x1b[2J".repeat(100_000),
            format!(
                "a{}{}",
                "\u{301}".repeat(300_000),
                "\x1b[2K\rb".repeat(50_000)
            ),
            "\x1b[L\x1b[M".repeat(150_000),
            "x\x1b[9999b".repeat(100_000),
            "\t".repeat(1 << 20),
            "\x1b]0;".repeat(1 << 18),
        ];
        for raw in cases {
            let began = Instant::now();
            let text = plain_text(&raw);
            // Far above what is needed without optimisation on a busy machine, far below what a square would take.
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "{:?}…",
                &raw[..20]
            );
            assert!(
                text.len() <= 20 * raw.len() + (1 << 17),
                "{} of {}",
                text.len(),
                raw.len()
            );
        }
    }

    proptest! {
        #[test]
        fn anything_goes(pieces in prop::collection::vec(
            prop_oneof![
                any::<char>().prop_map(String::from),
                "\\x1b\\[[0-9;?]{0,4}[A-HJ-MP-SX@`a-u]",
                "[a-z日\u{301}\r\n\t\u{8}]{0,6}",
            ],
            0..60,
        )) {
            let raw = pieces.concat();
            let text = plain_text(&raw);
            prop_assert!(!text.contains('\x1b') && !text.contains('\r'));
        }

        #[test]
        fn plain_lines_stay_as_they_are(text in "([a-zA-Z0-9 é日.]{0,30}\n){0,60}") {
            prop_assert_eq!(plain_text(&text), text.clone());
            prop_assert_eq!(plain_text(&text.replace('\n', "\r\n")), text);
        }
    }
}
