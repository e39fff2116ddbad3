//! A screen as the bytes that bring a fresh one to the same state.

use std::collections::HashMap;
use std::fmt::Write as _;

use alacritty_terminal::grid::{Cursor, Dimensions, Grid};
use alacritty_terminal::index::Line;
use alacritty_terminal::term::TermMode;
use alacritty_terminal::term::cell::{Cell, Flags, Hyperlink};
use alacritty_terminal::vte::ansi::{CharsetIndex, Color, NamedColor, StandardCharset};

use super::{Screen, is_gap, is_wide, shown, wraps};

/// Modes that are off on a fresh terminal, and how each is turned on.
const OFF_AT_FIRST: &[(TermMode, &str)] = &[
    (TermMode::APP_CURSOR, "\x1b[?1h"),
    (TermMode::APP_KEYPAD, "\x1b="),
    (TermMode::MOUSE_REPORT_CLICK, "\x1b[?1000h"),
    (TermMode::MOUSE_DRAG, "\x1b[?1002h"),
    (TermMode::MOUSE_MOTION, "\x1b[?1003h"),
    (TermMode::FOCUS_IN_OUT, "\x1b[?1004h"),
    (TermMode::UTF8_MOUSE, "\x1b[?1005h"),
    (TermMode::SGR_MOUSE, "\x1b[?1006h"),
    (TermMode::BRACKETED_PASTE, "\x1b[?2004h"),
    (TermMode::LINE_FEED_NEW_LINE, "\x1b[20h"),
    (TermMode::INSERT, "\x1b[4h"),
];

/// Modes that are on at first, and how each is turned off.
const ON_AT_FIRST: &[(TermMode, &str)] = &[
    (TermMode::SHOW_CURSOR, "\x1b[?25l"),
    (TermMode::LINE_WRAP, "\x1b[?7l"),
];

impl Screen {
    /// What, written to a fresh terminal of the same size, restores scrollback, screen (also a full-screen program's, with what lies
    /// under it), colours, links, cursor, margins and modes.
    ///
    /// Not restored, because the emulator does not tell: tab stops that were moved, and whether the second character set is switched to.
    pub fn snapshot(&mut self) -> String {
        let mut writer = Writer::default();
        if self.term.mode().contains(TermMode::ALT_SCREEN) {
            // The emulator shows the other grid only by switching, which empties this one.
            let display = self.term.grid().clone();
            self.term.swap_alt();
            let under = self.term.grid().cursor.clone();
            writer.grid(self.term.grid());
            writer.cursor(self.term.grid(), &under, 0);
            self.term.swap_alt();
            *self.term.grid_mut() = display;
            writer.out.push_str("\x1b[?1049h");
            // It begins in the background colour of the pen.
            writer.take_up(&Pen::default());
            writer.charsets(&Cursor::default(), &under);
            writer.out.push_str("\x1b[2J\x1b[H");
        }
        let grid = self.term.grid();
        writer.grid(grid);
        if grid.saved_cursor != Cursor::default() {
            writer.cursor(grid, &grid.saved_cursor, 0);
            writer.out.push_str("\x1b7");
            writer.charsets(&Cursor::default(), &grid.saved_cursor);
        }
        let mut first_row = 0;
        if let Some((top, bottom)) = self.filter.margins() {
            let _ = write!(writer.out, "\x1b[{top};{bottom}r");
            first_row = usize::from(top) - 1;
        }
        let mode = *self.term.mode();
        if mode.contains(TermMode::ORIGIN) {
            writer.out.push_str("\x1b[?6h");
        } else {
            first_row = 0;
        }
        writer.cursor(grid, &grid.cursor, first_row);
        for &(flag, on) in OFF_AT_FIRST {
            if mode.contains(flag) {
                writer.out.push_str(on);
            }
        }
        for &(flag, off) in ON_AT_FIRST {
            if !mode.contains(flag) {
                writer.out.push_str(off);
            }
        }
        writer.out
    }
}

/// What is drawn with.
#[derive(Debug, Clone, PartialEq)]
struct Pen {
    fg: Color,
    bg: Color,
    flags: Flags,
    underline: Option<Color>,
    link: Option<Hyperlink>,
}

/// The flags that a pen has; the others tell how cells hang together.
const DRAWN: Flags = Flags::from_bits_truncate(
    !(Flags::WRAPLINE.bits()
        | Flags::WIDE_CHAR.bits()
        | Flags::WIDE_CHAR_SPACER.bits()
        | Flags::LEADING_WIDE_CHAR_SPACER.bits()),
);

const FLAGS: &[(Flags, &str)] = &[
    (Flags::BOLD, ";1"),
    (Flags::DIM, ";2"),
    (Flags::ITALIC, ";3"),
    (Flags::UNDERLINE, ";4"),
    (Flags::DOUBLE_UNDERLINE, ";4:2"),
    (Flags::UNDERCURL, ";4:3"),
    (Flags::DOTTED_UNDERLINE, ";4:4"),
    (Flags::DASHED_UNDERLINE, ";4:5"),
    (Flags::INVERSE, ";7"),
    (Flags::HIDDEN, ";8"),
    (Flags::STRIKEOUT, ";9"),
];

impl Default for Pen {
    fn default() -> Self {
        Self::of(&Cell::default())
    }
}

impl Pen {
    fn of(cell: &Cell) -> Self {
        Self {
            fg: cell.fg,
            bg: cell.bg,
            flags: cell.flags & DRAWN,
            underline: cell.underline_color(),
            link: cell.hyperlink(),
        }
    }

    fn draws(&self, cell: &Cell) -> bool {
        self.fg == cell.fg
            && self.bg == cell.bg
            && self.flags == cell.flags & DRAWN
            && (cell.extra.is_none() && self.underline.is_none() && self.link.is_none()
                || self.underline == cell.underline_color() && self.link == cell.hyperlink())
    }

    fn sgr(&self, out: &mut String) {
        out.push_str("\x1b[0");
        for &(flag, code) in FLAGS {
            if self.flags.contains(flag) {
                out.push_str(code);
            }
        }
        color(self.fg, 30, out);
        color(self.bg, 40, out);
        match self.underline {
            Some(Color::Indexed(index)) => {
                let _ = write!(out, ";58:5:{index}");
            }
            Some(Color::Spec(rgb)) => {
                let _ = write!(out, ";58:2::{}:{}:{}", rgb.r, rgb.g, rgb.b);
            }
            Some(Color::Named(name)) => {
                let _ = write!(out, ";58:5:{}", name as usize);
            }
            None => {}
        }
        out.push('m');
    }
}

/// The code for a colour, where `base` is 30 in front and 40 behind.
fn color(color: Color, base: usize, out: &mut String) {
    let _ = match color {
        Color::Named(NamedColor::Foreground | NamedColor::Background) => Ok(()),
        Color::Named(name) => match name as usize {
            plain @ 0..=7 => write!(out, ";{}", base + plain),
            bright @ 8..=15 => write!(out, ";{}", base + 60 + bright - 8),
            // No sequence chooses one of the others.
            _ => Ok(()),
        },
        Color::Indexed(index) => write!(out, ";{};5;{index}", base + 8),
        Color::Spec(rgb) => write!(out, ";{};2;{};{};{}", base + 8, rgb.r, rgb.g, rgb.b),
    };
}

#[derive(Debug, Default)]
struct Writer {
    out: String,
    pen: Pen,
    /// The links without an id of their own, and their numbers in this snapshot.
    numbers: HashMap<Hyperlink, usize>,
}

/// How the id ends that the emulator gives to a link without one. It counts them through the whole program, so that its numbers tell what
/// else was shown; a snapshot counts its own.
const NUMBERED: &str = "_alacritty";

impl Writer {
    /// Draws all lines of `grid` from the top, so that the older ones scroll off.
    fn grid(&mut self, grid: &Grid<Cell>) {
        let history = i32::try_from(grid.history_size()).unwrap_or(i32::MAX);
        let rows = i32::try_from(grid.screen_lines()).unwrap_or(i32::MAX);
        let mut goes_on = false;
        for line in -history..rows {
            let row = &grid[Line(line)][..];
            if line > -history && !goes_on {
                // A new line is filled with the background of the pen.
                self.take_up(&Pen::default());
                self.out.push_str("\r\n");
            }
            let next = (line + 1 < rows).then(|| &grid[Line(line + 1)][..]);
            self.row(row, next, goes_on);
            goes_on = next.is_some() && wraps(row);
        }
    }

    fn row(&mut self, row: &[Cell], next: Option<&[Cell]>, continued: bool) {
        let wrapped = next.is_some() && wraps(row);
        let mut end = if wrapped {
            row.len()
        } else {
            (0..row.len())
                .rfind(|&column| !is_blank(row, column))
                .map_or(0, |at| at + 1)
        };
        // Only a character that is printed brings the cursor into the row.
        if continued {
            end = end.max(1);
        }
        let mut column = 0;
        while column < end {
            let cell = &row[column];
            if is_wide(row, column) {
                self.cell(cell, shown(row, column));
                column += 2;
                continue;
            }
            // A wide character that had no room at the end of the row leaves its gap by itself.
            let left_free = is_gap(row, column, next)
                && cell.zerowidth().is_none_or(<[char]>::is_empty)
                && next.is_some_and(|next| Pen::of(&next[0]) == Pen::of(cell));
            if !left_free {
                self.cell(cell, shown(row, column));
            }
            column += 1;
        }
        let colours_the_row = row
            .first()
            .is_some_and(|cell| cell.bg != Cell::default().bg);
        if continued && end < row.len() && colours_the_row {
            self.take_up(&Pen::default());
            self.out.push_str("\x1b[K");
        }
    }

    fn cell(&mut self, cell: &Cell, character: char) {
        if !self.pen.draws(cell) {
            self.take_up(&Pen::of(cell));
        }
        self.out.push(character);
        self.out.extend(cell.zerowidth().unwrap_or_default());
    }

    fn take_up(&mut self, pen: &Pen) {
        if self.pen.link != pen.link {
            match &pen.link {
                Some(link) if link.id().ends_with(NUMBERED) => {
                    let next = self.numbers.len() + 1;
                    let number = self.numbers.entry(link.clone()).or_insert(next);
                    let uri = link.uri();
                    let _ = write!(self.out, "\x1b]8;id={number}{NUMBERED};{uri}\x1b\\");
                }
                Some(link) => {
                    let _ = write!(self.out, "\x1b]8;id={};{}\x1b\\", link.id(), link.uri());
                }
                None => self.out.push_str("\x1b]8;;\x1b\\"),
            }
        }
        let mut same = self.pen.clone();
        same.link.clone_from(&pen.link);
        if same != *pen {
            pen.sgr(&mut self.out);
        }
        self.pen = pen.clone();
    }

    /// Moves to the place of `cursor`, where rows are counted from `first_row`, and takes up its pen.
    fn cursor(&mut self, grid: &Grid<Cell>, cursor: &Cursor<Cell>, first_row: usize) {
        let point = cursor.point;
        let line = usize::try_from(point.line.0).unwrap_or(0);
        let row = &grid[point.line][..];
        let mut column = point.column.0;
        // A cursor that was saved there while its row went on is brought before the edge: what is printed there now must go on.
        let past_edge = cursor.input_needs_wrap && !wraps(row);
        if past_edge {
            // The last character of a full row is printed once more, which leaves the cursor past the edge.
            let spacer = row[column].flags.contains(Flags::WIDE_CHAR_SPACER);
            column -= usize::from(spacer && column > 0);
        }
        let row_from_one = line.saturating_sub(first_row) + 1;
        let _ = write!(self.out, "\x1b[{row_from_one};{}H", column + 1);
        if past_edge {
            self.cell(&row[column], shown(row, column));
        }
        self.take_up(&Pen::of(&cursor.template));
        self.charsets(cursor, &Cursor::default());
    }

    /// Chooses the character sets of `cursor` where they differ from those of `from`.
    fn charsets(&mut self, cursor: &Cursor<Cell>, from: &Cursor<Cell>) {
        let sets = [
            (CharsetIndex::G0, '('),
            (CharsetIndex::G1, ')'),
            (CharsetIndex::G2, '*'),
            (CharsetIndex::G3, '+'),
        ];
        for (index, introducer) in sets {
            if cursor.charsets[index] != from.charsets[index] {
                let set = match cursor.charsets[index] {
                    StandardCharset::Ascii => 'B',
                    StandardCharset::SpecialCharacterAndLineDrawing => '0',
                };
                let _ = write!(self.out, "\x1b{introducer}{set}");
            }
        }
    }
}

/// Like a cell that nothing was drawn into.
fn is_blank(row: &[Cell], column: usize) -> bool {
    let cell = &row[column];
    shown(row, column) == ' '
        && cell.zerowidth().is_none_or(<[char]>::is_empty)
        && Pen::default().draws(cell)
}
