//! Words: what a program gets for what was written.

use std::ops::Range;

use tree_sitter::Node;

use super::tree::Reader;
use super::{Expansion, Script, Unreadable, Word, check};

/// Stands for what only the shell can fill in.
const FILLED_IN: char = '\u{fffc}';

/// A word while it is read, piece by piece.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// Each character with whether it is safe from globs, braces and tildes.
    characters: Vec<(char, bool)>,
    expansions: Vec<Expansion>,
    pub(super) substitutions: Vec<Script>,
}

impl Pieces {
    fn quoted(&mut self, text: &str) {
        self.characters.extend(text.chars().map(|c| (c, true)));
    }

    fn filled_in(&mut self, expansion: Expansion) {
        self.expansions.push(expansion);
        self.characters.push((FILLED_IN, true));
    }

    fn finish(mut self, source: &str) -> Word {
        self.expansions.extend(bare_expansions(&self.characters));
        self.expansions.sort_unstable();
        self.expansions.dedup();
        let literal = self
            .expansions
            .is_empty()
            .then(|| self.characters.iter().map(|(c, _)| c).collect());
        Word {
            source: source.to_owned(),
            literal,
            expansions: self.expansions,
            substitutions: self.substitutions,
        }
    }
}

/// What characters outside quotes may do to their word. More is suspected than the shell finds, never less.
fn bare_expansions(characters: &[(char, bool)]) -> Vec<Expansion> {
    let mut found = Vec::new();
    let (mut bracket, mut brace, mut before) = (false, false, None);
    let mut rest = characters.iter().enumerate().peekable();
    while let Some((index, &(c, quoted))) = rest.next() {
        if quoted {
            before = None;
            continue;
        }
        match c {
            '*' | '?' => found.push(Expansion::Glob),
            '[' => bracket = true,
            ']' if bracket => found.push(Expansion::Glob),
            '{' => brace = true,
            ',' if brace => found.push(Expansion::Brace),
            '.' if brace && rest.peek().is_some_and(|(_, next)| **next == ('.', false)) => {
                found.push(Expansion::Brace);
            }
            '~' if index == 0 || matches!(before, Some('=' | ':')) => found.push(Expansion::Tilde),
            _ => {}
        }
        before = Some(c);
    }
    found
}

/// Whether a node is a word or a piece of one.
pub(super) fn is_word(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "word"
            | "number"
            | "concatenation"
            | "string"
            | "raw_string"
            | "ansi_c_string"
            | "brace_expression"
            | "variable_name"
    ) || is_expansion(node)
        || (!node.is_named() && matches!(node.kind(), "$" | "==" | "=~"))
}

fn is_expansion(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "simple_expansion"
            | "expansion"
            | "command_substitution"
            | "process_substitution"
            | "arithmetic_expansion"
    )
}

impl Reader<'_> {
    /// A whole word.
    pub(super) fn word(&self, node: Node<'_>, depth: usize) -> Result<Word, Unreadable> {
        let source = self.text(node)?;
        if source.is_empty() || source.starts_with('#') {
            return Err(Self::uncertain(node));
        }
        let mut pieces = Pieces::default();
        self.piece(node, depth, &mut pieces)?;
        Ok(pieces.finish(source))
    }

    fn piece(&self, node: Node<'_>, depth: usize, into: &mut Pieces) -> Result<(), Unreadable> {
        let text = self.text(node)?;
        let misread = || Self::uncertain(node);
        match node.kind() {
            "concatenation" => return self.concatenation(node, depth, into),
            "$" => into.quoted("$"),
            "word" | "number" | "variable_name" | "brace_expression" | "==" | "=~" => {
                // A number whose base or digits are filled in.
                if node.kind() == "number" && node.child_count() > 0 {
                    return Err(misread());
                }
                bare(text, into).ok_or_else(misread)?;
            }
            "raw_string" => {
                let inside = within(text, "'", "'").filter(|inside| !inside.contains('\''));
                into.quoted(inside.ok_or_else(misread)?);
            }
            "ansi_c_string" => match ansi_c(text) {
                AnsiC::Text(inside) => into.quoted(&inside),
                AnsiC::NoText => into.filled_in(Expansion::Bytes),
                AnsiC::EndsElsewhere => return Err(misread()),
            },
            "string" => {
                let inside = within(text, "\"", "\"").ok_or_else(misread)?;
                let begin = node.start_byte() + 1;
                self.quoted_text(node, begin..begin + inside.len(), true, depth, into)?;
            }
            _ => self.expansion(node, depth, into)?,
        }
        Ok(())
    }

    /// Pieces that touch each other, from one end of the word to the other.
    fn concatenation(
        &self,
        node: Node<'_>,
        depth: usize,
        into: &mut Pieces,
    ) -> Result<(), Unreadable> {
        let mut end = node.start_byte();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            // A dollar sign alone is one only at the end.
            let is_astray = child.kind() == "concatenation"
                || (child.kind() == "$" && child.end_byte() != node.end_byte());
            if child.start_byte() != end || is_astray {
                return Err(Self::uncertain(child));
            }
            end = child.end_byte();
            self.piece(child, depth, into)?;
        }
        if end == node.end_byte() {
            Ok(())
        } else {
            Err(Self::uncertain(node))
        }
    }

    /// Pieces that the shell fills in.
    fn expansion(&self, node: Node<'_>, depth: usize, into: &mut Pieces) -> Result<(), Unreadable> {
        let text = self.text(node)?;
        let misread = || Self::uncertain(node);
        let expansion = match node.kind() {
            "simple_expansion" => {
                let name = text.strip_prefix('$').unwrap_or_default();
                let is_special =
                    name.len() == 1 && name.contains(['*', '@', '?', '!', '#', '-', '$', '_']);
                let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                if name.is_empty() || !(is_name || is_special) {
                    return Err(misread());
                }
                Expansion::Variable
            }
            "expansion" => {
                let inside = within(text, "${", "}").ok_or_else(misread)?;
                let spans = self.parts(node, node.start_byte() + 2, depth, into)?;
                if !check::is_plain_expansion(inside, &spans) {
                    return Err(misread());
                }
                Expansion::Variable
            }
            "arithmetic_expansion" => {
                let inside = within(text, "$((", "))").ok_or_else(misread)?;
                let spans = self.parts(node, node.start_byte() + 3, depth, into)?;
                if !check::is_plain_arithmetic(inside, &spans) {
                    return Err(misread());
                }
                Expansion::Arithmetic
            }
            kind @ ("command_substitution" | "process_substitution") => {
                into.substitutions.push(self.substitution(node, depth)?);
                if kind == "command_substitution" {
                    Expansion::Command
                } else {
                    Expansion::Process
                }
            }
            _ => return Err(misread()),
        };
        into.filled_in(expansion);
        Ok(())
    }

    /// The outermost expansions anywhere below a node, each read on its own: their substitutions, and their spans counted
    /// from `origin`, in order.
    fn parts(
        &self,
        node: Node<'_>,
        origin: usize,
        depth: usize,
        into: &mut Pieces,
    ) -> Result<Vec<Range<usize>>, Unreadable> {
        let depth = Self::deeper(node, depth)?;
        let mut spans = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            if is_expansion(child) {
                let mut inner = Pieces::default();
                self.expansion(child, depth, &mut inner)?;
                into.substitutions.append(&mut inner.substitutions);
                spans.push(child.start_byte() - origin..child.end_byte() - origin);
            } else if child.child_count() > 0 {
                spans.extend(self.parts(child, origin, depth, into)?);
            }
        }
        Ok(spans)
    }

    /// Text in which only `$`, backquotes and the backslash mean something: between double quotes, which end it, or in a
    /// here-document.
    pub(super) fn quoted_text(
        &self,
        node: Node<'_>,
        span: Range<usize>,
        ends_at_quote: bool,
        depth: usize,
        into: &mut Pieces,
    ) -> Result<(), Unreadable> {
        let mut at = span.start;
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            // In quotes `<(` is text, whatever the grammar says.
            if !is_expansion(child) || child.kind() == "process_substitution" {
                continue;
            }
            let before = self.span(at..child.start_byte())?;
            quoted_stretch(before, ends_at_quote, into).ok_or_else(|| Self::uncertain(child))?;
            self.expansion(child, depth, into)?;
            at = child.end_byte();
        }
        let rest = self.span(at..span.end)?;
        quoted_stretch(rest, ends_at_quote, into).ok_or_else(|| Self::uncertain(node))
    }
}

fn within<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    text.strip_prefix(open)?.strip_suffix(close)
}

/// Text outside quotes; `None` where it holds what no word holds there.
fn bare(text: &str, into: &mut Pieces) -> Option<()> {
    const NOT_BARE: [char; 14] = [
        ' ', '\t', '\n', '|', '&', ';', '(', ')', '<', '>', '\'', '"', '`', '$',
    ];
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => match characters.next()? {
                '\n' => {}
                escaped => into.characters.push((escaped, true)),
            },
            c if NOT_BARE.contains(&c) => return None,
            c => into.characters.push((c, false)),
        }
    }
    Some(())
}

/// Text between double quotes without its expansions; `None` where one is in it after all, or the text ends earlier.
fn quoted_stretch(text: &str, ends_at_quote: bool, into: &mut Pieces) -> Option<()> {
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' => match characters.next()? {
                '\n' => {}
                escaped @ ('$' | '`' | '\\') => into.characters.push((escaped, true)),
                '"' if ends_at_quote => into.characters.push(('"', true)),
                other => into.characters.extend([('\\', true), (other, true)]),
            },
            '"' if ends_at_quote => return None,
            '`' => return None,
            '$' if !check::is_bare_dollar(characters.peek().copied()) => return None,
            c => into.characters.push((c, true)),
        }
    }
    Some(())
}

/// What stands in `$'...'`.
#[derive(Debug, PartialEq, Eq)]
enum AnsiC {
    Text(String),
    /// Bytes that are no text, or something on which shells differ.
    NoText,
    /// Its end is not where it seems to be.
    EndsElsewhere,
}

fn ansi_c(source: &str) -> AnsiC {
    let Some(inside) = within(source, "$'", "'") else {
        return AnsiC::EndsElsewhere;
    };
    let mut bytes = Some(Vec::new());
    let mut characters = inside.chars().peekable();
    while let Some(c) = characters.next() {
        let more = match c {
            '\'' => return AnsiC::EndsElsewhere,
            '\\' => match characters.next() {
                None => return AnsiC::EndsElsewhere,
                Some(escape) => unescape(escape, &mut characters),
            },
            c => Some(c.to_string().into_bytes()),
        };
        bytes = bytes.zip(more).map(|(mut bytes, more)| {
            bytes.extend(more);
            bytes
        });
    }
    let text = bytes
        // A NUL ends the word.
        .filter(|bytes| !bytes.contains(&0))
        .and_then(|bytes| String::from_utf8(bytes).ok());
    text.map_or(AnsiC::NoText, AnsiC::Text)
}

/// What a backslash and this character mean in `$'...'`, in bytes.
fn unescape(escape: char, rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<Vec<u8>> {
    let mut number = |mut value: u32, radix: u32, most: usize| {
        let mut digits = 0;
        while digits < most
            && let Some(digit) = rest.peek().and_then(|c| c.to_digit(radix))
        {
            rest.next();
            value = value.wrapping_mul(radix).wrapping_add(digit);
            digits += 1;
        }
        (digits > 0).then_some(value)
    };
    let mut bytes = Vec::new();
    match escape {
        'n' => bytes.push(b'\n'),
        't' => bytes.push(b'\t'),
        'r' => bytes.push(b'\r'),
        'a' => bytes.push(7),
        'b' => bytes.push(8),
        'f' => bytes.push(12),
        'v' => bytes.push(11),
        'e' | 'E' => bytes.push(27),
        '\\' | '\'' | '"' | '?' => push_char(&mut bytes, escape),
        '0'..='7' => {
            let first = escape.to_digit(8)?;
            let value = number(first, 8, 2).unwrap_or(first);
            bytes.push(value.to_le_bytes()[0]);
        }
        // Without digits shells leave it alone, or not.
        'x' => bytes.push(number(0, 16, 2)?.to_le_bytes()[0]),
        'u' => push_char(&mut bytes, char::from_u32(number(0, 16, 4)?)?),
        'U' => push_char(&mut bytes, char::from_u32(number(0, 16, 8)?)?),
        // A control character; which one, shells do not agree on.
        'c' => return None,
        other => {
            bytes.push(b'\\');
            push_char(&mut bytes, other);
        }
    }
    Some(bytes)
}

fn push_char(bytes: &mut Vec<u8>, c: char) {
    bytes.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn quotes_of_the_c_kind_end_where_the_shell_ends_them() {
        let text = |text: &str| AnsiC::Text(text.to_owned());
        let cases: [(&str, AnsiC); 17] = [
            ("$''", text("")),
            (r"$'a\tb\n'", text("a\tb\n")),
            (r"$'it\'s'", text("it's")),
            (r"$'a\\'", text(r"a\")),
            (r"$'a\\' ; rm 'x'", AnsiC::EndsElsewhere),
            (r"$'a' 'b'", AnsiC::EndsElsewhere),
            (r"$'\x41\x4\101\1012'", text("A\u{4}AA2")),
            (r"$'\u263a\U0001F600'", text("☺😀")),
            (r"$'\xc3\xa9'", text("é")),
            (r"$'\xff'", AnsiC::NoText),
            (r"$'a\0b'", AnsiC::NoText),
            (r"$'\xg\ug'", AnsiC::NoText),
            (r"$'\x{41}'", AnsiC::NoText),
            (r"$'\q'", text(r"\q")),
            (r"$'\cA'", AnsiC::NoText),
            (r"$'\c'x'", AnsiC::EndsElsewhere),
            (r"$'a\'", AnsiC::EndsElsewhere),
        ];
        for (source, expected) in cases {
            assert_eq!(ansi_c(source), expected, "{source}");
        }
    }
}
