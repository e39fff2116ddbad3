//! A command line as bash reads it, as far as that can be said without running anything.
//!
//! Two readers must agree. tree-sitter's bash grammar finds the structure; it is made for editors, so it is generous where
//! bash is not: it takes a carriage return for a blank, ends `$'a\\'` at a later quote, and takes what follows the target of
//! a redirection for more targets. So every word, gap, quote, here-document and substitution that it found is read again
//! from the characters by the shell's own rules. Where the two differ, or where a construct is outside of what both
//! know, [`parse`] answers [`Unreadable`]. An error therefore does not mean that bash would refuse the line; it means that
//! nothing may be concluded from it.
//!
//! What a [`Script`] holds is everything that the line can run by itself: commands in substitutions, here-documents,
//! function bodies and control structures included ([`Script::simple_commands`]). What a program makes of its words (`eval`,
//! `xargs`, `find -exec`, `time`, `sudo`) is not the syntax's business.
//!
//! Pure: no clock, no files. Time and memory are bounded for every input by
//! [`LONGEST`], [`DEEPEST`], the number of operators and a budget of parser steps.

mod arrange;
mod check;
mod here;
mod structure;
mod tree;
mod word;

use std::ops::{ControlFlow, Range};

use tree_sitter::{ParseOptions, Parser};

/// The longest line that is parsed, in bytes.
pub const LONGEST: usize = 64 * 1024;

/// How deep constructs may stand in each other.
pub const DEEPEST: usize = 48;

/// How many of the characters that make structure (`|&;()<>`) a line may hold. The parser's time grows faster than their
/// number, and not all of it can be counted while it runs.
const MOST_OPERATORS: usize = 2_048;

/// How many here-documents.
const MOST_HERE_DOCUMENTS: usize = 64;

/// Callbacks of the parser, one for about a hundred of its steps, that a line may cost: so many, and one for so many bytes.
/// Honest lines need one for twenty bytes and more.
const BUDGET: usize = 1_000;
const BYTES_PER_CALLBACK: usize = 8;

/// A whole line, or what stands in a substitution.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// What is run one after the other.
    pub statements: Vec<Statement>,
}

/// A command up to `;`, `&` or the end of its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// What is run.
    pub command: Command,
    /// It ends in `&`.
    pub background: bool,
}

/// What a statement runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Words, assignments and redirections.
    Simple(SimpleCommand),
    /// Commands joined by `|` or `|&`, two at least.
    Pipeline(Vec<Command>),
    /// Commands joined by `&&` and `||`.
    List {
        /// The first one.
        first: Box<Command>,
        /// The others, with what stands before each. Both operators bind alike, from the left.
        rest: Vec<(ListOperator, Command)>,
    },
    /// `! command`.
    Negated(Box<Command>),
    /// A control structure, a group, a test or a function.
    Compound(Compound),
}

/// What joins the commands of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListOperator {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// A command without structure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimpleCommand {
    /// `NAME=value` before the name, or alone.
    pub assignments: Vec<Assignment>,
    /// The name and its arguments. Empty where only assignments or redirections stand.
    pub words: Vec<Word>,
    /// In the order in which they stand.
    pub redirections: Vec<Redirection>,
}

/// `NAME=value`, `NAME+=value` or `NAME[index]=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// What stands left of the sign, as written.
    pub name: String,
    /// `+=`.
    pub appends: bool,
    /// What stands right of it.
    pub value: Word,
}

/// One word as it stands in the line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    /// As written.
    pub source: String,
    /// What the program gets, where that is this one argument whatever the environment, the folder and the files are:
    /// quotes and escapes are undone.
    pub literal: Option<String>,
    /// What the shell does with it before the program sees it; each once, in the order of [`Expansion`].
    pub expansions: Vec<Expansion>,
    /// The scripts that it runs.
    pub substitutions: Vec<Script>,
}

/// What the shell does with a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Expansion {
    /// `$x`, `${x}`.
    Variable,
    /// `$(...)` or backquotes.
    Command,
    /// `<(...)`, `>(...)`.
    Process,
    /// `$((...))`.
    Arithmetic,
    /// `*`, `?`, `[...]` outside quotes.
    Glob,
    /// `{a,b}`, `{1..3}` outside quotes.
    Brace,
    /// `~` where it may mean a home folder.
    Tilde,
    /// `(...)` on the right of an assignment.
    Array,
    /// Bytes of `$'...'` that are no text, or a NUL, which ends the word there.
    Bytes,
}

/// What goes to or comes from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    /// The number before the operator.
    pub descriptor: Option<u32>,
    /// Which.
    pub operator: RedirectionOperator,
    /// A file, a descriptor or `-` behind the operator; for a here-document its delimiter. The substitutions of its body are
    /// the word's.
    pub target: Word,
}

/// The operators of redirections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectionOperator {
    /// `<`
    Input,
    /// `>` and `>|`
    Output,
    /// `>>`
    Append,
    /// `&>` and `&>>`
    OutputAndErrors,
    /// `<&`
    DuplicateInput,
    /// `>&`
    DuplicateOutput,
    /// `<<` and `<<-`
    HereDocument,
    /// `<<<`
    HereString,
}

/// A control structure and everything in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compound {
    /// Which.
    pub kind: CompoundKind,
    /// Words that belong to the structure itself: what a `for` goes through, what a `case` or a test compares.
    pub words: Vec<Word>,
    /// Every statement in it, conditions and branches alike, in their order.
    pub body: Vec<Statement>,
    /// Behind its end.
    pub redirections: Vec<Redirection>,
}

/// The kinds of control structures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompoundKind {
    /// `( ... )`
    Subshell,
    /// `{ ...; }`
    Group,
    /// `if`
    If,
    /// `while`, `until`
    While,
    /// `for`, `select`
    For,
    /// `case`
    Case,
    /// `[ ... ]` and `[[ ... ]]`
    Test,
    /// `((...))`
    Arithmetic,
    /// A function of this name: whatever is run under it afterwards is this.
    Function(String),
}

/// Nothing may be concluded from this line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {}", at.start)]
pub struct Unreadable {
    /// Where in the line, in bytes.
    pub at: Range<usize>,
    /// Why.
    pub reason: Reason,
}

/// Why a line is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// It has more than [`LONGEST`] bytes.
    #[error("the line is too long to be parsed")]
    TooLong,
    /// A control character other than tab and line feed.
    #[error("a control character stands")]
    ControlCharacter,
    /// The parser needed more steps than any honest line does.
    #[error("the line is too intricate")]
    TooIntricate,
    /// Constructs stand in each other deeper than [`DEEPEST`].
    #[error("the line is nested too deeply")]
    TooDeep,
    /// The grammar does not know it.
    #[error("a syntax error stands")]
    Syntax,
    /// The grammar and the shell's rules read it differently, or it is outside of what is read here.
    #[error("something that cannot be read for certain stands")]
    Uncertain,
}

/// Reads a command line.
pub fn parse(line: &str) -> Result<Script, Unreadable> {
    let whole = 0..line.len();
    if line.len() > LONGEST {
        return Err(unreadable(whole, Reason::TooLong));
    }
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if let Some(at) = line.find(control) {
        return Err(unreadable(at..at, Reason::ControlCharacter));
    }
    let operators = line.matches(['|', '&', ';', '(', ')', '<', '>']).count();
    if operators > MOST_OPERATORS || line.matches("<<").count() > MOST_HERE_DOCUMENTS {
        return Err(unreadable(whole, Reason::TooIntricate));
    }
    let mut parser = Parser::new();
    if parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .is_err()
    {
        // Grammar and parser are built together; whether their versions fit is a test's business.
        return Err(unreadable(whole, Reason::Syntax));
    }
    let mut budget = BUDGET + line.len() / BYTES_PER_CALLBACK;
    let mut spend = |_: &tree_sitter::ParseState| match budget.checked_sub(1) {
        Some(left) => {
            budget = left;
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    };
    let options = ParseOptions::new().progress_callback(&mut spend);
    let bytes = line.as_bytes();
    let parsed = parser.parse_with_options(
        &mut |at, _| bytes.get(at..).unwrap_or_default(),
        None,
        Some(options),
    );
    let Some(tree) = parsed else {
        return Err(unreadable(whole, Reason::TooIntricate));
    };
    if let Some(at) = check::first_error(&tree) {
        return Err(unreadable(at, Reason::Syntax));
    }
    tree::Reader::new(line).program(tree.root_node())
}

fn unreadable(at: Range<usize>, reason: Reason) -> Unreadable {
    Unreadable { at, reason }
}

impl Script {
    /// Every simple command that the script can run by itself, wherever it stands, in the order of the line.
    pub fn simple_commands(&self) -> Vec<&SimpleCommand> {
        let mut found = Vec::new();
        self.collect(&mut found);
        found
    }

    fn collect<'s>(&'s self, found: &mut Vec<&'s SimpleCommand>) {
        for statement in &self.statements {
            statement.command.collect(found);
        }
    }
}

impl Command {
    fn collect<'s>(&'s self, found: &mut Vec<&'s SimpleCommand>) {
        match self {
            Self::Simple(command) => {
                found.push(command);
                for word in command.all_words() {
                    word.collect(found);
                }
            }
            Self::Pipeline(parts) => parts.iter().for_each(|part| part.collect(found)),
            Self::List { first, rest } => {
                first.collect(found);
                for (_, command) in rest {
                    command.collect(found);
                }
            }
            Self::Negated(command) => command.collect(found),
            Self::Compound(compound) => {
                let targets = compound.redirections.iter().map(|one| &one.target);
                for word in compound.words.iter().chain(targets) {
                    word.collect(found);
                }
                for statement in &compound.body {
                    statement.command.collect(found);
                }
            }
        }
    }
}

impl SimpleCommand {
    /// The name and its arguments, where all of them are literal.
    pub fn literal_words(&self) -> Option<Vec<&str>> {
        self.words
            .iter()
            .map(|word| word.literal.as_deref())
            .collect()
    }

    fn all_words(&self) -> impl Iterator<Item = &Word> {
        let values = self.assignments.iter().map(|one| &one.value);
        let targets = self.redirections.iter().map(|one| &one.target);
        values.chain(&self.words).chain(targets)
    }
}

impl Word {
    /// A word that stands for itself.
    fn plain(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            literal: Some(source.to_owned()),
            ..Self::default()
        }
    }

    fn collect<'s>(&'s self, found: &mut Vec<&'s SimpleCommand>) {
        for script in &self.substitutions {
            script.collect(found);
        }
    }
}

#[cfg(test)]
mod tests;
