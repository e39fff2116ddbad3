//! Full-text search: what is asked, what is found, and the same reading of both for every store.

use std::ops::Range;
use std::path::PathBuf;

use serde::Serialize;

use super::{BlobId, StoreError};
use crate::model::{AssistantBlock, ToolArgs};
use crate::session::SessionId;
use crate::session::event::EventKind;

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchRequest {
    /// Words, all of which must occur in one text; `"several words"` in quotes must follow each other. Case does not count.
    pub query: String,
    /// Only in sessions of this very folder.
    pub cwd: Option<PathBuf>,
    /// Only in this session.
    pub session: Option<SessionId>,
    /// At most so many hits.
    pub limit: usize,
}

/// What sort of text a hit is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The person's words.
    Prompt,
    /// The model's words.
    Reply,
    /// A command line.
    Command,
    /// What a command printed, as plain text.
    Output,
}

/// A place where everything that was asked for occurs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// The session.
    pub session: SessionId,
    /// Its title.
    pub title: Option<String>,
    /// Its folder.
    pub cwd: PathBuf,
    /// The event.
    pub seq: u64,
    /// When it happened: milliseconds of Unix time.
    pub at: u64,
    /// The call, for a command and its output.
    pub call_id: Option<String>,
    /// The sort of text.
    pub part: Part,
    /// The line of the text that the first word is in, from 1.
    pub line: u64,
    /// The text around it, on one line, at most 200 characters.
    pub snippet: String,
}

/// How much of a text stands around a hit, in characters.
pub(super) const SNIPPET: usize = 200;

/// The words of a text with their places: runs of letters, digits and `_`, an ideograph alone. What stores index is made
/// of these, so that every store finds the same.
pub fn words(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let mut rest = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let (start, first) = rest.by_ref().find(|(_, letter)| is_of_a_word(*letter))?;
        let mut end = start + first.len_utf8();
        if !stands_alone(first) {
            while let Some((at, letter)) =
                rest.next_if(|(_, letter)| is_of_a_word(*letter) && !stands_alone(*letter))
            {
                end = at + letter.len_utf8();
            }
        }
        Some((start..end, text.get(start..end).unwrap_or_default()))
    })
}

fn is_of_a_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Scripts without spaces between words: each of their characters counts as a word, and several as a phrase.
fn stands_alone(letter: char) -> bool {
    matches!(letter,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// A query as it is understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Phrases, all of which must occur: lower-case words that follow each other. Never empty, nor is one of them.
    phrases: Vec<Vec<String>>,
}

impl Query {
    /// Reads a query; one without any word is an error.
    pub fn parse(query: &str) -> Result<Self, StoreError> {
        let mut phrases = Vec::new();
        // What stands between quotes is every second piece; a quote that is never closed closes at the end.
        for (at, piece) in query.split('"').enumerate() {
            let phrase = |text: &str| -> Vec<String> {
                words(text).map(|(_, word)| word.to_lowercase()).collect()
            };
            if at % 2 == 1 {
                phrases.push(phrase(piece));
            } else {
                phrases.extend(piece.split_whitespace().map(phrase));
            }
        }
        phrases.retain(|phrase| !phrase.is_empty());
        if phrases.is_empty() {
            return Err(StoreError::EmptyQuery {
                query: query.to_owned(),
            });
        }
        Ok(Self { phrases })
    }

    /// The phrases: for a store that looks them up in an index of [`words`].
    pub fn phrases(&self) -> &[Vec<String>] {
        &self.phrases
    }

    /// Where the first phrase begins and ends in a text; the others are not looked for. Nothing is copied: this is for a store
    /// whose index knows already that all of them are there.
    pub fn find_first(&self, text: &str) -> Option<Range<usize>> {
        let phrase = self.phrases.first()?;
        let is = |word: &str, wanted: &str| {
            word.eq_ignore_ascii_case(wanted) || (!word.is_ascii() && word.to_lowercase() == wanted)
        };
        for (place, word) in words(text) {
            if !phrase.first().is_some_and(|first| is(word, first)) {
                continue;
            }
            let mut end = place.end;
            let mut behind = words(text.get(place.end..)?);
            let follows = phrase.iter().skip(1).all(|wanted| {
                behind.next().is_some_and(|(next, word)| {
                    end = place.end + next.end;
                    is(word, wanted)
                })
            });
            if follows {
                return Some(place.start..end);
            }
        }
        None
    }

    /// Where the first phrase begins and ends in a text that holds all of them.
    pub fn find(&self, text: &str) -> Option<Range<usize>> {
        let lower: Vec<(Range<usize>, String)> = words(text)
            .map(|(place, word)| (place, word.to_lowercase()))
            .collect();
        let at = |phrase: &Vec<String>| {
            let found = lower
                .windows(phrase.len())
                .find(|window| window.iter().map(|(_, word)| word).eq(phrase))?;
            Some(found.first()?.0.start..found.last()?.0.end)
        };
        let first = at(self.phrases.first()?)?;
        self.phrases
            .iter()
            .skip(1)
            .all(|phrase| at(phrase).is_some())
            .then_some(first)
    }
}

/// The line of a place in a text, from 1, and what stands around it, on one line.
pub fn surroundings(text: &str, place: &Range<usize>) -> (u64, String) {
    let before = text.get(..place.start).unwrap_or_default();
    let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count() as u64;
    let found = text.get(place.clone()).unwrap_or_default();
    let room = SNIPPET.saturating_sub(found.chars().count());
    let behind = text.get(place.end..).unwrap_or_default();
    let back: Vec<char> = before.chars().rev().take(room / 2).collect();
    let snippet: String = back.into_iter().rev().collect::<String>() + found + behind;
    let snippet: String = snippet
        .chars()
        .take(SNIPPET)
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    (line, snippet.trim().to_owned())
}

/// What can be found in an event.
pub fn texts(kind: &EventKind) -> Vec<Text<'_>> {
    match kind {
        EventKind::UserMessage { text } => vec![Text::here(Part::Prompt, None, text)],
        EventKind::AssistantMessage { blocks } => blocks
            .iter()
            .filter_map(|block| match block {
                AssistantBlock::Text { text } => Some(Text::here(Part::Reply, None, text)),
                _ => None,
            })
            .collect(),
        EventKind::ToolCall { call_id, args, .. } => match args {
            ToolArgs::Json(args) => args
                .get("command")
                .and_then(serde_json::Value::as_str)
                .map(|line| Text::here(Part::Command, Some(call_id), line))
                .into_iter()
                .collect(),
            ToolArgs::Malformed(_) => Vec::new(),
        },
        EventKind::TerminalExit {
            call_id,
            output_ref,
            ..
        } => output_ref
            .as_deref()
            .and_then(|name| name.parse().ok())
            .map(|blob| Text {
                part: Part::Output,
                call_id: Some(call_id),
                source: Source::Blob(blob),
            })
            .into_iter()
            .collect(),
        _ => Vec::new(),
    }
}

/// One text of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text<'e> {
    /// Its sort.
    pub part: Part,
    /// The call that it is of.
    pub call_id: Option<&'e str>,
    /// Where it is.
    pub source: Source<'e>,
}

/// Where a text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source<'e> {
    /// In the event.
    Here(&'e str),
    /// Outside the log, with escape sequences; what is looked at is its plain text.
    Blob(BlobId),
}

impl<'e> Text<'e> {
    fn here(part: Part, call_id: Option<&'e str>, text: &'e str) -> Self {
        Self {
            part,
            call_id,
            source: Source::Here(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn words_are_the_same_for_every_store() {
        let found = |text| words(text).map(|(_, word)| word).collect::<Vec<_>>();
        assert_eq!(
            found("src/main.rs:12: snake_case Ünïcode"),
            ["src", "main", "rs", "12", "snake_case", "Ünïcode"]
        );
        assert_eq!(found("错误 E0308"), ["错", "误", "E0308"]);
        assert_eq!(found("… --- \n"), Vec::<&str>::new());
    }

    #[test]
    fn all_phrases_must_occur_and_the_first_is_the_place() {
        let text = "Compiling placard\nerror[E0308]: mismatched types\n";
        let table = [
            ("ERROR", Some("error")),
            ("types placard", Some("types")),
            ("\"mismatched types\"", Some("mismatched types")),
            ("\"types mismatched\"", None),
            ("error[E0308]", Some("error[E0308")),
            ("error warning", None),
            ("err", None),
            ("\"mismatched types", Some("mismatched types")),
        ];
        for (query, expected) in table {
            let place = Query::parse(query).unwrap().find(text);
            assert_eq!(place.map(|place| &text[place]), expected, "{query}");
            if expected.is_some() {
                let first = Query::parse(query).unwrap().find_first(text);
                assert_eq!(first.map(|place| &text[place]), expected, "{query}");
            }
        }
        for empty in ["", "  ", "\"\"", "--"] {
            assert!(Query::parse(empty).is_err(), "{empty}");
        }
    }

    #[test]
    fn a_hit_names_its_line_and_what_is_around_it() {
        let text = format!("one\ntwo\n{}needle{}", "x ".repeat(300), " y".repeat(300));
        let start = text.find("needle").unwrap();
        let (line, snippet) = surroundings(&text, &(start..start + 6));
        assert_eq!((line, snippet.chars().count() <= SNIPPET), (3, true));
        assert!(snippet.contains("x needle y"));
    }
}
