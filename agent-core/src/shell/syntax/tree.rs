//! From the grammar's tree to commands, every part checked against the characters that it stands for.

use std::ops::Range;

use tree_sitter::Node;

use super::check::{self, Gap};
use super::word::is_word;
use super::{
    Assignment, Command, DEEPEST, Expansion, ListOperator, Reason, Script, SimpleCommand,
    Statement, Unreadable, Word, arrange, unreadable,
};

/// Reads nodes of one line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'l> {
    line: &'l str,
}

impl<'l> Reader<'l> {
    pub(super) fn new(line: &'l str) -> Self {
        Self { line }
    }

    pub(super) fn uncertain(node: Node<'_>) -> Unreadable {
        unreadable(node.byte_range(), Reason::Uncertain)
    }

    pub(super) fn span(&self, span: Range<usize>) -> Result<&'l str, Unreadable> {
        self.line
            .get(span.clone())
            .ok_or_else(|| unreadable(span, Reason::Uncertain))
    }

    /// The line from a byte to its end.
    pub(super) fn from(&self, begin: usize) -> Result<&'l str, Unreadable> {
        self.span(begin..self.line.len())
    }

    pub(super) fn text(&self, node: Node<'_>) -> Result<&'l str, Unreadable> {
        self.span(node.byte_range())
    }

    pub(super) fn deeper(node: Node<'_>, depth: usize) -> Result<usize, Unreadable> {
        if depth < DEEPEST {
            Ok(depth + 1)
        } else {
            Err(unreadable(node.byte_range(), Reason::TooDeep))
        }
    }

    /// The parts of a construct without comments, once it is sure that nothing but them stands in it.
    pub(super) fn children<'t>(
        &self,
        node: Node<'t>,
        gap: Gap,
    ) -> Result<Vec<Node<'t>>, Unreadable> {
        self.children_within(node, node.byte_range(), gap)
    }

    fn children_within<'t>(
        &self,
        node: Node<'t>,
        span: Range<usize>,
        gap: Gap,
    ) -> Result<Vec<Node<'t>>, Unreadable> {
        let mut end = span.start;
        let mut kept = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            self.check_gap(end..child.start_byte(), gap)?;
            end = child.end_byte();
            if child.kind() != "comment" {
                kept.push(child);
            } else if !check::may_begin_comment(self.span(0..child.start_byte())?) {
                return Err(Self::uncertain(child));
            }
        }
        self.check_gap(end..span.end, gap)?;
        Ok(kept)
    }

    fn check_gap(&self, span: Range<usize>, gap: Gap) -> Result<(), Unreadable> {
        if span.is_empty() || gap.is_passed_over(self.span(span.clone())?) {
            Ok(())
        } else {
            Err(unreadable(span, Reason::Uncertain))
        }
    }

    /// Two parts of a simple command are two parts for the shell as well.
    pub(super) fn stand_apart(&self, before: Node<'_>, after: Node<'_>) -> Result<(), Unreadable> {
        let gap = self.span(before.end_byte()..after.start_byte())?;
        if check::separates(gap) {
            return Ok(());
        }
        let is_redirection = matches!(
            after.kind(),
            "file_redirect" | "herestring_redirect" | "heredoc_redirect"
        );
        // `a 2>b` redirects, `a2>b` does not, and `a {fd}>b` names a descriptor.
        let is_own = |c: char| c.is_ascii_digit() || c == '}';
        if gap.is_empty()
            && is_redirection
            && self.text(after)?.starts_with(['<', '>', '&'])
            && !self.text(before)?.ends_with(is_own)
        {
            return Ok(());
        }
        Err(Self::uncertain(after))
    }

    /// The whole line.
    pub(super) fn program(&self, node: Node<'_>) -> Result<Script, Unreadable> {
        // The root's own span leaves out what stands before its first part.
        let children = self.children_within(node, 0..self.line.len(), Gap::AcrossLines)?;
        self.script(&children, 0)
    }

    /// `$(...)`, backquotes, `<(...)`, `>(...)`.
    pub(super) fn substitution(&self, node: Node<'_>, depth: usize) -> Result<Script, Unreadable> {
        let depth = Self::deeper(node, depth)?;
        let children = self.children(node, Gap::AcrossLines)?;
        let [open, inside @ .., close] = children.as_slice() else {
            return Err(Self::uncertain(node));
        };
        let between = self.span(open.end_byte()..close.start_byte())?;
        match (open.kind(), close.kind()) {
            // `$((` is arithmetic first of all.
            ("$(" | "<(" | ">(", ")") if !between.starts_with('(') => {}
            // The shell looks for the closing one before it reads what is between, and a backslash is more there.
            ("`", "`") if !between.contains(['`', '\\']) => {}
            _ => return Err(Self::uncertain(node)),
        }
        if let [only] = inside
            && only.kind() == "file_redirect"
        {
            let command = self.redirected(node, inside, depth)?;
            return Ok(Script {
                statements: vec![Statement {
                    command,
                    background: false,
                }],
            });
        }
        self.script(inside, depth)
    }

    fn script(&self, nodes: &[Node<'_>], depth: usize) -> Result<Script, Unreadable> {
        let mut statements: Vec<Statement> = Vec::new();
        // Where the last statement ends, while nothing has closed it.
        let mut open: Option<usize> = None;
        for node in nodes {
            match node.kind() {
                ";" if open.is_some() => open = None,
                "&" if open.is_some() => {
                    if let Some(last) = statements.last_mut() {
                        last.background = true;
                    }
                    open = None;
                }
                _ => {
                    self.check_line_end(open, *node)?;
                    statements.push(Statement {
                        command: self.command(*node, depth)?,
                        background: false,
                    });
                    open = Some(node.end_byte());
                }
            }
        }
        Ok(Script { statements })
    }

    /// A statement that neither `;` nor `&` has closed ends with its line, before the next begins. The grammar has no part
    /// for that.
    pub(super) fn check_line_end(
        &self,
        open: Option<usize>,
        next: Node<'_>,
    ) -> Result<(), Unreadable> {
        let Some(end) = open else {
            return Ok(());
        };
        let between = self.span(end..next.start_byte())?;
        // The last line end of a here-document may belong to it.
        let before = self.span(0..end)?;
        let is_ended = before.ends_with('\n')
            || between
                .match_indices('\n')
                .any(|(at, _)| !between[..at].ends_with('\\'));
        if is_ended {
            Ok(())
        } else {
            Err(Self::uncertain(next))
        }
    }

    pub(super) fn command(&self, node: Node<'_>, depth: usize) -> Result<Command, Unreadable> {
        let depth = Self::deeper(node, depth)?;
        match node.kind() {
            "command" | "declaration_command" | "unset_command" => {
                self.simple(node, depth).map(Command::Simple)
            }
            "variable_assignment" => Ok(Command::Simple(SimpleCommand {
                assignments: vec![self.assignment(node, depth)?],
                ..SimpleCommand::default()
            })),
            "variable_assignments" => {
                let mut simple = SimpleCommand::default();
                let mut before: Option<Node<'_>> = None;
                for child in self.children(node, Gap::InLine)? {
                    if let Some(before) = before {
                        self.stand_apart(before, child)?;
                    }
                    before = Some(child);
                    simple.assignments.push(self.assignment(child, depth)?);
                }
                Ok(Command::Simple(simple))
            }
            "pipeline" => self.pipeline(node, depth),
            "list" => self.list(node, depth),
            "negated_command" => match self.children(node, Gap::InLine)?.as_slice() {
                [sign, command] if sign.kind() == "!" && sign.end_byte() < command.start_byte() => {
                    Ok(arrange::negate(self.command(*command, depth)?))
                }
                _ => Err(Self::uncertain(node)),
            },
            "redirected_statement" => {
                let children = self.children(node, Gap::InLine)?;
                self.redirected(node, &children, depth)
            }
            _ => self.compound(node, depth).map(Command::Compound),
        }
    }

    fn pipeline(&self, node: Node<'_>, depth: usize) -> Result<Command, Unreadable> {
        let children = self.children(node, Gap::AcrossLines)?;
        let [first, rest @ ..] = children.as_slice() else {
            return Err(Self::uncertain(node));
        };
        let mut piped = self.command(*first, depth)?;
        for pair in rest.chunks(2) {
            let [operator, next] = pair else {
                return Err(Self::uncertain(node));
            };
            if !matches!(operator.kind(), "|" | "|&") {
                return Err(Self::uncertain(*operator));
            }
            let next = self.command(*next, depth)?;
            piped = arrange::pipe(piped, next).ok_or_else(|| Self::uncertain(node))?;
        }
        Ok(piped)
    }

    /// A chain hangs to the left, link by link; it is walked, not descended, for it may be long.
    fn list(&self, node: Node<'_>, depth: usize) -> Result<Command, Unreadable> {
        let mut links = Vec::new();
        let mut left = node;
        while left.kind() == "list" {
            let children = self.children(left, Gap::AcrossLines)?;
            let [first, operator, right] = children.as_slice() else {
                return Err(Self::uncertain(left));
            };
            links.push((Self::list_operator(*operator)?, *right));
            left = *first;
        }
        let mut joined = self.command(left, depth)?;
        for (operator, right) in links.into_iter().rev() {
            joined = arrange::join(joined, operator, self.command(right, depth)?);
        }
        Ok(joined)
    }

    pub(super) fn list_operator(node: Node<'_>) -> Result<ListOperator, Unreadable> {
        match node.kind() {
            "&&" => Ok(ListOperator::And),
            "||" => Ok(ListOperator::Or),
            _ => Err(Self::uncertain(node)),
        }
    }

    fn simple(&self, node: Node<'_>, depth: usize) -> Result<SimpleCommand, Unreadable> {
        let mut simple = SimpleCommand::default();
        let mut before: Option<Node<'_>> = None;
        for child in self.children(node, Gap::InLine)? {
            if let Some(before) = before {
                self.stand_apart(before, child)?;
            }
            before = Some(child);
            let is_named = !simple.words.is_empty();
            match child.kind() {
                "command_name" => {
                    let name = child
                        .child(0)
                        .filter(|name| name.byte_range() == child.byte_range())
                        .ok_or_else(|| Self::uncertain(child))?;
                    let words = vec![self.word(name, depth)?];
                    Self::check_name(is_named, &words, child)?;
                    simple.words.extend(words);
                }
                keyword @ ("declare" | "typeset" | "export" | "readonly" | "local" | "unset"
                | "unsetenv") => {
                    simple.words.push(Word::plain(keyword));
                }
                "variable_assignment" if is_named => {
                    simple.words.push(self.assignment_word(child, depth)?);
                }
                "variable_assignment" => simple.assignments.push(self.assignment(child, depth)?),
                "file_redirect" | "herestring_redirect" => {
                    let (redirection, words) = self.redirection(child, depth)?;
                    Self::check_name(is_named, &words, child)?;
                    simple.redirections.push(redirection);
                    simple.words.extend(words);
                }
                _ if is_named && is_word(child) => simple.words.push(self.word(child, depth)?),
                _ => return Err(Self::uncertain(child)),
            }
        }
        Ok(simple)
    }

    /// The first of these words is the name of a command that has none yet: it is none of the language's own words, and no
    /// assignment that the grammar did not see.
    pub(super) fn check_name(
        is_named: bool,
        words: &[Word],
        node: Node<'_>,
    ) -> Result<(), Unreadable> {
        match words.first() {
            Some(name)
                if !is_named
                    && (check::is_reserved(&name.source)
                        || check::looks_like_assignment(&name.source)) =>
            {
                Err(Self::uncertain(node))
            }
            _ => Ok(()),
        }
    }

    fn assignment(&self, node: Node<'_>, depth: usize) -> Result<Assignment, Unreadable> {
        let misread = || Self::uncertain(node);
        let depth = Self::deeper(node, depth)?;
        let mut cursor = node.walk();
        let children: Vec<_> = node.children(&mut cursor).collect();
        let [name, sign, value @ ..] = children.as_slice() else {
            return Err(misread());
        };
        let written = self.text(*name)?;
        let is_name = check::looks_like_assignment(&format!("{written}="))
            && (!written.contains('[') || check::is_plain_pattern(written));
        let value = match value {
            [] => None,
            [value] if value.byte_range().is_empty() => None,
            [value] if value.kind() == "array" => Some((value, self.array(*value, depth)?)),
            [value] if is_word(*value) => Some((value, self.word(*value, depth)?)),
            _ => return Err(misread()),
        };
        let value_begins = value
            .as_ref()
            .map_or(node.end_byte(), |(value, _)| value.start_byte());
        let value_ends = value
            .as_ref()
            .map_or(node.end_byte(), |(value, _)| value.end_byte());
        let is_whole = node.kind() == "variable_assignment"
            && matches!(sign.kind(), "=" | "+=")
            && name.end_byte() == sign.start_byte()
            && sign.end_byte() == value_begins
            && value_ends == node.end_byte();
        if !is_name || !is_whole {
            return Err(misread());
        }
        Ok(Assignment {
            name: written.to_owned(),
            appends: sign.kind() == "+=",
            value: value.map_or_else(|| Word::plain(""), |(_, value)| value),
        })
    }

    /// An assignment that stands among the arguments, as `export` takes them.
    fn assignment_word(&self, node: Node<'_>, depth: usize) -> Result<Word, Unreadable> {
        let assignment = self.assignment(node, depth)?;
        let sign = if assignment.appends { "+=" } else { "=" };
        let value = assignment.value;
        Ok(Word {
            source: self.text(node)?.to_owned(),
            literal: value
                .literal
                .map(|value| format!("{}{sign}{value}", assignment.name)),
            expansions: value.expansions,
            substitutions: value.substitutions,
        })
    }

    /// The words of `(a b c)` as one value.
    fn array(&self, node: Node<'_>, depth: usize) -> Result<Word, Unreadable> {
        let mut value = Word {
            source: self.text(node)?.to_owned(),
            expansions: vec![Expansion::Array],
            ..Word::default()
        };
        let mut before: Option<Node<'_>> = None;
        for child in self.children(node, Gap::AcrossLines)? {
            match child.kind() {
                "(" | ")" => before = None,
                _ if is_word(child) => {
                    if let Some(before) = before {
                        let gap = self.span(before.end_byte()..child.start_byte())?;
                        if !gap.contains([' ', '\t', '\n']) || gap == "\\\n" {
                            return Err(Self::uncertain(child));
                        }
                    }
                    before = Some(child);
                    let word = self.word(child, depth)?;
                    value.substitutions.extend(word.substitutions);
                }
                _ => return Err(Self::uncertain(child)),
            }
        }
        Ok(value)
    }
}
