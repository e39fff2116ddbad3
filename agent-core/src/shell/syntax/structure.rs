//! Control structures, groups, tests and functions.

use tree_sitter::Node;

use super::check::{self, Gap};
use super::tree::Reader;
use super::word::is_word;
use super::{Compound, CompoundKind, Statement, Unreadable};

impl Reader<'_> {
    pub(super) fn compound(&self, node: Node<'_>, depth: usize) -> Result<Compound, Unreadable> {
        let text = self.text(node)?;
        let kind = match node.kind() {
            "subshell" => CompoundKind::Subshell,
            "compound_statement" if text.starts_with("((") => CompoundKind::Arithmetic,
            "compound_statement" => CompoundKind::Group,
            "if_statement" => CompoundKind::If,
            "while_statement" => CompoundKind::While,
            "for_statement" => CompoundKind::For,
            "case_statement" => CompoundKind::Case,
            "test_command" => CompoundKind::Test,
            "function_definition" => {
                let name = node
                    .child_by_field_name("name")
                    .ok_or_else(|| Self::uncertain(node))?;
                let name = self.word(name, depth)?.literal;
                CompoundKind::Function(name.ok_or_else(|| Self::uncertain(node))?)
            }
            _ => return Err(Self::uncertain(node)),
        };
        let mut compound = Compound {
            kind,
            words: Vec::new(),
            body: Vec::new(),
            redirections: Vec::new(),
        };
        match compound.kind {
            CompoundKind::Arithmetic => {
                let inside = text
                    .strip_prefix("((")
                    .and_then(|text| text.strip_suffix("))"));
                if !inside.is_some_and(|inside| check::is_plain_arithmetic(inside, &[])) {
                    return Err(Self::uncertain(node));
                }
            }
            CompoundKind::Test => {
                self.test(node, text.starts_with("[["), depth, &mut compound)?;
            }
            // `((` is arithmetic first of all.
            CompoundKind::Subshell if text.starts_with("((") => return Err(Self::uncertain(node)),
            _ => self.structure(node, depth, &mut compound)?,
        }
        Ok(compound)
    }

    /// The statements and words of a control structure, of its branches too.
    fn structure(
        &self,
        node: Node<'_>,
        depth: usize,
        into: &mut Compound,
    ) -> Result<(), Unreadable> {
        let depth = Self::deeper(node, depth)?;
        // Where the last statement ends, while nothing has closed it.
        let mut open: Option<usize> = None;
        for child in self.children(node, Gap::AcrossLines)? {
            match child.kind() {
                "do_group" | "elif_clause" | "else_clause" | "case_item" => {
                    self.check_line_end(open, child)?;
                    self.structure(child, depth, into)?;
                    open = None;
                }
                "extglob_pattern" | "regex"
                    if node.kind() == "case_item" && check::is_plain_pattern(self.text(child)?) => {
                }
                "&" if open.is_some() => {
                    if let Some(last) = into.body.last_mut() {
                        last.background = true;
                    }
                    open = None;
                }
                ";;" | ";&" | ";;&" if node.kind() == "case_item" => open = None,
                "|" if node.kind() == "case_item" && open.is_none() => {}
                ";" | ")" => open = None,
                // These begin or end something, so they stand where a command could.
                "(" | "{" | "}" | "if" | "then" | "elif" | "else" | "fi" | "while" | "until"
                | "do" | "done" | "for" | "select" | "in" | "case" | "esac" | "function" => {
                    self.check_line_end(open, child)?;
                    open = None;
                }
                _ if !child.is_named() && !is_word(child) => return Err(Self::uncertain(child)),
                _ if is_word(child) && open.is_none() => {
                    if node.kind() != "function_definition" {
                        into.words.push(self.word(child, depth)?);
                    }
                }
                _ => {
                    self.check_line_end(open, child)?;
                    into.body.push(Statement {
                        command: self.command(child, depth)?,
                        background: false,
                    });
                    open = Some(child.end_byte());
                }
            }
        }
        Ok(())
    }

    /// The words of a test. In `[ ... ]` the shell's operators would be the shell's.
    fn test(
        &self,
        node: Node<'_>,
        is_double: bool,
        depth: usize,
        into: &mut Compound,
    ) -> Result<(), Unreadable> {
        let depth = Self::deeper(node, depth)?;
        let gap = if is_double {
            Gap::AcrossLines
        } else {
            Gap::InLine
        };
        let mut before: Option<Node<'_>> = None;
        for child in self.children(node, gap)? {
            if let Some(before) = before
                && !is_double
            {
                self.stand_apart(before, child)?;
            }
            before = Some(child);
            match child.kind() {
                "binary_expression" | "unary_expression" | "postfix_expression" => {
                    self.test(child, is_double, depth, into)?;
                }
                "parenthesized_expression" if is_double => {
                    self.test(child, is_double, depth, into)?;
                }
                "[" | "]" if !is_double => {}
                "[[" | "]]" | "(" | ")" | "&&" | "||" | "<" | ">" if is_double => {}
                "=" | "==" | "!=" | "!" | "=~" | "test_operator" => {}
                "regex" | "extglob_pattern" if check::is_plain_pattern(self.text(child)?) => {}
                _ if is_word(child) => into.words.push(self.word(child, depth)?),
                _ => return Err(Self::uncertain(child)),
            }
        }
        Ok(())
    }
}
