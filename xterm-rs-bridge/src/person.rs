//! What of a command's output may reach a person's own terminal.

use std::fmt::Write as _;

/// A string sequence that runs on for longer than this lost its terminator; what follows is text again.
const LONGEST_STRING: usize = 1 << 20;

/// A longer control sequence is no sequence that anyone sends.
const LONGEST_CONTROL: usize = 256;

/// How much of a hyperlink command is looked at; longer ones are removed.
const LONGEST_LINK: usize = 8 * 1024;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    Escape,
    Intermediate,
    Control,
    /// An operating system command: removed, unless it turns out to be a harmless hyperlink.
    Command,
    /// A device control string or one of its kind: removed.
    Removed,
}

/// What is let through besides text.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Passing {
    /// What draws.
    #[default]
    Drawing,
    /// Everything but strings: for an emulator of our own, which has no clipboard, answers no query, and must not be made to hold
    /// titles and images.
    AllButStrings { rows: u16, columns: u16 },
}

/// Filters output for a terminal that belongs to a person and not to us.
///
/// Text, colours, cursor movements and erases pass. What would act on the terminal beyond drawing is removed: clipboard access, titles,
/// palette changes, device queries (the answer would be typed into the person's shell), modes, resets, device control strings, and
/// hyperlinks whose scheme is not `http`, `https` or `file`. Sequences may be split between pieces in any way.
#[derive(Debug, Default, Clone)]
pub struct PersonFilter {
    passing: Passing,
    margins: Option<(u16, u16)>,
    state: State,
    /// The sequence so far, with its introducer in the seven-bit form.
    sequence: String,
    /// Bytes of a string so far; `sequence` stops growing at its bound.
    length: usize,
}

impl PersonFilter {
    /// A filter at the beginning of an output.
    pub fn new() -> Self {
        Self::default()
    }

    /// A filter before an emulator of our own, of that size: all that moves, draws and sets passes, strings do not, save links.
    pub(crate) fn for_emulator(rows: u16, columns: u16) -> Self {
        Self {
            passing: Passing::AllButStrings { rows, columns },
            ..Self::default()
        }
    }

    /// The emulator behind this filter has another size now, and no margins.
    pub(crate) fn resize(&mut self, rows: u16, columns: u16) {
        self.passing = Passing::AllButStrings { rows, columns };
        self.margins = None;
    }

    /// The margins of the emulator behind this filter, first and last row counted from 1; `None` when it scrolls whole.
    pub(crate) fn margins(&self) -> Option<(u16, u16)> {
        self.margins
    }

    /// Appends what may pass of `text` to `out`.
    pub fn filter(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if self.state == State::Ground {
                let plain = plain_length(rest);
                if plain > 0 {
                    out.push_str(&rest[..plain]);
                    rest = &rest[plain..];
                    continue;
                }
            }
            rest = &rest[first.len_utf8()..];
            self.step(first, out);
        }
    }

    fn step(&mut self, character: char, out: &mut String) {
        match character {
            // From anywhere: these break off what was there and begin, or end, a sequence.
            '\x1b' => {
                // A string that is ended by ESC \ is complete, and one that is broken off is dropped: only the next character tells.
                if self.state != State::Command {
                    self.sequence.clear();
                }
                self.sequence.push('\x1b');
                self.state = State::Escape;
            }
            '\x18' | '\x1a' => self.drop_sequence(),
            '\u{9b}' => self.begin("\x1b[", State::Control),
            '\u{9d}' => self.begin("\x1b]", State::Command),
            '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => self.begin("", State::Removed),
            '\u{9c}' => self.end_string(out),
            _ => self.continue_with(character, out),
        }
    }

    fn continue_with(&mut self, character: char, out: &mut String) {
        match self.state {
            State::Ground => {
                if self.character_passes(character) {
                    out.push(character);
                }
            }
            State::Escape => match character {
                '\\' => {
                    self.sequence.pop();
                    self.end_string(out);
                }
                '[' => self.begin("\x1b[", State::Control),
                ']' => self.begin("\x1b]", State::Command),
                'P' | 'X' | '^' | '_' => self.begin("", State::Removed),
                ' '..='/' => {
                    self.begin("\x1b", State::Intermediate);
                    self.sequence.push(character);
                }
                '0'..='~' => {
                    if character == 'c' {
                        self.margins = None;
                    }
                    // Save and restore the cursor, line feed, reverse line feed.
                    if self.passing != Passing::Drawing
                        || matches!(character, '7' | '8' | 'D' | 'E' | 'M')
                    {
                        out.push('\x1b');
                        out.push(character);
                    }
                    self.drop_sequence();
                }
                other => self.break_off(other, out),
            },
            State::Intermediate => match character {
                ' '..='/' => {
                    // More than two mean nothing to anyone.
                    if self.sequence.len() < 4 {
                        self.sequence.push(character);
                    }
                }
                '0'..='~' => {
                    if self.passing != Passing::Drawing {
                        out.push_str(&self.sequence);
                        out.push(character);
                    }
                    self.drop_sequence();
                }
                other => self.break_off(other, out),
            },
            State::Control => match character {
                ' '..='?' => {
                    self.sequence.push(character);
                    if self.sequence.len() > LONGEST_CONTROL {
                        self.drop_sequence();
                    }
                }
                '@'..='~' => {
                    self.end_control(character, out);
                    self.drop_sequence();
                }
                other => self.break_off(other, out),
            },
            State::Command if character == '\x07' => self.end_string(out),
            State::Command | State::Removed => {
                self.length += character.len_utf8();
                if self.state == State::Command && self.sequence.len() < LONGEST_LINK {
                    self.sequence.push(character);
                }
                if self.length > LONGEST_STRING {
                    self.drop_sequence();
                }
            }
        }
    }

    fn end_control(&mut self, action: char, out: &mut String) {
        let parameters = &self.sequence[2..];
        match self.passing {
            Passing::Drawing if !control_passes(parameters, action) => {}
            // A few bytes must not cost the printing of 65,535 characters.
            Passing::AllButStrings { columns, .. } if action == 'b' => {
                let times = numbers(parameters).map_or(0, |[times, _]| times.max(1));
                let _ = write!(out, "\x1b[{}b", times.min(u32::from(columns)));
            }
            // The emulator goes on waiting for a wrap after it has left the edge by such a jump; a step there and back ends that.
            Passing::AllButStrings { .. } if action == 'Z' => {
                let _ = write!(out, "\x1b[D\x1b[C{}Z", self.sequence);
            }
            // The emulator takes margins that lie below its last row, and is not well after that.
            Passing::AllButStrings { rows, .. }
                if action == 'r' && !parameters.starts_with('?') =>
            {
                if let Some(margins) = numbers(parameters).and_then(|pair| margins(pair, rows)) {
                    let (top, bottom) = margins;
                    self.margins = (margins != (1, rows)).then_some(margins);
                    let _ = write!(out, "\x1b[{top};{bottom}r");
                }
            }
            _ => {
                out.push_str(&self.sequence);
                out.push(action);
            }
        }
    }

    fn character_passes(&self, character: char) -> bool {
        // Shift out and in choose between character sets.
        passes(character)
            || self.passing != Passing::Drawing && matches!(character, '\x0e' | '\x0f')
    }

    fn begin(&mut self, introducer: &str, state: State) {
        self.drop_sequence();
        self.sequence.push_str(introducer);
        self.state = state;
    }

    fn drop_sequence(&mut self) {
        self.sequence.clear();
        self.length = 0;
        self.state = State::Ground;
    }

    /// A control character inside of a short sequence acts at once, as on a terminal; any other character ends the sequence.
    fn break_off(&mut self, character: char, out: &mut String) {
        if character.is_ascii_control() {
            if self.character_passes(character) {
                out.push(character);
            }
        } else {
            self.drop_sequence();
            if !character.is_control() {
                out.push(character);
            }
        }
    }

    fn end_string(&mut self, out: &mut String) {
        if let Some(command) = self.sequence.strip_prefix("\x1b]")
            && link_passes(command)
        {
            out.push_str(&self.sequence);
            out.push_str("\x1b\\");
        }
        self.drop_sequence();
    }
}

/// How much of `text` comes before the first character that is looked at by itself: a control character that does more than move the
/// cursor or ring, in either form.
fn plain_length(text: &str) -> usize {
    // Whole blocks without an early exit, because that is what the compiler turns into vector instructions.
    const BLOCK: usize = 64;
    let counts =
        |byte: u8| byte < 0x07 || byte.wrapping_sub(0x0e) < 0x12 || byte == 0x7f || byte == 0xc2;
    let bytes = text.as_bytes();
    let mut at = 0;
    for block in bytes.chunks(BLOCK) {
        if block.iter().fold(false, |any, &byte| any | counts(byte)) {
            for (offset, &byte) in block.iter().enumerate() {
                // The characters from U+0080 to U+009F begin with this byte, but so do others.
                let second = bytes.get(at + offset + 1).copied().unwrap_or(0);
                if counts(byte) && (byte != 0xc2 || second < 0xa0) {
                    return at + offset;
                }
            }
        }
        at += block.len();
    }
    text.len()
}

/// Control characters that only move the cursor or ring.
fn passes(character: char) -> bool {
    matches!(character, '\x07'..='\r')
}

/// Colours, cursor movements, erases. Anything with a private marker or an intermediate character is something else.
fn control_passes(parameters: &str, action: char) -> bool {
    let plain = parameters
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'));
    // `CSI s` with parameters sets margins.
    let bare = parameters.is_empty();
    plain
        && match action {
            'm'
            | 'A'..='H'
            | 'f'
            | 'd'
            | 'e'
            | 'a'
            | '`'
            | 'I'
            | 'Z'
            | 'J'
            | 'K'
            | 'X'
            | 'P'
            | '@'
            | 'L'
            | 'M'
            | 'b' => true,
            's' | 'u' => bare,
            _ => false,
        }
}

/// The first two parameters, 0 where one is not given; `None` for anything but plain numbers.
fn numbers(parameters: &str) -> Option<[u32; 2]> {
    let mut numbers = [0; 2];
    for (index, parameter) in parameters.split(';').enumerate() {
        let number = match parameter {
            "" => 0,
            digits => digits.parse().ok()?,
        };
        if let Some(place) = numbers.get_mut(index) {
            *place = number;
        }
    }
    Some(numbers)
}

/// The first and the last row of margins on a screen of `rows`; `None` where there is not a row to scroll.
fn margins([top, bottom]: [u32; 2], rows: u16) -> Option<(u16, u16)> {
    let top = u16::try_from(top.max(1)).ok()?;
    let bottom = match u16::try_from(bottom) {
        Ok(bottom @ 1..) => bottom.min(rows),
        _ => rows,
    };
    (top < bottom).then_some((top, bottom))
}

/// A hyperlink that ends one, or that leads to where a person expects a link to lead.
fn link_passes(command: &str) -> bool {
    let Some((_, target)) = command
        .strip_prefix("8;")
        .and_then(|link| link.split_once(';'))
    else {
        return false;
    };
    let expected = target.is_empty()
        || target.split_once(':').is_some_and(|(scheme, _)| {
            ["http", "https", "file"]
                .iter()
                .any(|known| scheme.eq_ignore_ascii_case(known))
        });
    expected && command.len() + 2 < LONGEST_LINK && !command.chars().any(char::is_control)
}

#[cfg(test)]
mod tests;
