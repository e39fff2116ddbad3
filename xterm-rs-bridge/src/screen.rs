//! A terminal that nobody sees: what stands on it, what scrolled off it, and how another one is brought to the same state.
//!
//! The emulator is `alacritty_terminal` 0.26. Beside `vt100` 0.18 (`tests/emulators.rs`) it shows the same for progress that moves the
//! cursor up, wide and combining characters and sequences that never end; only it keeps links and wraps lines anew in another size;
//! and it took 85 ms for a line of 10 MB where the other took 142 ms, 76 ms and 202 ms for 800,000 lines (release build, 2 cores, both under
//! load). Neither bounds an unterminated string, and this one bounds neither titles nor combining characters nor links, so strings are
//! filtered out before it and heavy cells are lightened behind it.

mod snapshot;
#[cfg(test)]
mod tests;

use std::time::Duration;

use alacritty_terminal::Term;
use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::Config;
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::{Processor, Timeout};

use crate::{PersonFilter, Utf8Decoder};

/// Pushes are taken in pieces of this size.
const PIECE_BYTES: usize = 64 * 1024;

/// After so much text the cells are searched for what makes them heavy.
const SWEEP_BYTES: usize = 4 << 20;

/// The combining characters that one cell keeps. The longest emoji families have fewer.
const MARKS: usize = 16;

/// The bytes of link targets that a screen keeps; past that the oldest links become text.
const LINK_BYTES: usize = 1 << 20;

/// The bounds of a screen's size, which the emulator needs (2 columns) and which keep the memory within reason. In 2 columns a wide
/// character that fills its row could not be drawn again without the mark that the row above was left for it.
const COLUMNS: std::ops::RangeInclusive<u16> = 3..=1000;
const ROWS: std::ops::RangeInclusive<u16> = 1..=1000;

/// A headless terminal of fixed size with a bounded scrollback.
///
/// It answers no query and knows no clipboard, title or image. Time is linear in what is fed. Memory is bounded: about 24 bytes for each
/// cell of screen and scrollback (3 MiB for 1,000 lines of 120), more only where cells carry combining characters or links.
pub struct Screen {
    decoder: Utf8Decoder,
    filter: PersonFilter,
    processor: Processor<NoWaiting>,
    term: Term<VoidListener>,
    text: String,
    filtered: String,
    unswept: usize,
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen")
            .field("rows", &self.term.screen_lines())
            .field("columns", &self.term.columns())
            .field("cursor", &self.term.grid().cursor.point)
            .finish_non_exhaustive()
    }
}

/// Synchronized updates are drawn as they come: nobody sees the frames in between.
#[derive(Debug, Default)]
struct NoWaiting;

impl Timeout for NoWaiting {
    fn set_timeout(&mut self, _: Duration) {}

    fn clear_timeout(&mut self) {}

    fn pending_timeout(&self) -> bool {
        false
    }
}

#[derive(Debug, Clone, Copy)]
struct Size {
    rows: usize,
    columns: usize,
}

impl Size {
    fn new(rows: u16, columns: u16) -> Self {
        Self {
            rows: rows.into(),
            columns: columns.into(),
        }
    }
}

fn clamped(rows: u16, columns: u16) -> (u16, u16) {
    (
        rows.clamp(*ROWS.start(), *ROWS.end()),
        columns.clamp(*COLUMNS.start(), *COLUMNS.end()),
    )
}

impl Dimensions for Size {
    fn total_lines(&self) -> usize {
        self.rows
    }

    fn screen_lines(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }
}

impl Screen {
    /// An empty screen that keeps `scrollback` lines beyond its own. Rows are brought into 1..=1000, columns into 2..=1000.
    pub fn new(rows: u16, columns: u16, scrollback: usize) -> Self {
        let (rows, columns) = clamped(rows, columns);
        let config = Config {
            scrolling_history: scrollback,
            ..Config::default()
        };
        Self {
            decoder: Utf8Decoder::new(),
            filter: PersonFilter::for_emulator(rows, columns),
            processor: Processor::new(),
            term: Term::new(config, &Size::new(rows, columns), VoidListener),
            text: String::new(),
            filtered: String::new(),
            unswept: 0,
        }
    }

    /// Shows bytes as they came out of a terminal, cut anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(PIECE_BYTES) {
            self.text.clear();
            self.decoder.decode(piece, &mut self.text);
            self.filtered.clear();
            self.filter.filter(&self.text, &mut self.filtered);
            self.processor
                .advance(&mut self.term, self.filtered.as_bytes());
            self.unswept += self.filtered.len();
            if self.unswept > SWEEP_BYTES {
                self.sweep();
            }
        }
    }

    /// Changes the size. Lines that were wrapped are wrapped anew.
    pub fn resize(&mut self, rows: u16, columns: u16) {
        let (rows, columns) = clamped(rows, columns);
        self.filter.resize(rows, columns);
        self.term.resize(Size::new(rows, columns));
    }

    /// Rows and columns.
    pub fn size(&self) -> (usize, usize) {
        (self.term.screen_lines(), self.term.columns())
    }

    /// The cursor's row and column, from 0.
    pub fn cursor(&self) -> (usize, usize) {
        let point = self.term.grid().cursor.point;
        (usize::try_from(point.line.0).unwrap_or(0), point.column.0)
    }

    /// What stands on the screen, each line ended by `\n`: without colours, without the blanks at the ends of lines and the empty lines at
    /// the end; what was only wrapped is one line.
    pub fn final_text(&self) -> String {
        let mut text = self.lines(0, self.rows());
        text.truncate(text.trim_end_matches('\n').len());
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }

    /// What scrolled off the top, as far as it is kept, in the form of [`final_text`](Self::final_text). A line that goes on on the screen
    /// has no `\n`.
    pub fn scrollback_text(&self) -> String {
        self.lines(-self.history(), 0)
    }

    fn rows(&self) -> i32 {
        i32::try_from(self.term.screen_lines()).unwrap_or(i32::MAX)
    }

    fn history(&self) -> i32 {
        i32::try_from(self.term.grid().history_size()).unwrap_or(i32::MAX)
    }

    fn lines(&self, from: i32, to: i32) -> String {
        let mut text = String::new();
        let mut line_start = 0;
        for line in from..to {
            let row = &self.term.grid()[Line(line)][..];
            let next = (line + 1 < self.rows()).then(|| &self.term.grid()[Line(line + 1)][..]);
            for (column, cell) in row.iter().enumerate() {
                if !is_second_half(row, column) && !is_gap(row, column, next) {
                    text.push(shown(row, column));
                    text.extend(cell.zerowidth().unwrap_or_default());
                }
            }
            if !wraps(row) {
                let printed = text[line_start..].trim_end_matches(' ').len();
                text.truncate(line_start + printed);
                text.push('\n');
                line_start = text.len();
            }
        }
        text
    }

    /// Bounds what cells carry beside their character: without this a line that is drawn over and over with combining characters or long
    /// links would grow without end.
    fn sweep(&mut self) {
        self.unswept = 0;
        let (from, to) = (-self.history(), self.rows());
        let columns = self.term.columns();
        let grid = self.term.grid_mut();
        let mut link_bytes = 0;
        let mut link = None;
        for line in (from..to).rev() {
            for column in 0..columns {
                let cell = &mut grid[Line(line)][Column(column)];
                if cell.extra.is_none() {
                    continue;
                }
                let own = cell.hyperlink();
                if own.is_some() && own != link {
                    link_bytes += own
                        .as_ref()
                        .map_or(0, |link| link.uri().len() + link.id().len());
                    link.clone_from(&own);
                }
                if link_bytes > LINK_BYTES {
                    cell.set_hyperlink(None);
                }
                if cell.zerowidth().is_some_and(|marks| marks.len() > MARKS) {
                    lighten(cell);
                }
            }
        }
    }

    /// The memory that the cells take, in bytes, as near as can be told from outside.
    pub fn memory_bytes(&self) -> usize {
        let grid = self.term.grid();
        let mut extras = 0;
        for line in -self.history()..self.rows() {
            for cell in &grid[Line(line)][..] {
                if let Some(marks) = cell.zerowidth() {
                    extras += 80 + 4 * marks.len();
                    extras += cell.hyperlink().map_or(0, |link| link.uri().len());
                }
            }
        }
        grid.total_lines() * grid.columns() * size_of::<Cell>() + extras
    }
}

/// The character that is seen at a place. The emulator marks where a tab began, and keeps half of a wide character when the other one is
/// erased.
fn shown(row: &[Cell], column: usize) -> char {
    let cell = &row[column];
    let halved = cell.flags.contains(Flags::WIDE_CHAR) && !is_wide(row, column);
    if cell.c == '\t' || halved {
        ' '
    } else {
        cell.c
    }
}

/// Does a wide character with both its halves begin there?
fn is_wide(row: &[Cell], column: usize) -> bool {
    row[column].flags.contains(Flags::WIDE_CHAR)
        && row
            .get(column + 1)
            .is_some_and(|next| next.flags.contains(Flags::WIDE_CHAR_SPACER))
}

fn is_second_half(row: &[Cell], column: usize) -> bool {
    column > 0 && is_wide(row, column - 1)
}

/// Is it the place that the wide character at the start of the `next` row did not fit into?
fn is_gap(row: &[Cell], column: usize, next: Option<&[Cell]>) -> bool {
    column + 1 == row.len()
        && wraps(row)
        && row[column].flags.contains(Flags::LEADING_WIDE_CHAR_SPACER)
        && next.is_some_and(|next| is_wide(next, 0))
}

/// Does the line go on in the next row?
fn wraps(row: &[Cell]) -> bool {
    row.last()
        .is_some_and(|cell| cell.flags.contains(Flags::WRAPLINE))
}

/// Takes the combining characters past the bound out of a cell.
fn lighten(cell: &mut Cell) {
    let marks: Vec<char> = cell
        .zerowidth()
        .unwrap_or_default()
        .iter()
        .copied()
        .take(MARKS)
        .collect();
    let (link, underline) = (cell.hyperlink(), cell.underline_color());
    cell.extra = None;
    cell.set_hyperlink(link);
    cell.set_underline_color(underline);
    for mark in marks {
        cell.push_zerowidth(mark);
    }
}
