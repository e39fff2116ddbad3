//! Rules that are read from the characters alone, beside the grammar.

use std::ops::Range;

use tree_sitter::Tree;

/// Where the grammar gave up or filled in something that is not there, first of all.
pub(super) fn first_error(tree: &Tree) -> Option<Range<usize>> {
    let root = tree.root_node();
    if !root.has_error() {
        return None;
    }
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            return Some(node.byte_range());
        }
        // What holds no error is passed over.
        if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Some(root.byte_range());
            }
        }
    }
}

/// What may stand between two parts of a construct.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    /// Blanks and continued lines.
    InLine,
    /// Line ends as well.
    AcrossLines,
}

impl Gap {
    /// Whether a gap consists of what the shell passes over there.
    pub(super) fn is_passed_over(self, gap: &str) -> bool {
        let mut characters = gap.chars();
        while let Some(c) = characters.next() {
            match c {
                ' ' | '\t' => {}
                '\n' if self == Self::AcrossLines => {}
                '\\' if characters.next() == Some('\n') => {}
                _ => return false,
            }
        }
        true
    }
}

/// Whether a gap that [`Gap::InLine`] passes over keeps two words apart: a continued line alone joins them.
pub(super) fn separates(gap: &str) -> bool {
    gap.contains([' ', '\t'])
}

/// Whether what stands before a `#` lets it begin a comment.
pub(super) fn may_begin_comment(before: &str) -> bool {
    let begins_word = before.chars().next_back().is_none_or(|c| {
        matches!(
            c,
            ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>'
        )
    });
    begins_word && !ends_escaped(before)
}

/// Whether the last character is escaped.
fn ends_escaped(text: &str) -> bool {
    let mut characters = text.chars().rev();
    characters.next();
    characters.take_while(|c| *c == '\\').count() % 2 == 1
}

/// Whether `$` before this begins no expansion, inside double quotes or a here-document.
pub(super) fn is_bare_dollar(next: Option<char>) -> bool {
    next.is_none_or(|c| {
        !(c.is_alphanumeric()
            || matches!(
                c,
                '_' | '@' | '*' | '#' | '?' | '$' | '!' | '-' | '(' | '{' | '[' | '`' | '\\'
            ))
    })
}

/// What stands between `((` and `))`: no quotes, and every parenthesis closed before them, or it were a subshell.
/// `parts` are the spans in it that were read on their own, counted from the beginning of `inside`.
pub(super) fn is_plain_arithmetic(inside: &str, parts: &[Range<usize>]) -> bool {
    let mut depth = 0_usize;
    for (at, c) in outside(inside, parts) {
        match c {
            '(' => depth += 1,
            ')' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            },
            _ if c.is_ascii_alphanumeric() => {}
            '_' | ' ' | '\t' | '+' | '-' | '*' | '/' | '%' | '<' | '>' | '=' | '!' | '&' | '|'
            | '^' | '~' | '?' | ':' | ',' | '[' | ']' => {}
            '#' if inside[..at].ends_with(|c: char| c.is_ascii_digit()) => {}
            _ => return false,
        }
    }
    depth == 0
}

/// What stands between `${` and `}`: nothing that quotes, nothing that could end it earlier.
pub(super) fn is_plain_expansion(inside: &str, parts: &[Range<usize>]) -> bool {
    // `${ command; }` and `${| command; }` run something in newer shells.
    !inside.starts_with([' ', '\t', '\n', '|'])
        && outside(inside, parts).all(|(_, c)| {
            !matches!(
                c,
                '\'' | '"' | '\\' | '`' | '$' | '{' | '}' | '(' | ')' | '\n' | '<' | '>'
            )
        })
}

/// The characters of a text that lie in none of the spans, which are in order.
fn outside<'t>(
    text: &'t str,
    parts: &'t [Range<usize>],
) -> impl Iterator<Item = (usize, char)> + 't {
    let mut parts = parts.iter().peekable();
    text.char_indices().filter(move |(at, _)| {
        while parts.next_if(|span| span.end <= *at).is_some() {}
        !parts.peek().is_some_and(|span| span.contains(at))
    })
}

/// A pattern or regular expression whose end cannot be misread.
pub(super) fn is_plain_pattern(text: &str) -> bool {
    !text.contains(|c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '\'' | '"' | '\\' | '`' | '$' | '(' | ')' | '<' | '>' | ';' | '&' | '|' | '#'
            )
    })
}

/// Words that begin or belong to a structure where a command's name stands, so no simple command has such a name.
pub(super) fn is_reserved(word: &str) -> bool {
    const RESERVED: [&str; 21] = [
        "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
        "select", "in", "function", "coproc", "{", "}", "!", "[[", "]]",
    ];
    RESERVED.contains(&word)
}

/// `name=...` or `name[...` where a command's name stands.
pub(super) fn looks_like_assignment(source: &str) -> bool {
    let rest = source.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    rest.len() < source.len()
        && !source.starts_with(|c: char| c.is_ascii_digit())
        && (rest.starts_with('=') || rest.starts_with("+=") || rest.starts_with('['))
}
