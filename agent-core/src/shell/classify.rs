//! What a command certainly is, for the eye alone: nothing about what runs depends on it.
//!
//! One simple command, or a pipeline of one and pure filters, whose every word is known and whose every option is on the
//! list of its program ([`programs`]). Whatever else there is, a redirection, an assignment, a substitution, a second command,
//! an option that is not listed, makes the line an ordinary command. A list that is too short costs a smaller card;
//! one that is too long tells a person something untrue.

mod options;
mod place;
mod programs;

use std::path::{Path, PathBuf};

use super::syntax::{self, Command, Expansion, SimpleCommand, Word};
use crate::tool::presentation::Location;

/// How much of a pattern a title repeats, in characters.
const LONGEST_PATTERN: usize = 60;

/// What a command line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Classification {
    /// It prints files, or a part of one.
    Read {
        /// As they are written.
        files: Vec<String>,
        /// The part, where it is known.
        part: Part,
    },
    /// It looks for something in files, or for files.
    Search {
        /// What it looks for; none where it is any file.
        patterns: Vec<String>,
        /// Where, as it is written; none where that is the command's folder.
        places: Vec<Place>,
    },
    /// It lists folders.
    List {
        /// Which, as they are written; none where that is the command's folder.
        places: Vec<Place>,
    },
    /// Anything else.
    Command,
}

/// Which part of each file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of it, and each line comes out in its place.
    All,
    /// All of it or a part, of which no line is known.
    Unknown,
    /// From a line to another, both counted from 1 and included, or to the end.
    Lines {
        /// The first.
        first: u32,
        /// The last, where it is known.
        last: Option<u32>,
    },
}

impl Part {
    /// What is left of this part of so many files behind a filter. A range cut out of one whole file names its lines; cut out of
    /// anything else, such as another range, it does not.
    fn cut(self, files: usize, passed_on: Self) -> Self {
        match (self, passed_on) {
            (part, Self::All) => part,
            (Self::All, lines) if files == 1 => lines,
            _ => Self::Unknown,
        }
    }
}

/// An operand that names files or folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// As it is written, quotes undone.
    pub name: String,
    /// It is a pattern that the shell fills in, so it names no single place.
    pub is_pattern: bool,
}

/// Says what a command line is.
pub fn classify(line: &str) -> Classification {
    certain(line).unwrap_or(Classification::Command)
}

fn certain(line: &str) -> Option<Classification> {
    let script = syntax::parse(line).ok()?;
    let [statement] = script.statements.as_slice() else {
        return None;
    };
    let parts = match &statement.command {
        _ if statement.background => return None,
        Command::Simple(_) => std::slice::from_ref(&statement.command),
        Command::Pipeline(parts) => parts.as_slice(),
        _ => return None,
    };
    let mut parts = parts.iter();
    let mut classification = programs::classify(&words(parts.next()?)?)?;
    for filter in parts {
        let passed_on = programs::filter(&words(filter)?)?;
        if let Classification::Read { files, part } = &mut classification {
            *part = part.cut(files.len(), passed_on);
        }
    }
    Some(classification)
}

/// A word of a command that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Argument<'w> {
    text: &'w str,
    is_pattern: bool,
}

/// The words of a command, where it is nothing but words that can be shown.
fn words(command: &Command) -> Option<Vec<Argument<'_>>> {
    let Command::Simple(SimpleCommand {
        assignments,
        words,
        redirections,
    }) = command
    else {
        return None;
    };
    if !assignments.is_empty() || !redirections.is_empty() {
        return None;
    }
    words.iter().map(argument).collect()
}

fn argument(word: &Word) -> Option<Argument<'_>> {
    let is_pattern = word.expansions == [Expansion::Glob]
        && !word.source.contains(['\'', '"', '\\'])
        // What it becomes is no option.
        && word.source.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '/' | '_'));
    let text = match &word.literal {
        Some(literal) => literal,
        None if is_pattern => &word.source,
        None => return None,
    };
    (!text.contains(is_deceptive)).then_some(Argument { text, is_pattern })
}

/// Characters that make a line look like another: controls, spaces that the shell takes for a part of a word, and those that
/// change direction or show nothing.
fn is_deceptive(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

impl Classification {
    /// In a few words, such as `Read src/a.rs`; none for an ordinary command.
    pub fn title(&self) -> Option<String> {
        match self {
            Self::Read { files, part } => {
                let title = format!("Read {}", several(files.iter().map(String::as_str)));
                Some(match part {
                    Part::All
                    | Part::Unknown
                    | Part::Lines {
                        first: 1,
                        last: None,
                    } => title,
                    Part::Lines { first, last: None } => format!("{title} from line {first}"),
                    Part::Lines {
                        first,
                        last: Some(last),
                    } if first == last => format!("{title}, line {first}"),
                    Part::Lines {
                        first,
                        last: Some(last),
                    } => format!("{title}, lines {first} to {last}"),
                })
            }
            Self::Search { patterns, places } => {
                let what = if patterns.is_empty() {
                    "files".to_owned()
                } else {
                    let quoted: Vec<String> = patterns.iter().map(|text| shortened(text)).collect();
                    quoted.join(" or ")
                };
                let title = format!("Search {what}");
                Some(if places.is_empty() {
                    title
                } else {
                    format!(
                        "{title} in {}",
                        several(places.iter().map(|place| place.name.as_str()))
                    )
                })
            }
            Self::List { places } if places.is_empty() => Some("List .".to_owned()),
            Self::List { places } => Some(format!(
                "List {}",
                several(places.iter().map(|place| place.name.as_str()))
            )),
            Self::Command => None,
        }
    }

    /// The files and folders that it reads or searches, for a command that runs in `cwd`.
    pub fn locations(&self, cwd: &Path) -> Vec<Location> {
        match self {
            Self::Read { files, part } => files
                .iter()
                .map(|file| Location {
                    path: resolved(cwd, file),
                    line: match part {
                        Part::All | Part::Unknown => None,
                        Part::Lines { first, .. } => Some(*first),
                    },
                })
                .collect(),
            Self::Search { places, .. } => places
                .iter()
                .filter(|place| !place.is_pattern)
                .map(|place| Location {
                    path: resolved(cwd, &place.name),
                    line: None,
                })
                .collect(),
            Self::List { .. } | Self::Command => Vec::new(),
        }
    }
}

/// `..` stays: what it means is for the file system to say.
fn resolved(cwd: &Path, name: &str) -> PathBuf {
    cwd.join(name).components().collect()
}

fn several<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [one, other] => format!("{one} and {other}"),
        [one, more @ ..] => format!("{one} and {} more", more.len()),
    }
}

fn shortened(pattern: &str) -> String {
    let short: String = pattern.chars().take(LONGEST_PATTERN).collect();
    let mark = if short.len() < pattern.len() {
        "…"
    } else {
        ""
    };
    format!("\"{short}{mark}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const CASES: &str = include_str!("classify/cases.txt");

    /// As a line of the table has it: title and locations, or a dash.
    fn shown(line: &str) -> String {
        let classification = classify(line);
        let Some(title) = classification.title() else {
            return "-".to_owned();
        };
        let locations: Vec<String> = classification
            .locations(Path::new("/w"))
            .iter()
            .map(|location| {
                let line = location.line.map(|line| format!(":{line}"));
                format!("{}{}", location.path.display(), line.unwrap_or_default())
            })
            .collect();
        format!("{title} [{}]", locations.join(" "))
    }

    #[test]
    fn the_table_of_commands_holds() {
        let cases: Vec<(&str, &str)> = CASES
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with("##"))
            .map(|line| line.split_once(" => ").unwrap())
            .collect();
        let found: Vec<String> = cases
            .iter()
            .map(|(line, _)| format!("{line} => {}", shown(line)))
            .collect();
        let expected: Vec<String> = cases
            .iter()
            .map(|(line, expected)| format!("{line} => {expected}"))
            .collect();
        assert_eq!(expected, found);
        let ordinary = cases
            .iter()
            .filter(|(_, expected)| *expected == "-")
            .count();
        assert!(
            ordinary >= 100 && cases.len() - ordinary >= 100,
            "{ordinary} of {} cases are ordinary",
            cases.len()
        );
    }

    #[test]
    fn what_a_table_cannot_hold_is_ordinary() {
        for line in [
            "cat a\nrm b",
            "cat 'a\nb'",
            "cat a\\\nb",
            "cat a\r",
            "cat \u{202e}a",
            "cat 'a\u{200b}'",
            "cat a\u{a0}b",
            "cat 'a\u{a0}b'",
            "cat a\u{1680}b",
            "cat a\u{2003}",
            "cat \u{2009}a",
            "cat a\u{2028}b",
            "cat a\u{202f}b",
            "cat a\u{205f}b",
            "cat a\u{2800}b",
            "cat a\u{3000}b",
            "cat a\u{85}b",
            "cat a\u{fe0f}",
            "cat a\u{e0100}",
            "cat\u{a0}a",
            "cat a | head\u{a0}-5",
            "cat a | tr \u{a0} x",
            "ls \u{a0}",
            "rg a\u{a0}b src",
            "find . -name 'a\u{a0}b'",
            "cat <<EOF\nx\nEOF",
            "cat a # b\n",
            "",
            "\n",
        ] {
            let expected = if line.contains('#') {
                "Read a [/w/a]"
            } else {
                "-"
            };
            assert_eq!(shown(line), expected, "{line:?}");
        }
    }
}
