//! A sheet of 40 rows without a right edge, just real enough to find out what a person would finally read.
//!
//! Why not the emulator of [`Screen`](crate::Screen)? It was tried on the table of `plain`, 1000 columns wide, and cannot keep its meaning:
//! - A printed space and an empty cell are the same to it, so the spaces at the end of a line and the empty lines at the end are lost.
//!   Tabs become blanks. What stood under a full-screen program that never left is not shown.
//! - Its lines have an edge. A wrapped line can be joined again, but a CR or an erase in it then reaches only its last row. A grid
//!   as wide as the longest line takes 24 bytes a cell in each of 40 rows: 9.6 GB for one line of 10 MB, where the sheet has 40 MB.
//! - Whatever scrolls off stays a row of cells: the million lines of a mebibyte of newlines would be 2.9 GB at 120 columns, here they are a
//!   byte each.

use std::collections::{HashMap, VecDeque};

use unicode_width::UnicodeWidthChar as _;

/// Rows that the cursor can reach; older ones are finished text.
pub(crate) const ROWS: usize = 40;

/// How far to the right a bare cursor movement can go where no text is.
const REACH: usize = 1000;

/// An empty cell that nothing was printed into. None of these four can be printed: the parser takes them as control characters.
const BLANK: char = '\0';
/// The second cell of a wide character.
const WIDE_REST: char = '\u{1}';
/// The cell where a tab began that moved over fresh cells, and the cells it moved over: shown as the tab it was.
const TAB: char = '\t';
const TAB_REST: char = '\u{2}';

/// One line: its cells, and the combining characters that go with some of them.
#[derive(Debug, Default, Clone)]
struct Row {
    cells: Vec<char>,
    marks: HashMap<usize, String>,
}

impl Row {
    fn truncate(&mut self, col: usize) {
        self.part(col);
        self.cells.truncate(col);
        if col == 0 {
            self.marks = HashMap::new();
        }
    }

    /// Lets no wide character reach over the edge before `col`: whatever cuts or moves cells there would leave a half of
    /// it behind, and a second half is expected to have its first one.
    fn part(&mut self, col: usize) {
        if self.cells.get(col) == Some(&WIDE_REST) {
            self.cells[col] = BLANK;
            if let Some(first) = col.checked_sub(1) {
                self.cells[first] = BLANK;
            }
        }
    }

    fn set(&mut self, col: usize, cell: char) {
        if let Some(old) = self.cells.get(col).copied() {
            self.cells[col] = cell;
            if old == WIDE_REST && col > 0 {
                self.cells[col - 1] = BLANK;
            }
            if cell != WIDE_REST && self.cells.get(col + 1) == Some(&WIDE_REST) {
                self.cells[col + 1] = BLANK;
            }
        } else {
            self.cells.push(cell);
        }
        if !self.marks.is_empty() {
            self.marks.remove(&col);
        }
    }

    fn is_empty(&self) -> bool {
        self.cells.iter().all(|&cell| cell == BLANK)
    }

    fn write(&self, out: &mut String) {
        let printed = self
            .cells
            .iter()
            .rposition(|&cell| cell != BLANK)
            .map_or(0, |last| last + 1);
        let mut col = 0;
        while col < printed {
            match self.cells[col] {
                TAB => {
                    let stop = (next_tab_stop(col)).min(self.cells.len());
                    let whole = self.cells[col + 1..stop]
                        .iter()
                        .all(|&cell| cell == TAB_REST);
                    out.push(if whole { TAB } else { ' ' });
                    if whole {
                        col = stop;
                        continue;
                    }
                }
                WIDE_REST => {}
                BLANK | TAB_REST => out.push(' '),
                printed => out.push(printed),
            }
            if let Some(marks) = self.marks.get(&col) {
                out.push_str(marks);
            }
            col += 1;
        }
    }
}

fn next_tab_stop(col: usize) -> usize {
    (col / 8 + 1) * 8
}

/// The rows that a cursor can reach, and the cursor.
#[derive(Debug, Default)]
struct Page {
    rows: VecDeque<Row>,
    row: usize,
    col: usize,
    /// The lowest row that a line feed reached: lines down to it were printed, also the empty ones.
    fed: usize,
}

impl Page {
    /// Writes the rows down to the last one that was printed; all but that one end with a newline.
    /// Each row is given up as it is written: one alone may be large.
    fn write(self, out: &mut String) {
        let with_text = self
            .rows
            .iter()
            .rposition(|row| !row.is_empty())
            .unwrap_or(0);
        let last = self.fed.max(with_text);
        for (index, row) in self.rows.into_iter().enumerate().take(last + 1) {
            out.reserve_exact(row.cells.len() + 1);
            if index > 0 {
                out.push('\n');
            }
            row.write(out);
        }
    }
}

/// What a line feed, an erase and a cursor movement do to rows of text. Lines are never wrapped.
#[derive(Debug)]
pub(crate) struct Sheet {
    /// Text that has left the rows.
    finished: String,
    page: Page,
    saved: (usize, usize),
    /// The primary page while a full-screen program shows its own.
    primary: Option<Page>,
    /// Cells that may still be filled or moved without anything being printed. Without this bound a few bytes that fill a long line
    /// again and again would cost time out of all proportion.
    effort: usize,
    last_printed: char,
}

impl Sheet {
    /// A sheet for `bytes` of output.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            finished: String::new(),
            page: Page::default(),
            saved: (0, 0),
            primary: None,
            effort: 16 * bytes + 64 * 1024,
            last_printed: BLANK,
        }
    }

    /// The text of everything: what has left the rows and what still stands in them.
    pub(crate) fn into_text(mut self) -> String {
        let mut out = std::mem::take(&mut self.finished);
        // A program that ended inside its full-screen display leaves both.
        if let Some(primary) = self.primary.take() {
            primary.write(&mut out);
            if !out.is_empty() && !out.ends_with('\n') {
                out.push('\n');
            }
        }
        self.page.write(&mut out);
        out
    }

    fn spend(&mut self, cells: usize) -> bool {
        let affordable = cells <= self.effort;
        if affordable {
            self.effort -= cells;
        }
        affordable
    }

    fn line(&mut self) -> &mut Row {
        while self.page.rows.len() <= self.page.row {
            self.page.rows.push_back(Row::default());
        }
        let row = self.page.row;
        &mut self.page.rows[row]
    }

    /// Fills the line with empty cells up to the cursor, or brings the cursor back to its end if that costs too much.
    fn reach_cursor(&mut self) {
        let len = self.line().cells.len();
        if len < self.page.col {
            if self.spend(self.page.col - len) {
                let col = self.page.col;
                self.line().cells.resize(col, BLANK);
            } else {
                self.page.col = len;
            }
        }
    }

    pub(crate) fn print(&mut self, character: char) {
        let Some(width) = character.width() else {
            return;
        };
        if width == 0 {
            self.combine(character);
            return;
        }
        self.reach_cursor();
        self.last_printed = character;
        let col = self.page.col;
        let line = self.line();
        line.set(col, character);
        if width == 2 {
            // Printed without the repairs of `set`, which would take the new character for an old one.
            if line.cells.get(col + 2) == Some(&WIDE_REST) && line.cells[col + 1] != WIDE_REST {
                line.cells[col + 2] = BLANK;
            }
            if col + 1 < line.cells.len() {
                line.cells[col + 1] = WIDE_REST;
                if !line.marks.is_empty() {
                    line.marks.remove(&(col + 1));
                }
            } else {
                line.cells.push(WIDE_REST);
            }
        }
        self.page.col += width;
    }

    fn combine(&mut self, mark: char) {
        let col = self.page.col;
        let line = self.line();
        let Some(mut base) = col.min(line.cells.len()).checked_sub(1) else {
            return;
        };
        if line.cells[base] == WIDE_REST {
            base = base.saturating_sub(1);
        }
        line.marks.entry(base).or_default().push(mark);
    }

    pub(crate) fn repeat_last(&mut self, times: usize) {
        let times = times.min(REACH);
        if self.last_printed != BLANK && self.spend(times) {
            for _ in 0..times {
                self.print(self.last_printed);
            }
        }
    }

    pub(crate) fn tab(&mut self) {
        self.reach_cursor();
        let stop = next_tab_stop(self.page.col);
        let col = self.page.col;
        let line = self.line();
        if line.cells.len() == col {
            line.cells.push(TAB);
            line.cells.resize(stop, TAB_REST);
        }
        self.page.col = stop;
    }

    pub(crate) fn backspace(&mut self) {
        self.page.col = self.page.col.saturating_sub(1);
    }

    pub(crate) fn carriage_return(&mut self) {
        self.page.col = 0;
    }

    /// A line feed: also without a CR the next line begins at its start, as where a terminal driver stood in between.
    pub(crate) fn line_feed(&mut self) {
        self.page.col = 0;
        self.page.row += 1;
        self.page.fed = self.page.fed.max(self.page.row.min(ROWS - 1));
        if self.page.row == ROWS {
            self.page.row -= 1;
            if let Some(oldest) = self.page.rows.pop_front()
                && self.primary.is_none()
            {
                oldest.write(&mut self.finished);
                self.finished.push('\n');
            }
        }
        self.line();
    }

    pub(crate) fn up(&mut self, by: usize) {
        self.page.row = self.page.row.saturating_sub(by);
    }

    pub(crate) fn down(&mut self, by: usize) {
        self.page.row = self.page.row.saturating_add(by).min(ROWS - 1);
    }

    pub(crate) fn back(&mut self, by: usize) {
        self.page.col = self.page.col.saturating_sub(by);
    }

    pub(crate) fn forward(&mut self, by: usize) {
        self.move_to_col(self.page.col.saturating_add(by));
    }

    /// Moves to a column, counted from 0, as far as there is text or a screen could be wide.
    pub(crate) fn move_to_col(&mut self, col: usize) {
        let reach = self.line().cells.len().max(REACH - 1);
        self.page.col = col.min(reach);
    }

    pub(crate) fn move_to_row(&mut self, row: usize) {
        self.page.row = row.min(ROWS - 1);
    }

    pub(crate) fn save_cursor(&mut self) {
        self.saved = (self.page.row, self.page.col);
    }

    pub(crate) fn restore_cursor(&mut self) {
        (self.page.row, self.page.col) = self.saved;
        self.move_to_col(self.page.col);
    }

    /// `CSI n K`: from the cursor, up to the cursor, or the whole line.
    pub(crate) fn erase_in_line(&mut self, what: u16) {
        let col = self.page.col;
        match what {
            0 => self.line().truncate(col),
            1 => self.blank(0, col.saturating_add(1)),
            2 => self.line().truncate(0),
            _ => {}
        }
    }

    /// `CSI n J`: from the cursor, up to the cursor, or everything that the cursor can reach.
    pub(crate) fn erase_in_display(&mut self, what: u16) {
        match what {
            0 => {
                self.erase_in_line(0);
                self.page.rows.truncate(self.page.row + 1);
                self.page.fed = self.page.fed.min(self.page.row);
            }
            1 => {
                let row = self.page.row.min(self.page.rows.len());
                self.page
                    .rows
                    .iter_mut()
                    .take(row)
                    .for_each(|line| line.truncate(0));
                self.erase_in_line(1);
            }
            2 | 3 => {
                self.page.rows.clear();
                self.page.fed = self.page.row;
                self.line();
            }
            _ => {}
        }
    }

    /// Empties the cells `from..to`, as far as the line goes.
    fn blank(&mut self, from: usize, to: usize) {
        let to = to.min(self.line().cells.len());
        if from < to && self.spend(to - from) {
            let line = self.line();
            for col in from..to {
                line.set(col, BLANK);
            }
        }
    }

    pub(crate) fn erase_cells(&mut self, count: usize) {
        self.blank(self.page.col, self.page.col.saturating_add(count));
    }

    pub(crate) fn delete_cells(&mut self, count: usize) {
        let col = self.page.col;
        let len = self.line().cells.len();
        if col < len && self.spend(len - col) {
            let line = self.line();
            let end = col.saturating_add(count).min(len);
            line.part(col);
            line.part(end);
            line.cells.drain(col..end);
            shift_marks(line, col, |at| {
                at.checked_sub(count).filter(|&at| at >= col)
            });
        }
    }

    pub(crate) fn insert_cells(&mut self, count: usize) {
        let count = count.min(REACH);
        let col = self.page.col;
        let len = self.line().cells.len();
        if col < len && self.spend(len - col + count) {
            let line = self.line();
            line.part(col);
            line.cells
                .splice(col..col, std::iter::repeat_n(BLANK, count));
            shift_marks(line, col, |at| Some(at + count));
        }
    }

    pub(crate) fn delete_rows(&mut self, count: usize) {
        let end = self
            .page
            .row
            .saturating_add(count)
            .min(self.page.rows.len());
        if self.page.row < end {
            self.page.rows.drain(self.page.row..end);
            self.page.fed = self
                .page
                .fed
                .saturating_sub(end - self.page.row)
                .max(self.page.row);
        }
        self.page.col = 0;
    }

    pub(crate) fn insert_rows(&mut self, count: usize) {
        for _ in 0..count.min(ROWS - self.page.row) {
            if self.page.row < self.page.rows.len() {
                self.page.rows.insert(self.page.row, Row::default());
            }
        }
        self.page.rows.truncate(ROWS);
        self.page.col = 0;
    }

    /// A full-screen program begins: its display leaves no text behind unless the output ends within it.
    pub(crate) fn enter_display(&mut self) {
        if self.primary.is_none() {
            self.primary = Some(std::mem::take(&mut self.page));
        }
    }

    pub(crate) fn leave_display(&mut self) {
        if let Some(primary) = self.primary.take() {
            self.page = primary;
        }
    }
}

/// Gives every combining character at or after `col` its new column, or drops it.
fn shift_marks(line: &mut Row, col: usize, new_col: impl Fn(usize) -> Option<usize>) {
    if !line.marks.is_empty() {
        let marks = std::mem::take(&mut line.marks);
        line.marks = marks
            .into_iter()
            .filter_map(|(at, marks)| {
                if at < col {
                    Some((at, marks))
                } else {
                    Some((new_col(at)?, marks))
                }
            })
            .collect();
    }
}
