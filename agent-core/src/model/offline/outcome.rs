//! What came of a command, as its result tells.

use crate::model::ToolResultMessage;
use crate::shell::exit::Exit;
use crate::tool::exit_marker::{self, ExitMarker, MarkedCause, MarkedEnd};

/// What came of a command, in a few plain words.
pub(super) fn outcome(result: &ToolResultMessage) -> String {
    match exit_marker::parse(&result.content) {
        Some((_, marker)) => words(&marker),
        // Only a call that never became a command has no marker; its content says why.
        None if result.is_error => {
            format!(
                "failed ({})",
                result
                    .content
                    .lines()
                    .next()
                    .unwrap_or("no reason given")
                    .trim()
            )
        }
        None => "done".to_owned(),
    }
}

/// Whether the call never became a command.
pub(super) fn is_not_run(result: &ToolResultMessage) -> bool {
    matches!(
        exit_marker::parse(&result.content),
        Some((_, ExitMarker::NotRun))
    )
}

fn words(marker: &ExitMarker) -> String {
    match marker {
        ExitMarker::NotRun => "not run".to_owned(),
        ExitMarker::Running { .. } => "goes on in the background".to_owned(),
        ExitMarker::Ended(end) => words_of_end(end),
    }
}

fn words_of_end(marked: &MarkedEnd) -> String {
    let end = match (marked.cause, &marked.exit) {
        (MarkedCause::Cancelled, _) => "cancelled".to_owned(),
        (MarkedCause::Stopped, _) => "stopped".to_owned(),
        (MarkedCause::TimedOut(seconds), _) => format!("stopped, because its {seconds} s were up"),
        (MarkedCause::Itself, Exit::Code(0)) => "ok".to_owned(),
        (MarkedCause::Itself, exit) => exit.to_string(),
    };
    match marked.left_running {
        0 => end,
        1 => format!("{end} (it left 1 process running)"),
        more => format!("{end} (it left {more} processes running)"),
    }
}
