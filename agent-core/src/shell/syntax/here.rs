//! Redirections, and here-documents with what else stands on their line.

use std::ops::Range;

use tree_sitter::Node;

use super::check::Gap;
use super::tree::Reader;
use super::word::{Pieces, is_word};
use super::{Command, Redirection, RedirectionOperator, Unreadable, Word, arrange};

/// What ends a here-document.
#[derive(Debug)]
struct Delimiter {
    word: String,
    /// It was written without quotes, so the body is expanded.
    expands: bool,
}

impl Reader<'_> {
    /// A command, if any, and the redirections behind it, out of the children of a statement.
    pub(super) fn redirected(
        &self,
        node: Node<'_>,
        children: &[Node<'_>],
        depth: usize,
    ) -> Result<Command, Unreadable> {
        let mut command: Option<Command> = None;
        let mut before: Option<Node<'_>> = None;
        for child in children {
            if let Some(before) = before {
                self.stand_apart(before, *child)?;
            }
            before = Some(*child);
            command = Some(match child.kind() {
                "file_redirect" | "herestring_redirect" => {
                    let command = command.unwrap_or_else(arrange::nothing);
                    self.redirected_to(*child, command, depth)?
                }
                // What follows it on its line stands inside of it, so nothing follows it here.
                "heredoc_redirect" if children.last() == Some(child) => {
                    let command = command.unwrap_or_else(arrange::nothing);
                    self.here_document(*child, command, depth)?
                }
                _ if command.is_none() => self.command(*child, depth)?,
                _ => return Err(Self::uncertain(*child)),
            });
        }
        command.ok_or_else(|| Self::uncertain(node))
    }

    /// A command with one redirection more.
    fn redirected_to(
        &self,
        node: Node<'_>,
        command: Command,
        depth: usize,
    ) -> Result<Command, Unreadable> {
        let (redirection, words) = self.redirection(node, depth)?;
        with(command, vec![redirection], words, node)
    }

    /// A redirection, and the words behind its target, which the grammar takes for more targets.
    pub(super) fn redirection(
        &self,
        node: Node<'_>,
        depth: usize,
    ) -> Result<(Redirection, Vec<Word>), Unreadable> {
        let depth = Self::deeper(node, depth)?;
        let children = self.children(node, Gap::InLine)?;
        let mut rest = children.as_slice();
        let descriptor = self.descriptor(node, &mut rest)?;
        let [operator, rest @ ..] = rest else {
            return Err(Self::uncertain(node));
        };
        let operator = match operator.kind() {
            "<" => RedirectionOperator::Input,
            ">" | ">|" => RedirectionOperator::Output,
            ">>" => RedirectionOperator::Append,
            "&>" | "&>>" => RedirectionOperator::OutputAndErrors,
            "<&" => RedirectionOperator::DuplicateInput,
            ">&" => RedirectionOperator::DuplicateOutput,
            "<<<" => RedirectionOperator::HereString,
            // `>&-` takes no word, yet the grammar may give it one.
            "<&-" | ">&-" if rest.is_empty() => {
                let operator = if operator.kind() == "<&-" {
                    RedirectionOperator::DuplicateInput
                } else {
                    RedirectionOperator::DuplicateOutput
                };
                let target = Word::plain("-");
                return Ok((
                    Redirection {
                        descriptor,
                        operator,
                        target,
                    },
                    Vec::new(),
                ));
            }
            _ => return Err(Self::uncertain(*operator)),
        };
        let mut words = Vec::new();
        let mut before: Option<Node<'_>> = None;
        for child in rest {
            if let Some(before) = before {
                self.stand_apart(before, *child)?;
            }
            before = Some(*child);
            if !is_word(*child) {
                return Err(Self::uncertain(*child));
            }
            words.push(self.word(*child, depth)?);
        }
        if words.is_empty() {
            return Err(Self::uncertain(node));
        }
        let target = words.remove(0);
        Ok((
            Redirection {
                descriptor,
                operator,
                target,
            },
            words,
        ))
    }

    /// The number before the operator: it touches it, and no word touches it.
    fn descriptor(
        &self,
        node: Node<'_>,
        children: &mut &[Node<'_>],
    ) -> Result<Option<u32>, Unreadable> {
        let [first, rest @ ..] = *children else {
            return Ok(None);
        };
        if first.kind() != "file_descriptor" {
            return Ok(None);
        }
        let before = self.span(0..first.start_byte())?;
        let stands_alone = before.is_empty()
            || (before.ends_with([' ', '\t', '\n', ';', '&', '|', '(', ')'])
                && !before.ends_with("\\ ")
                && !before.ends_with("\\\n"));
        let touches = rest
            .first()
            .is_some_and(|operator| operator.start_byte() == first.end_byte());
        match self.text(*first)?.parse() {
            Ok(number) if stands_alone && touches => {
                *children = rest;
                Ok(Some(number))
            }
            _ => Err(Self::uncertain(node)),
        }
    }

    /// `<<END`, what follows on its line, and its body.
    fn here_document(
        &self,
        node: Node<'_>,
        command: Command,
        depth: usize,
    ) -> Result<Command, Unreadable> {
        let misread = || Self::uncertain(node);
        let depth = Self::deeper(node, depth)?;
        let children = self.children(node, Gap::AcrossLines)?;
        let mut rest = children.as_slice();
        let descriptor = self.descriptor(node, &mut rest)?;
        let [operator, start, on_line @ .., body, end] = rest else {
            return Err(misread());
        };
        let strips_tabs = operator.kind() == "<<-";
        let kinds = [operator, start, body, end].map(Node::kind);
        let expected = [
            if strips_tabs { "<<-" } else { "<<" },
            "heredoc_start",
            "heredoc_body",
            "heredoc_end",
        ];
        // The body begins on the next line, so nothing between may hold a line end.
        let line_ends = on_line.last().unwrap_or(start).end_byte();
        if kinds != expected || self.span(start.end_byte()..line_ends)?.contains('\n') {
            return Err(misread());
        }
        let (blanks, _) = self.from(line_ends)?.split_once('\n').ok_or_else(misread)?;
        if !blanks.trim_matches([' ', '\t']).is_empty() {
            return Err(misread());
        }
        let begin = line_ends + blanks.len() + 1;
        let delimiter = self.delimiter(*start)?;
        let span = self.here_text(begin, *end, &delimiter.word, strips_tabs)?;
        let mut pieces = Pieces::default();
        if delimiter.expands {
            // A continued line could hide the delimiter.
            if self.span(span.clone())?.contains("\\\n") {
                return Err(Self::uncertain(*body));
            }
            self.quoted_text(*body, span, false, depth, &mut pieces)?;
        }
        let redirection = Redirection {
            descriptor,
            operator: RedirectionOperator::HereDocument,
            target: Word {
                source: self.text(*start)?.to_owned(),
                literal: Some(delimiter.word),
                expansions: Vec::new(),
                substitutions: pieces.substitutions,
            },
        };
        let command = with(command, vec![redirection], Vec::new(), node)?;
        self.rest_of_line(command, *start, on_line, depth)
    }

    /// What stands behind `<<END` on its line.
    fn rest_of_line(
        &self,
        mut command: Command,
        start: Node<'_>,
        nodes: &[Node<'_>],
        depth: usize,
    ) -> Result<Command, Unreadable> {
        let mut before = start;
        let mut nodes = nodes.iter();
        while let Some(node) = nodes.next() {
            let misread = || Self::uncertain(*node);
            command = match node.kind() {
                "pipeline" => match self.children(*node, Gap::InLine)?.as_slice() {
                    [bar, right] if matches!(bar.kind(), "|" | "|&") => {
                        let right = self.command(*right, depth)?;
                        arrange::pipe(command, right).ok_or_else(misread)?
                    }
                    _ => return Err(misread()),
                },
                "&&" | "||" => {
                    let operator = Self::list_operator(*node)?;
                    let right = nodes.next().ok_or_else(misread)?;
                    arrange::join(command, operator, self.command(*right, depth)?)
                }
                "file_redirect" | "herestring_redirect" => {
                    self.stand_apart(before, *node)?;
                    self.redirected_to(*node, command, depth)?
                }
                _ if is_word(*node) => {
                    self.stand_apart(before, *node)?;
                    let words = vec![self.word(*node, depth)?];
                    with(command, Vec::new(), words, *node)?
                }
                _ => return Err(misread()),
            };
            before = *node;
        }
        Ok(command)
    }

    fn delimiter(&self, node: Node<'_>) -> Result<Delimiter, Unreadable> {
        let written = self.text(node)?;
        let quoted = |quote: char| written.strip_prefix(quote)?.strip_suffix(quote);
        let (word, expands) = match quoted('\'').or_else(|| quoted('"')) {
            Some(word) => (word, false),
            None => (written, true),
        };
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        if word.is_empty() || !word.chars().all(is_plain) {
            return Err(Self::uncertain(node));
        }
        Ok(Delimiter {
            word: word.to_owned(),
            expands,
        })
    }

    /// The span of a body, once it is sure that the first line which is the delimiter is the one that was found.
    fn here_text(
        &self,
        begin: usize,
        end: Node<'_>,
        delimiter: &str,
        strips_tabs: bool,
    ) -> Result<Range<usize>, Unreadable> {
        let mut at = begin;
        for line in self.from(begin)?.split_inclusive('\n') {
            let bare = line.strip_suffix('\n').unwrap_or(line);
            let stripped = if strips_tabs {
                bare.trim_start_matches('\t')
            } else {
                bare
            };
            if stripped == delimiter {
                let expected = at + bare.len() - stripped.len();
                let found = self
                    .text(end)?
                    .trim_end_matches('\n')
                    .trim_start_matches('\t');
                let offset = self.text(end)?.find(found).unwrap_or_default();
                return if found == delimiter && end.start_byte() + offset == expected {
                    Ok(begin..at)
                } else {
                    Err(Self::uncertain(end))
                };
            }
            at += line.len();
        }
        Err(Self::uncertain(end))
    }
}

/// Adds redirections and words to what stands last in a command.
fn with(
    command: Command,
    redirections: Vec<Redirection>,
    words: Vec<Word>,
    node: Node<'_>,
) -> Result<Command, Unreadable> {
    let is_named = !matches!(&command, Command::Simple(simple) if simple.words.is_empty());
    Reader::check_name(is_named, &words, node)?;
    arrange::redirect(command, redirections, words).ok_or_else(|| Reader::uncertain(node))
}
