//! A turn: prompt, answers of the model, calls of tools, until the model has nothing more to do.

mod answer;
mod background;
mod call;
mod instructions;
mod step;
mod title;
pub mod transcript;

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::session::event::{EventKind, Trigger, TurnEndReason};
use crate::session::live::Inner;
use crate::session::standing::{self, BrokenOff};
use crate::session::update::Update;
use crate::store::StoreError;
use crate::tool::presentation::ResultPresentation;

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEnd {
    /// Why.
    pub reason: TurnEndReason,
    /// What failed and what to do, when the reason is an error.
    pub error: Option<String>,
}

impl TurnEnd {
    pub(crate) fn failed(message: String) -> Self {
        Self {
            reason: TurnEndReason::Error,
            error: Some(message),
        }
    }
}

/// What breaks a turn off.
#[derive(Debug)]
enum Break {
    /// The person or the end of the session.
    Cancelled,
    /// A fault, in words that say what to do.
    Fault(String),
}

impl From<StoreError> for Break {
    fn from(error: StoreError) -> Self {
        Self::Fault(error.to_string())
    }
}

/// How long a turn that was cancelled waits for the store.
const PATIENCE_AFTER_CANCEL: Duration = Duration::from_millis(200);

/// What a call that was broken off leaves as its result, so that the model knows and providers accept the transcript.
const BROKEN_OFF: &str = "This call was broken off before it had a result.";

/// Runs a turn. Whatever happens in it, the log is balanced afterwards.
pub(crate) async fn run(
    session: &Arc<Inner>,
    prompt: String,
    cancel: &CancellationToken,
) -> TurnEnd {
    tracing::debug!(session = %session.id, "a turn begins");
    let first = session.log.lock().await.standing().prompts == 0;
    let asked = first.then(|| prompt.clone());
    let result = steps(session, prompt, cancel).await;
    let mut end = match result {
        Ok(reason) => TurnEnd {
            reason,
            error: None,
        },
        Err(Break::Cancelled) if session.closed.is_cancelled() => TurnEnd {
            reason: TurnEndReason::Disposed,
            error: None,
        },
        Err(Break::Cancelled) => TurnEnd {
            reason: TurnEndReason::Cancelled,
            error: None,
        },
        Err(Break::Fault(message)) => TurnEnd::failed(message),
    };
    tracing::debug!(session = %session.id, reason = ?end.reason, "a turn ends");
    close(session, &end).await;
    // Who has cancelled does not wait for a store that is busy; what is not saved now is saved with the next events.
    let withdrawn = matches!(
        end.reason,
        TurnEndReason::Cancelled | TurnEndReason::Disposed
    );
    let saved = if withdrawn {
        tokio::time::timeout(PATIENCE_AFTER_CANCEL, save(session))
            .await
            .unwrap_or(Ok(()))
    } else {
        save(session).await
    };
    if let Err(error) = saved {
        tracing::error!(session = %session.id, %error, "the end of a turn was not saved");
        // A cancel stays one. Else: a turn that looks saved but is not would be worse than its own outcome.
        if !withdrawn {
            end = TurnEnd::failed(end.error.unwrap_or_else(|| error.to_string()));
        }
    }
    if let Some(prompt) = asked.filter(|_| end.reason == TurnEndReason::Completed)
        && let Ok(model) = session.model().await
    {
        title::ask(session, model, &prompt);
    }
    end
}

/// Appends what balance owes, and tells whoever watches of calls that got no result.
async fn close(session: &Inner, end: &TurnEnd) {
    let mut log = session.log.lock().await;
    if let Some(message) = &end.error {
        log.append(
            EventKind::Error {
                message: message.clone(),
            },
            (session.clock)(),
        );
    }
    let closing = log
        .standing()
        .closing(end.reason, |_| BrokenOff::silent(BROKEN_OFF));
    for owed in closing {
        let broken_off = match &owed {
            EventKind::ToolResult { call_id, .. } => Some(call_id.clone()),
            _ => None,
        };
        log.append(owed, (session.clock)());
        if let Some(call_id) = broken_off {
            session.updates.send(Update::CallEnded {
                call_id,
                presentation: Box::new(ResultPresentation::failed(BROKEN_OFF)),
            });
        }
    }
}

async fn steps(
    session: &Arc<Inner>,
    prompt: String,
    cancel: &CancellationToken,
) -> Result<TurnEndReason, Break> {
    begin(session, prompt).await;
    save_unless_cancelled(session, cancel).await?;
    let model = session
        .model()
        .await
        .map_err(|error| Break::Fault(error.to_string()))?;
    let mut hit_token_limit = false;
    for _ in 0..session.config.max_steps {
        let outcome = step::run(session, model.as_ref(), cancel).await?;
        hit_token_limit |= outcome.hit_token_limit;
        if let Some(reason) = outcome.ends_turn {
            let limited = hit_token_limit && reason == TurnEndReason::Completed;
            return Ok(if limited {
                TurnEndReason::MaxTokens
            } else {
                reason
            });
        }
    }
    Ok(TurnEndReason::MaxSteps)
}

/// The beginning of a turn: who answers, where that has changed, what was asked, and the session's first title.
async fn begin(session: &Inner, prompt: String) {
    let mut log = session.log.lock().await;
    let now = (session.clock)();
    let model = session.config.model.to_string();
    if log.standing().model != model {
        log.append(
            EventKind::Config {
                option: standing::MODEL.to_owned(),
                value: model.into(),
            },
            now,
        );
    }
    log.append(
        EventKind::TurnStart {
            trigger: Trigger::Prompt,
        },
        now,
    );
    let title = (log.standing().title.is_none()).then(|| title::of_prompt(&prompt));
    log.append(EventKind::UserMessage { text: prompt }, now);
    if let Some(title) = title.flatten() {
        log.append(
            EventKind::Title {
                title: title.clone(),
            },
            now,
        );
        session.updates.send(Update::Title(title));
    }
}

/// Appends to the log in memory: before anybody hears of it.
async fn append(session: &Inner, kinds: impl IntoIterator<Item = EventKind>) {
    let mut log = session.log.lock().await;
    for kind in kinds {
        log.append(kind, (session.clock)());
    }
}

/// Makes durable what was appended.
async fn save(session: &Inner) -> Result<(), StoreError> {
    session.save().await
}

/// Makes durable what was appended; a cancel does not wait for a store that is busy.
async fn save_unless_cancelled(session: &Inner, cancel: &CancellationToken) -> Result<(), Break> {
    tokio::select! {
        // In this order, so that a turn cancelled before its first step never takes one.
        biased;
        () = cancel.cancelled() => Err(Break::Cancelled),
        saved = save(session) => saved.map_err(Break::from),
    }
}
