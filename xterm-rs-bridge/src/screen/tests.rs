//! What a person would see, and whether a second screen shows the same after a snapshot.

use std::time::{Duration, Instant};

use alacritty_terminal::grid::Cursor;
use alacritty_terminal::term::TermMode;
use alacritty_terminal::term::cell::Hyperlink;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

fn fed(rows: u16, columns: u16, text: &str) -> Screen {
    let mut screen = Screen::new(rows, columns, 100);
    screen.feed(text.as_bytes());
    screen
}

/// Everything that makes out the state of a screen, with what only the emulator itself can tell made equal.
#[derive(Debug, PartialEq)]
struct Whole {
    rows: Vec<Vec<Cell>>,
    cursor: Cursor<Cell>,
    mode: TermMode,
    margins: Option<(u16, u16)>,
}

fn whole(screen: &Screen) -> Whole {
    let grid = screen.term.grid();
    let rows = (-screen.history()..screen.rows())
        .map(|line| grid[Line(line)][..].to_vec())
        .collect();
    let mut cursor = grid.cursor.clone();
    name_link(&mut cursor.template);
    // Nothing that can be written brings a cursor past the edge of a row that goes on.
    cursor.input_needs_wrap &= !wraps(&grid[cursor.point.line][..]);
    Whole {
        rows: normal(rows),
        cursor,
        mode: *screen.term.mode(),
        margins: screen.filter.margins(),
    }
}

/// The place where a tab began is a blank; half of a wide character is a blank; a gap before a wide character is a blank; marks that
/// are none are not there; the last row goes on nowhere.
fn normal(mut rows: Vec<Vec<Cell>>) -> Vec<Vec<Cell>> {
    let last = rows.len() - 1;
    for (index, row) in rows.iter_mut().enumerate() {
        let columns = row.len();
        for column in 0..columns {
            let next = row
                .get(column + 1)
                .is_some_and(|next| next.flags.contains(Flags::WIDE_CHAR_SPACER));
            let before = column > 0 && row[column - 1].flags.contains(Flags::WIDE_CHAR);
            let cell = &mut row[column];
            if cell.c == '\t' {
                cell.c = ' ';
            }
            cell.flags.remove(Flags::LEADING_WIDE_CHAR_SPACER);
            if cell.flags.contains(Flags::WIDE_CHAR) && !next {
                cell.flags.remove(Flags::WIDE_CHAR);
                cell.c = ' ';
            }
            if cell.flags.contains(Flags::WIDE_CHAR_SPACER) {
                if before {
                    // What a spacer carries is never seen.
                    *cell = Cell {
                        flags: cell.flags & (Flags::WIDE_CHAR_SPACER | Flags::WRAPLINE),
                        ..Cell::default()
                    };
                } else {
                    cell.flags.remove(Flags::WIDE_CHAR_SPACER);
                }
            }
            if index == last || column + 1 < columns {
                cell.flags.remove(Flags::WRAPLINE);
            }
            lighten(cell);
            name_link(cell);
            if cell.hyperlink().is_none()
                && cell.underline_color().is_none()
                && cell.zerowidth().is_none_or(<[char]>::is_empty)
            {
                cell.extra = None;
            }
        }
    }
    rows
}

/// The emulator numbers the links that have no id of their own through the whole program.
fn name_link(cell: &mut Cell) {
    if let Some(link) = cell
        .hyperlink()
        .filter(|link| link.id().ends_with("_alacritty"))
    {
        cell.set_hyperlink(Some(Hyperlink::new(Some(""), link.uri().to_owned())));
    }
}

fn restored(screen: &mut Screen) -> Screen {
    let (rows, columns) = screen.size();
    let mut second = Screen::new(
        u16::try_from(rows).unwrap(),
        u16::try_from(columns).unwrap(),
        100,
    );
    second.feed(screen.snapshot().as_bytes());
    second
}

#[test]
fn what_stands_on_the_screen() {
    let table = [
        ("", ""),
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("10%\r20%\r100%\r\nDone\r\n", "100%\nDone\n"),
        ("a\r\nb\r\n\x1b[2A\x1b[2KA\r\n\x1b[2KB\r\n", "A\nB\n"),
        (
            "✅ ok\r\n日本 語\r\ne\u{301}e\r\n",
            "✅ ok\n日本 語\ne\u{301}e\n",
        ),
        ("👨\u{200d}👩\u{200d}👧 x", "👨\u{200d}👩\u{200d}👧 x\n"),
        (
            "\x1b[31mred\x1b[0m\x1b]0;title\x07 \x1b]52;c;QQ==\x07.",
            "red .\n",
        ),
        ("\x1b]8;;javascript:alert(1)\x07X\x1b]8;;\x07", "X\n"),
        ("a\tb\r\n", "a       b\n"),
        (
            "12345678901234567890wrapped",
            "12345678901234567890wrapped\n",
        ),
        ("before\r\n\x1b[?1049h\x1b[Hfull", "full\n"),
        (
            "before\r\n\x1b[?1049h\x1b[Hfull\x1b[?1049lafter",
            "before\nafter\n",
        ),
        ("\x1b[?2026hdrawn at once", "drawn at once\n"),
        ("x\x1b]0;never ended", "x\n"),
        ("x\x1b[3", "x\n"),
    ];
    for (fed_text, expected) in table {
        assert_eq!(fed(10, 20, fed_text).final_text(), expected, "{fed_text:?}");
    }
}

#[test]
fn half_of_a_wide_character_is_a_blank() {
    let table = [
        // The other half was erased, deleted, or drawn over.
        ("日本\x1b[1;4H\x1b[K", "日\n"),
        ("日本x\x1b[1;1H\x1b[1K", "  本x\n"),
        ("日本x\x1b[1;1H\x1b[P", " 本x\n"),
        ("日本x\x1b[1;2H\x1b[X.", " .本x\n"),
        // A wide character had no room, and what stood in the next row for it is something else now.
        ("0123456789日x\x1b[2;1Hab", "0123456789abx\n"),
        ("012345678日x\x1b[2;1Hab", "012345678 abx\n"),
        ("012345678日x", "012345678日x\n"),
        ("012345678日\x1b[1;10Hy", "012345678y\n日\n"),
    ];
    for (fed_text, expected) in table {
        let mut screen = fed(3, 10, fed_text);
        assert_eq!(screen.final_text(), expected, "{fed_text:?}");
        let mut second = restored(&mut screen);
        assert_eq!(second.final_text(), expected, "{fed_text:?}");
        assert_eq!(second.snapshot(), screen.snapshot(), "{fed_text:?}");
    }
}

#[test]
fn what_scrolled_off_is_kept_up_to_the_bound() {
    let lines = (1..=120)
        .map(|n| format!("{n}\r\n"))
        .collect::<Vec<_>>()
        .concat();
    let screen = fed(5, 20, &lines);
    let expected = (17..=116)
        .map(|n| format!("{n}\n"))
        .collect::<Vec<_>>()
        .concat();
    assert_eq!(screen.scrollback_text(), expected);
    assert_eq!(screen.final_text(), "117\n118\n119\n120\n");
    // A line that goes on on the screen.
    let long = fed(2, 10, &"x".repeat(25));
    assert_eq!(
        long.scrollback_text() + &long.final_text(),
        "x".repeat(25) + "\n"
    );
}

#[test]
fn a_snapshot_brings_another_screen_to_the_same_state() {
    let lines = (1..=50)
        .map(|n| format!("\x1b[3{}mline {n}\x1b[m\r\n", n % 8))
        .collect::<Vec<_>>()
        .concat();
    let cases = [
        String::new(),
        lines.clone(),
        format!("{lines}\x1b[3;5Hx\x1b7\x1b[1;31;48;5;17m\x1b[5;2H"),
        "\x1b[1;2;3;4;7;8;9mall\x1b[0;4:3;58:5:9mcurly\x1b[4:2;58:2::1:2:3mdouble\x1b[38;2;1;2;3;48;2;4;5;6mrgb\x1b[94;103mbright".to_owned(),
        format!("{}\r\n{}", "w".repeat(20), "x".repeat(45)),
        "w".repeat(20),
        "日本語".repeat(9),
        format!("x{}", "日".repeat(19)),
        "e\u{301}\u{302} 👨\u{200d}👩\u{200d}👧 ✅\u{fe0f}\r\n\u{301}".to_owned(),
        "\x1b[44mblue\x1b[K\r\nnext\r\n\x1b[2Jrest".to_owned(),
        format!("\x1b[41m{}\x1b[42m{}", "a".repeat(23), "\r\nb".repeat(12)),
        "\x1b]8;id=7;https://example.org/a;b\x07link\x1b]8;;\x07 \x1b]8;;file:///x\x07open".to_owned(),
        format!("{lines}\x1b[?1049h\x1b[Hdisplay\x1b[44m\x1b[K\x1b[9;9H日\x1b[?25l\x1b[?1h\x1b[?2004h"),
        "\x1b[3;6r\x1b[?6h\x1b[2;4Hin\x1b[?7l".to_owned(),
        "\x1b(0lqk\x1b(B\r\na\tb\x1b)0\x1b(0".to_owned(),
        format!("{}\x1b[1;1H\x1b[P\x1b[@\x1b[4h日", "日".repeat(25)),
        "\x1b[?1000;1006h\x1b[20h\x1b=x".to_owned(),
    ];
    for text in cases {
        let mut screen = fed(10, 20, &text);
        let second = restored(&mut screen);
        assert_eq!(whole(&second), whole(&screen), "{text:?}");
        // Taking it changes nothing.
        let again = screen.snapshot();
        assert_eq!(again, screen.snapshot());
    }
}

#[test]
fn a_snapshot_is_the_same_whatever_was_shown_before_elsewhere() {
    let text = "\x1b]8;;http://a\x07one\x1b]8;;\x07 \x1b]8;id=x;http://a\x07two\x1b]8;;http://a\x07three\x1b]8;;\x07";
    let first = fed(2, 20, text).snapshot();
    assert_eq!(fed(2, 20, text).snapshot(), first);
    // What is one link stays one, also where others come between.
    let torn = "\x1b]8;;http://a\x07abc\x1b]8;;http://b\x07\x1b[1;2HX\x1b]8;;\x07";
    assert_eq!(
        fed(1, 20, torn).snapshot(),
        "\x1b]8;id=1_alacritty;http://a\x1b\\a\x1b]8;id=2_alacritty;http://b\x1b\\X\
         \x1b]8;id=1_alacritty;http://a\x1b\\c\x1b[1;3H\x1b]8;;\x1b\\"
    );
}

#[test]
fn what_lies_under_a_full_screen_program_comes_back() {
    let mut screen = fed(5, 20, "one\r\ntwo\x1b[32m\x1b[?1049h\x1b[2;2Hdisplay");
    let mut second = restored(&mut screen);
    screen.feed(b"\x1b[?1049l!");
    second.feed(b"\x1b[?1049l!");
    assert_eq!(whole(&second), whole(&screen));
    assert_eq!(second.final_text(), "one\ntwo!\n");
}

#[test]
fn another_size_wraps_lines_anew() {
    let mut screen = fed(4, 20, "12345678901234567890abcde\r\nnext");
    screen.resize(4, 10);
    assert_eq!(screen.size(), (4, 10));
    assert_eq!(
        screen.scrollback_text() + &screen.final_text(),
        "12345678901234567890abcde\nnext\n"
    );
    screen.resize(0, 0);
    assert_eq!(screen.size(), (1, 3));
    let mut second = restored(&mut screen);
    assert_eq!(whole(&second), whole(&screen));
    screen.resize(6, 30);
    second.resize(6, 30);
    assert_eq!(second.final_text(), screen.final_text());
}

/// Output that makes a careless emulator slow or large.
#[test]
fn hostile_output_takes_linear_time_and_bounded_memory() {
    let long_link = format!("\x1b]8;;http://{}\x07x\x1b]8;;\x07", "y".repeat(4000));
    let cases = [
        "x".repeat(10_000_000),
        "\n".repeat(1 << 20),
        "a\u{301}".repeat(1 << 20),
        format!("a{}", "\u{301}".repeat(4 << 20)),
        format!("\x1b[H{}", "b\x08\u{301}\x1b[C".repeat(1 << 20)),
        "x\x1b[65535b".repeat(50_000),
        "\x1b[65535S".repeat(20_000),
        "\x1b[65535I\x1b[65535Z".repeat(20_000),
        "\x1b]0;".repeat(1 << 20),
        format!("\x1bP{}", "q".repeat(4 << 20)),
        long_link.repeat(3000),
        "\x1b[22t\x1b[>1u".repeat(100_000),
    ];
    for text in cases {
        let began = Instant::now();
        let mut screen = Screen::new(40, 120, 500);
        screen.feed(text.as_bytes());
        screen.sweep();
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "{:?}…",
            &text[..20]
        );
        assert!(
            screen.memory_bytes() < 12 << 20,
            "{} for {:?}…",
            screen.memory_bytes(),
            &text[..20]
        );
    }
}

/// Bytes that are rich in what a screen can stumble over.
pub(crate) fn soup() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        any::<u8>().prop_map(|byte| vec![byte]),
        "\\x1b\\[[0-9;:?]{0,5}[@-~]".prop_map(String::into_bytes),
        "\\x1b[ #()]{0,1}[0-~]".prop_map(String::into_bytes),
        "\\x1b\\[(3|4)8[;:](2|5)[;:][0-9]{1,3}(;[0-9];[0-9])?m".prop_map(String::into_bytes),
        "\\x1b\\](8;;http:x|0;t|52;c;QQ==)(\\x07|\\x1b\\\\)?".prop_map(String::into_bytes),
        "\\x1b\\[\\?(1|6|7|25|47|1049|2026|1000)[hl]".prop_map(String::into_bytes),
        "[a-z日✅\u{301}\u{200d}\r\n\t\u{8} ]{0,12}".prop_map(String::into_bytes),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_cut_anywhere_give_the_same_screen(bytes in soup(), step in 1usize..9, rows in 1u16..8, columns in 2u16..24) {
        let mut at_once = Screen::new(rows, columns, 20);
        at_once.feed(&bytes);
        let mut in_pieces = Screen::new(rows, columns, 20);
        bytes.chunks(step).for_each(|piece| in_pieces.feed(piece));
        prop_assert_eq!(whole(&in_pieces), whole(&at_once));
    }

    #[test]
    fn any_state_is_restored_from_its_snapshot(bytes in soup(), rows in 1u16..8, columns in 2u16..24) {
        let mut screen = Screen::new(rows, columns, 100);
        screen.feed(&bytes);
        let second = restored(&mut screen);
        prop_assert_eq!(whole(&second), whole(&screen));
    }
}
