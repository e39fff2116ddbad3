//! The calls of a step: announced together, run one after the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures::FutureExt as _;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::step::Call;
use super::{Break, append, background, save_unless_cancelled};
use crate::model::{Model, ToolArgs};
use crate::session::event::{Decision, EventKind};
use crate::session::live::Inner;
use crate::session::shown::ShownResult;
use crate::session::update::{PermissionRequest, Update};
use crate::shell::terminal::TerminalOutput;
use crate::store::Blob;
use crate::tool::presentation::{CallPresentation, ResultPresentation};
use crate::tool::{Tool, ToolContext, ToolOutcome, bash, exit_marker};

/// Runs every call in order. After a cancel the remaining ones are answered as broken off by the turn's end.
pub(super) async fn run_all(
    session: &Arc<Inner>,
    model: &dyn Model,
    calls: Vec<Call>,
    cancel: &CancellationToken,
) -> Result<(), Break> {
    for call in &calls {
        session.updates.send(Update::Call {
            call_id: call.id.clone(),
            presentation: Box::new(call.presentation.clone()),
        });
    }
    for call in calls {
        if cancel.is_cancelled() {
            return Err(Break::Cancelled);
        }
        let terminal = call.presentation.terminal.as_ref();
        let terminal = terminal.map_or_else(
            || session.terminal(&call.id),
            |terminal| terminal.output.clone(),
        );
        let outcome = answer(session, model, &call, &terminal, cancel).await?;
        finish(session, &call, &terminal, outcome, cancel).await?;
    }
    if cancel.is_cancelled() {
        Err(Break::Cancelled)
    } else {
        Ok(())
    }
}

/// How a call is shown; the plain looks when its presenter fails.
pub(super) fn present(
    session: &Inner,
    call_id: &str,
    name: &str,
    args: &ToolArgs,
) -> CallPresentation {
    let arguments = match args {
        ToolArgs::Json(value) => value.clone(),
        ToolArgs::Malformed(text) => Value::String(text.clone()),
    };
    let Some(tool) = session.toolbox.find(name) else {
        return CallPresentation::plain(name, arguments);
    };
    let presented = catch_unwind(AssertUnwindSafe(|| {
        tool.present(&arguments, &session.place)
    }));
    let presented = presented.map(|mut presentation| {
        if let Some(terminal) = &mut presentation.terminal {
            terminal.output = session.terminal(call_id);
        }
        presentation
    });
    presented.unwrap_or_else(|_| {
        tracing::error!(
            tool = name,
            "the presenter of a tool panicked; its call is shown plainly"
        );
        CallPresentation::plain(name, arguments)
    })
}

/// Permission where it is needed, then the tool.
async fn answer(
    session: &Inner,
    model: &dyn Model,
    call: &Call,
    terminal: &TerminalOutput,
    cancel: &CancellationToken,
) -> Result<ToolOutcome, Break> {
    let args = match &call.args {
        ToolArgs::Json(args) => args,
        ToolArgs::Malformed(text) => return Ok(malformed(&call.name, text)),
    };
    let Some(tool) = session.toolbox.find(&call.name) else {
        return Ok(ToolOutcome::failed(format!(
            "There is no tool {:?}; there are: {}.",
            call.name,
            session.toolbox.names()
        )));
    };
    let mut permitted = !model.asks_permission();
    let asks_anyway = tool.asks_anyway(args, &session.place);
    if asks_anyway || (!permitted && tool.needs_permission(args, &session.place)) {
        let decision = ask(session, call, cancel).await;
        append(
            session,
            [EventKind::PermissionDecision {
                call_id: call.id.clone(),
                decision,
            }],
        )
        .await;
        match decision {
            Decision::AllowOnce => permitted = true,
            Decision::RejectOnce => return Ok(refused(&call.name)),
            Decision::Cancelled => return Err(Break::Cancelled),
        }
    }
    tracing::debug!(session = %session.id, call = call.id, tool = call.name, "a call begins");
    session.updates.send(Update::CallStarted {
        call_id: call.id.clone(),
    });
    let running = run(
        session,
        tool.as_ref(),
        call,
        args,
        permitted,
        terminal,
        cancel,
    );
    Ok(running.await)
}

/// Puts the question and waits for as long as it takes; a cancel withdraws it.
async fn ask(session: &Inner, call: &Call, cancel: &CancellationToken) -> Decision {
    let (answer, answered) = oneshot::channel();
    session.updates.send(Update::Permission(PermissionRequest {
        call_id: call.id.clone(),
        presentation: Box::new(call.presentation.clone()),
        answer,
    }));
    tokio::select! {
        biased;
        () = cancel.cancelled() => Decision::Cancelled,
        // Dropped without an answer: whoever was to ask is gone.
        decision = answered => decision.unwrap_or(Decision::Cancelled),
    }
}

async fn run(
    session: &Inner,
    tool: &dyn Tool,
    call: &Call,
    args: &Value,
    permitted: bool,
    terminal: &TerminalOutput,
    cancel: &CancellationToken,
) -> ToolOutcome {
    let context = ToolContext {
        place: &session.place,
        permitted,
        terminal: terminal.clone(),
        cancel,
        call_id: &call.id,
        commands: &session.commands,
        front: session.front,
    };
    let outcome = AssertUnwindSafe(tool.run(args, context))
        .catch_unwind()
        .await;
    let outcome = outcome.unwrap_or_else(|_| {
        ToolOutcome::failed("The tool stumbled over this call; try it another way.")
    });
    if outcome.goes_on.is_none() {
        // A tool that failed early, or stumbled, must not leave its viewer waiting for more.
        terminal.finish();
    }
    outcome
}

/// The result is in the log before the person hears of it, and durable before the model does.
async fn finish(
    session: &Arc<Inner>,
    call: &Call,
    terminal: &TerminalOutput,
    outcome: ToolOutcome,
    cancel: &CancellationToken,
) -> Result<(), Break> {
    tracing::debug!(session = %session.id, call = call.id, exit = ?outcome.exit, is_error = outcome.is_error, "a call ends");
    let ToolOutcome {
        content,
        is_error,
        exit,
        presentation,
        goes_on,
    } = outcome;
    let call_id = call.id.clone();
    // From now on its output is taken in; its end is told after that of the call.
    let told = goes_on.map(|goes_on| background::watch(session, &call_id, terminal, goes_on));
    let printed = exit.is_some().then(|| printed(terminal)).flatten();
    let (shown, picture) = ShownResult::of(
        &presentation,
        printed.as_ref().map(|(_, words)| words.as_str()),
    );
    // Neither a marker nor the model has reason to name the file.
    let said_all = printed
        .as_ref()
        .is_some_and(|(output, words)| output.bytes().len().max(words.len()) <= bash::MODEL_TEXT);
    let output = printed.map(|(output, _)| output);
    let exit = exit.map(|exit| EventKind::TerminalExit {
        call_id: call_id.clone(),
        exit,
        circumstances: presentation.circumstances,
        output_ref: output.as_ref().map(|output| output.id().to_string()),
    });
    let result = EventKind::ToolResult {
        call_id: call_id.clone(),
        content,
        is_error,
        output_ref: None,
        shown: Some(Box::new(shown)),
    };
    {
        let mut log = session.log.lock().await;
        [output, picture]
            .into_iter()
            .flatten()
            .for_each(|blob| log.keep(blob));
        for kind in exit.into_iter().chain([result]) {
            log.append(kind, (session.clock)());
        }
    }
    let saved = save_unless_cancelled(session, cancel).await;
    if saved.is_ok() && said_all {
        terminal.forget_spill();
    }
    session.updates.send(Update::CallEnded {
        call_id,
        presentation: Box::new(presentation),
    });
    if let Some(told) = told {
        // The watcher is gone only with the runtime.
        let _ = told.send(());
    }
    saved
}

/// What a command has printed, as kept for its card and as plain text; none where it printed nothing.
fn printed(terminal: &TerminalOutput) -> Option<(Blob, String)> {
    let kept = terminal.kept_text();
    (!kept.is_empty()).then(|| (Blob::new(kept.into_bytes()), terminal.plain_text()))
}

fn malformed(tool: &str, text: &str) -> ToolOutcome {
    ToolOutcome::failed(format!(
        "The arguments of {tool} are not a JSON object, so nothing was run. They came as {} bytes of text; send the call again, whole.",
        text.len()
    ))
}

fn refused(tool: &str) -> ToolOutcome {
    const REFUSED: &str =
        "The user refused this call; nothing was run. Ask what they would rather have.";
    if tool == bash::NAME {
        return bash::not_run(REFUSED);
    }
    ToolOutcome {
        content: exit_marker::append(REFUSED, &exit_marker::ExitMarker::NotRun),
        is_error: true,
        exit: None,
        presentation: ResultPresentation::failed(REFUSED),
        goes_on: None,
    }
}
