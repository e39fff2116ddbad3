//! Prompts, their cancel, and what is done to one running command.

use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{CancelNotification, PromptRequest, PromptResponse};
use agent_client_protocol::{Error, ErrorCode};
use agent_core::session::live::{EndedTurn, Session, TurnSlot};
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

use crate::extension::{self, Act, TerminalRequest};
use crate::sessions::Sessions;
use crate::{prompt, stop};

/// A prompt that was taken.
struct Taken {
    session: Session,
    prompts: TaskTracker,
    slot: TurnSlot,
    text: String,
}

impl Sessions {
    /// Takes the prompt before the next message is read, so that a cancel right behind it is this turn's.
    pub(crate) fn prompt(
        &self,
        request: &PromptRequest,
        responder: Responder<PromptResponse>,
    ) -> Result<(), Error> {
        match self.take(request) {
            Ok(taken) => {
                let prompts = taken.prompts.clone();
                prompts.spawn(answer(taken, responder));
                Ok(())
            }
            Err(error) => responder.respond_with_error(error),
        }
    }

    fn take(&self, request: &PromptRequest) -> Result<Taken, Error> {
        let (session, prompts) = self.prompted(&request.session_id)?;
        let text = prompt::text(&request.prompt)
            .map_err(|message| Error::new(ErrorCode::INVALID_PARAMS, message))?;
        let slot = session
            .begin_turn()
            .map_err(|error| Error::new(ErrorCode::INVALID_REQUEST, error.to_string()))?;
        Ok(Taken {
            session,
            prompts,
            slot,
            text,
        })
    }

    pub(crate) fn cancel(&self, notification: &CancelNotification) {
        if let Ok(session) = self.session(&notification.session_id) {
            session.cancel();
        } else {
            tracing::debug!("a cancel for a session that is not open was ignored");
        }
    }

    /// Types into one running command, or stops it; its turn goes on.
    pub(crate) fn act(&self, request: &TerminalRequest) -> Result<Value, Error> {
        let (session, call_id, act) = request.read()?;
        let session = self.session(&session)?;
        match act {
            Act::Type(input) => session.type_into(&call_id, &input),
            Act::Stop => session.stop_command(&call_id),
        }
        .map(|()| json!({}))
        .map_err(|error| extension::refusal(&error))
    }
}

async fn answer(taken: Taken, responder: Responder<PromptResponse>) {
    let Taken {
        session,
        slot,
        text,
        ..
    } = taken;
    let withdrawn = responder.cancellation();
    let turn = slot.run(text);
    tokio::pin!(turn);
    let EndedTurn { end, slot } = tokio::select! {
        ended = &mut turn => ended,
        () = withdrawn.cancelled() => {
            session.cancel();
            turn.await
        }
    };
    // Nothing of a turn follows its answer.
    session.shown().await;
    let answer = match stop::stop_reason(end.reason) {
        Some(reason) => Ok(PromptResponse::new(reason)),
        None => Err(Error::new(
            ErrorCode::INTERNAL_ERROR,
            end.error.unwrap_or_else(|| "the turn failed".to_owned()),
        )),
    };
    // In this order: a client may send its next prompt the moment it has the answer.
    drop(slot);
    if responder.respond_with_result(answer).is_err() {
        tracing::debug!("the client was gone before its prompt was answered");
    }
}
