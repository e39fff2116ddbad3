//! Whatever bytes come: a screen stands, stays within its memory, and can be restored.

use xterm_rs_bridge::{PersonFilter, Screen, plain_text};

/// Shows `bytes` on a screen of that size and panics unless it stays small and a second screen shows the same after a snapshot.
pub fn any_bytes_leave_a_whole_screen(bytes: &[u8], rows: u8, columns: u8) {
    let (rows, columns) = (u16::from(rows % 50) + 1, u16::from(columns) + 2);
    let mut screen = Screen::new(rows, columns, 100);
    screen.feed(bytes);
    assert!(screen.memory_bytes() < 8 << 20);
    let mut second = Screen::new(rows, columns, 100);
    second.feed(screen.snapshot().as_bytes());
    assert_eq!(second.scrollback_text(), screen.scrollback_text());
    assert_eq!(second.final_text(), screen.final_text());
    assert_eq!(second.cursor(), screen.cursor());
    screen.resize(columns, rows);

    let text = String::from_utf8_lossy(bytes);
    let plain = plain_text(&text);
    assert!(!plain.contains(['\x1b', '\r', '\u{9b}']));
    let mut passed = String::new();
    PersonFilter::new().filter(&text, &mut passed);
    // What passed passes again: nothing was put together that would have been removed.
    let mut again = String::new();
    PersonFilter::new().filter(&passed, &mut again);
    assert_eq!(again, passed);
}
