//! Colours, or none: what may reach the person's terminal, and how.

use agent_core::Environment;
use xterm_rs_bridge::{PersonFilter, plain_text};

/// Without a line end for so long, what came is shown as it is.
const LONGEST_LINE: usize = 1024 * 1024;

/// Whether there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Text only: for files, pipes, and people who want it so.
    Plain,
    /// A terminal with colours.
    Colour,
}

/// What a piece of our own text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// A command.
    Headline,
    /// Circumstances.
    Quiet,
    /// It went well.
    Good,
    /// It did not.
    Bad,
    /// The person should know.
    Ask,
    /// It was looked for.
    Found,
}

impl Ink {
    /// Colours are for terminals that have them and people who want them (<https://no-color.org>).
    pub(crate) fn of(environment: &Environment, is_terminal: bool) -> Self {
        let unwanted =
            environment.get("NO_COLOR").is_some() || environment.get("TERM") == Some("dumb");
        if is_terminal && !unwanted {
            Self::Colour
        } else {
            Self::Plain
        }
    }

    /// A piece of our own text.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match (self, tone) {
            (Self::Plain, _) => return text.to_owned(),
            (Self::Colour, Tone::Headline) => "0;1",
            (Self::Colour, Tone::Quiet) => "0;2",
            (Self::Colour, Tone::Good) => "0;32",
            (Self::Colour, Tone::Bad | Tone::Found) => "0;31",
            (Self::Colour, Tone::Ask) => "0;33",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// Ends a line that someone else began: their colours end with it.
    pub(crate) fn line_end(self) -> &'static str {
        match self {
            Self::Plain => "\n",
            Self::Colour => "\x1b[0m\n",
        }
    }
}

/// The output of one command on its way to the person.
#[derive(Debug)]
pub(crate) enum CardInk {
    /// Whole lines, without escape sequences and what was overwritten.
    Plain(String),
    /// As it comes, without what would do more than draw.
    Colour(PersonFilter),
}

impl CardInk {
    /// Ink for a new card.
    pub(crate) fn new(ink: Ink) -> Self {
        match ink {
            Ink::Plain => Self::Plain(String::new()),
            Ink::Colour => Self::Colour(PersonFilter::new()),
        }
    }

    /// What to print of this output now.
    pub(crate) fn output(&mut self, text: &str) -> String {
        match self {
            Self::Colour(filter) => {
                let mut out = String::with_capacity(text.len());
                filter.filter(text, &mut out);
                out
            }
            Self::Plain(pending) => {
                pending.push_str(text);
                let end = match pending.rfind('\n') {
                    Some(end) => end + 1,
                    None if pending.len() > LONGEST_LINE => pending.len(),
                    None => return String::new(),
                };
                let lines: String = pending.drain(..end).collect();
                plain_text(&lines)
            }
        }
    }

    /// What was held back.
    pub(crate) fn finish(&mut self) -> String {
        match self {
            Self::Colour(_) => String::new(),
            Self::Plain(pending) => plain_text(&std::mem::take(pending)),
        }
    }
}

/// Whether a line ends with `text`: `None` where it holds nothing but colours.
pub(crate) fn ends_line(text: &str) -> Option<bool> {
    let mut rest = text;
    while let Some(start) = rest.strip_suffix('m').and_then(|rest| rest.rfind("\x1b[")) {
        let parameters = &rest[start + 2..rest.len() - 1];
        if !parameters
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'))
        {
            break;
        }
        rest = &rest[..start];
    }
    rest.chars().last().map(|last| last == '\n')
}

/// Text that only prints: no control characters but line ends and tabs.
pub(crate) fn harmless(text: &str) -> String {
    text.chars()
        .filter(|character| !character.is_control() || matches!(character, '\n' | '\t'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn plain_output_comes_in_whole_lines() {
        let mut ink = CardInk::new(Ink::Plain);
        let shown: Vec<_> = ["one\r\ntw", "o\r\n10%\r", "99%\r\n\x1b[31mred", "\x1b[0m"]
            .iter()
            .map(|text| ink.output(text))
            .collect();
        assert_eq!(shown, ["one\n", "two\n", "99%\n", ""]);
        assert_eq!(ink.finish(), "red");
    }

    #[test]
    fn coloured_output_comes_at_once_and_only_draws() {
        let mut ink = CardInk::new(Ink::Colour);
        let shown = ink.output("\x1b[31mred\x1b]0;title\x07\x1b[0m");
        assert_eq!(
            (shown.as_str(), ink.finish().as_str()),
            ("\x1b[31mred\x1b[0m", "")
        );
    }

    #[test]
    fn colours_after_a_line_end_begin_no_line() {
        let table = [
            ("a\n", Some(true)),
            ("a\n\x1b[0m\x1b[1;31m", Some(true)),
            ("a", Some(false)),
            ("a\n\x1b[2Km", Some(false)),
            ("\x1b[0m", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(ends_line(text), expected, "{text:?}");
        }
    }

    #[test]
    fn our_own_text_is_painted_on_colour_terminals_only() {
        assert_eq!(Ink::Plain.paint(Tone::Bad, "exit 3"), "exit 3");
        assert_eq!(
            Ink::Colour.paint(Tone::Bad, "exit 3"),
            "\x1b[0;31mexit 3\x1b[0m"
        );
        assert_eq!(harmless("a\x1b[2Jb\tc\nd\u{9b}e\r"), "a[2Jb\tc\nde");
    }

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        let environment =
            |name: &str, value: &str| -> Environment { [(name, value)].into_iter().collect() };
        let table = [
            (("TERM", "xterm"), true, Ink::Colour),
            (("TERM", "xterm"), false, Ink::Plain),
            (("TERM", "dumb"), true, Ink::Plain),
            (("NO_COLOR", "1"), true, Ink::Plain),
            (("NO_COLOR", ""), true, Ink::Colour),
        ];
        for ((name, value), is_terminal, expected) in table {
            assert_eq!(
                Ink::of(&environment(name, value), is_terminal),
                expected,
                "{name}={value}"
            );
        }
    }
}
