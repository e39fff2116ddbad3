//! Precedence as the shell has it: the grammar sometimes hangs a pipe, a `!` or a redirection on more than it belongs to.

use super::{Command, ListOperator, Redirection, SimpleCommand, Word};

/// `left | right`. A pipe binds tighter than `&&`, and `!` is for the whole pipeline.
pub(super) fn pipe(left: Command, right: Command) -> Option<Command> {
    match (left, right) {
        (Command::List { first, rest }, right) => {
            on_last_of_list(*first, rest, |last| pipe(last, right))
        }
        (left, Command::List { first, rest }) => Some(Command::List {
            first: Box::new(pipe(left, *first)?),
            rest,
        }),
        (Command::Negated(left), right) => Some(Command::Negated(Box::new(pipe(*left, right)?))),
        // `a | ! b` is not what every shell reads.
        (_, Command::Negated(_)) => None,
        (left, right) => {
            let mut parts = into_parts(left);
            parts.extend(into_parts(right));
            Some(Command::Pipeline(parts))
        }
    }
}

fn into_parts(command: Command) -> Vec<Command> {
    match command {
        Command::Pipeline(parts) => parts,
        other => vec![other],
    }
}

/// `left && right` or `left || right`.
pub(super) fn join(left: Command, operator: ListOperator, right: Command) -> Command {
    let (first, mut rest) = match left {
        Command::List { first, rest } => (first, rest),
        other => (Box::new(other), Vec::new()),
    };
    match right {
        Command::List {
            first: next,
            rest: more,
        } => {
            rest.push((operator, *next));
            rest.extend(more);
        }
        other => rest.push((operator, other)),
    }
    Command::List { first, rest }
}

/// `! command`, which is for the first pipeline of a list.
pub(super) fn negate(command: Command) -> Command {
    match command {
        Command::List { first, rest } => Command::List {
            first: Box::new(negate(*first)),
            rest,
        },
        other => Command::Negated(Box::new(other)),
    }
}

/// Redirections behind a command, and words behind these: both belong to what stands last in it. `None` where that takes
/// no words.
pub(super) fn redirect(
    command: Command,
    redirections: Vec<Redirection>,
    words: Vec<Word>,
) -> Option<Command> {
    Some(match command {
        Command::Simple(mut simple) => {
            simple.redirections.extend(redirections);
            simple.words.extend(words);
            Command::Simple(simple)
        }
        Command::Compound(mut compound) => {
            if !words.is_empty() {
                return None;
            }
            compound.redirections.extend(redirections);
            Command::Compound(compound)
        }
        Command::Negated(inner) => {
            Command::Negated(Box::new(redirect(*inner, redirections, words)?))
        }
        Command::Pipeline(mut parts) => {
            let last = parts.pop()?;
            parts.push(redirect(last, redirections, words)?);
            Command::Pipeline(parts)
        }
        Command::List { first, rest } => {
            return on_last_of_list(*first, rest, |last| redirect(last, redirections, words));
        }
    })
}

/// A command of nothing, to which redirections are added.
pub(super) fn nothing() -> Command {
    Command::Simple(SimpleCommand::default())
}

fn on_last_of_list(
    first: Command,
    mut rest: Vec<(ListOperator, Command)>,
    change: impl FnOnce(Command) -> Option<Command>,
) -> Option<Command> {
    match rest.pop() {
        None => change(first),
        Some((operator, last)) => {
            rest.push((operator, change(last)?));
            Some(Command::List {
                first: Box::new(first),
                rest,
            })
        }
    }
}
