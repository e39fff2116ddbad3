//! A command that goes on when its call, and perhaps its turn, is over.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use tokio::sync::oneshot;

use super::save;
use crate::session::commands::CommandEnd;
use crate::session::event::EventKind;
use crate::session::live::Inner;
use crate::session::update::Update;
use crate::shell::exit::Exit;
use crate::shell::terminal::TerminalOutput;
use crate::store::Blob;
use crate::tool::presentation::{Circumstances, ResultPresentation};
use crate::tool::{BackgroundEnd, GoesOn};

/// Runs the command to its end, which is written and then told; not before the returned sender was used, since a card is
/// announced before it ends.
pub(super) fn watch(
    session: &Arc<Inner>,
    call_id: &str,
    terminal: &TerminalOutput,
    goes_on: GoesOn,
) -> oneshot::Sender<()> {
    let (told, call_told) = oneshot::channel();
    let task = run(
        Arc::clone(session),
        call_id.to_owned(),
        terminal.clone(),
        goes_on,
        call_told,
    );
    session.commands.tasks().spawn(task);
    told
}

async fn run(
    session: Arc<Inner>,
    call_id: String,
    terminal: TerminalOutput,
    goes_on: GoesOn,
    call_told: oneshot::Receiver<()>,
) {
    let ended = AssertUnwindSafe(goes_on.end).catch_unwind().await;
    let BackgroundEnd { exit, presentation } = ended.unwrap_or_else(|_| {
        if let Some(command) = session.commands.find(&call_id) {
            let end = CommandEnd {
                exit: Exit::Unknown,
                circumstances: Circumstances::default(),
            };
            session.commands.end(&command, end, None);
        }
        BackgroundEnd {
            exit: Exit::Unknown,
            presentation: ResultPresentation::failed("The program stumbled over this command."),
        }
    });
    tracing::debug!(session = %session.id, call = call_id, exit = ?exit, "a command in the background ends");
    // An error: its turn was broken off before the call was told. The end is told all the same.
    let _ = call_told.await;
    let kept = terminal.kept_text();
    let output = (!kept.is_empty()).then(|| Blob::new(kept.into_bytes()));
    let event = EventKind::TerminalExit {
        call_id: call_id.clone(),
        exit,
        circumstances: presentation.circumstances,
        output_ref: output.as_ref().map(|output| output.id().to_string()),
    };
    {
        let mut log = session.log.lock().await;
        if let Some(output) = output {
            log.keep(output);
        }
        log.append(event, (session.clock)());
    }
    if let Err(error) = save(&session).await {
        // It stays in the log in memory and is tried again with the next events.
        tracing::error!(session = %session.id, %error, "the end of a command in the background was not saved");
    }
    session.updates.send(Update::TerminalEnded {
        call_id,
        presentation: Box::new(presentation),
    });
}
