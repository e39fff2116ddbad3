//! The tools for commands that run in the background: read what they print, type into them, end them, list them.
//!
//! A command is named by the id of its call, which starting it told the model. Only commands of the same session can be named.

mod input;
mod kill;
mod list;
mod output;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use xterm_rs_bridge::{cut_text, plain_text};

pub use input::BashInput;
pub use kill::BashKill;
pub use list::BashList;
pub use output::BashOutput;

use super::ToolOutcome;
use super::exit_marker::{self, ExitMarker, MarkedCause, MarkedEnd};
use super::presentation::{CallPresentation, ToolCallKind};
use crate::session::commands::{Commands, SessionCommand};
use crate::shell::handle::CommandState;

/// How long a command must print nothing to have said what it had to say.
const QUIET: Duration = Duration::from_millis(150);

/// How long the end of a command may take to be noted. It takes no time; the limit keeps a call from waiting for what was lost.
const END_LIMIT: Duration = Duration::from_secs(5);

/// How much new output a model reads at once, in bytes of plain text.
const MOST_TEXT: usize = 32 * 1024;

/// The command that a call names.
fn named(commands: &Commands, id: &str) -> Result<Arc<SessionCommand>, String> {
    commands.find(id).ok_or_else(|| {
        let known: Vec<String> = commands
            .list()
            .iter()
            .map(|command| command.call_id.clone())
            .collect();
        let known = if known.is_empty() {
            "there is none at all".to_owned()
        } else {
            format!("there are: {}", known.join(", "))
        };
        format!("There is no command {id:?} in this session; {known}.")
    })
}

/// Waits until the command has printed something that nobody read and is quiet, waits for input, or has ended; at most until the
/// time is up or the call is cancelled. Of a command that is ending, the end is waited for, so that it is told with its exit.
async fn settle(command: &SessionCommand, wait: Duration, cancel: &CancellationToken) {
    let deadline = Instant::now() + wait;
    let first = async {
        tokio::select! {
            () = said_something(command) => {}
            () = stopped(command) => {}
            () = cancel.cancelled() => {}
        }
    };
    // The time being up is an answer like another.
    let _ = timeout_at(deadline, first).await;
    if command.handle.state() == CommandState::Over {
        let ended = timeout_at(Instant::now() + END_LIMIT, command.ended());
        tokio::select! {
            // It is noted right behind the state.
            _ = ended => {}
            () = cancel.cancelled() => {}
        }
    }
}

/// It has printed what nobody read, and is quiet again.
async fn said_something(command: &SessionCommand) {
    command.output.wait_for_more(command.read_to()).await;
    loop {
        let quiet = command.output.quiet_since();
        if quiet >= QUIET {
            return;
        }
        tokio::time::sleep(QUIET.saturating_sub(quiet)).await;
    }
}

/// It waits for input, or is over: nothing more will come by itself.
async fn stopped(command: &SessionCommand) {
    let mut states = command.handle.states();
    // The handle is held by the command, so its states do not end before it.
    let _ = states
        .wait_for(|state| *state != CommandState::Running)
        .await;
}

/// What the command has printed since the model read last, as plain text, and that it is read now. What is not held any more is
/// a marker line in it.
fn unread(command: &SessionCommand) -> String {
    let since = command.output.text_since(command.read_to());
    command.set_read_to(since.next);
    plain_text(&since.text)
}

/// Where the command stands, as the model's last line tells it.
fn marker(command: &SessionCommand, output_cut: bool) -> ExitMarker {
    match command.end() {
        None => ExitMarker::Running {
            waiting: command.handle.state() == CommandState::Waiting,
        },
        Some(end) => ExitMarker::Ended(MarkedEnd {
            cause: if end.circumstances.stopped {
                MarkedCause::Stopped
            } else {
                MarkedCause::Itself
            },
            exit: end.exit.clone(),
            was_waiting: false,
            left_running: command.left_running(),
            output_cut,
        }),
    }
}

/// What a call about a command answers: words, and where the command stands.
fn answer(command: &SessionCommand, text: &str) -> ToolOutcome {
    let (text, output_cut) = cut(text);
    let content = exit_marker::append(
        text.strip_suffix('\n').unwrap_or(&text),
        &marker(command, output_cut),
    );
    ToolOutcome::answered(content, text)
}

/// Text within what a model reads at once, and whether something was left out of its middle.
fn cut(text: &str) -> (String, bool) {
    let cut = cut_text(text, MOST_TEXT);
    let is_cut = cut.len() < text.len();
    (cut, is_cut)
}

/// How a call that is no command itself is shown.
fn call(title: String, arguments: &Value) -> CallPresentation {
    CallPresentation {
        kind: ToolCallKind::Other,
        title,
        ..CallPresentation::plain("", arguments.clone())
    }
}

/// The arguments of a tool, or what is wrong with them.
fn read<T: serde::de::DeserializeOwned>(tool: &str, args: &Value) -> Result<T, String> {
    serde_json::from_value(args.clone())
        .map_err(|error| format!("the arguments of {tool} are wrong: {error}"))
}
