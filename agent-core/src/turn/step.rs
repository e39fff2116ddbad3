//! One step: an answer of the model and the calls that it asks for.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{Break, answer, append, call, instructions, save_unless_cancelled};
use crate::model::{AssistantBlock, Model, ModelRequest, StopReason, ToolArgs};
use crate::session::event::{EventKind, TurnEndReason};
use crate::session::live::Inner;
use crate::session::shown::ShownCall;
use crate::tool::presentation::CallPresentation;

/// What a step came to.
#[derive(Debug)]
pub(super) struct StepOutcome {
    /// Set when the turn is over.
    pub(super) ends_turn: Option<TurnEndReason>,
    /// The answer ran into the token limit.
    pub(super) hit_token_limit: bool,
}

/// A call under the id that the session and its clients know it by.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) args: ToolArgs,
    pub(super) presentation: CallPresentation,
}

pub(super) async fn run(
    session: &Arc<Inner>,
    model: &dyn Model,
    cancel: &CancellationToken,
) -> Result<StepOutcome, Break> {
    append(session, [EventKind::StepStart]).await;
    let request = ModelRequest {
        system: instructions::system_prompt(&session.place),
        messages: {
            let store = session.store.get().await?;
            session.log.lock().await.messages(store.as_ref()).await?
        },
        tools: session.toolbox.schemas(),
    };
    let answer = answer::receive(session, model, request, cancel).await?;
    let hit_token_limit = answer.stop == StopReason::MaxTokens;
    if answer.blocks.is_empty() && answer.stop == StopReason::End {
        return Err(Break::Fault(format!(
            "{}: the answer is empty; send the prompt again or choose another model",
            model.name()
        )));
    }

    let calls = record(session, answer.blocks, answer.usage).await;
    // Durable before any command starts: after a crash it is known what may have run.
    save_unless_cancelled(session, cancel).await?;
    let called = !calls.is_empty();
    call::run_all(session, model, calls, cancel).await?;
    append(session, [EventKind::StepEnd]).await;
    save_unless_cancelled(session, cancel).await?;

    let ends_turn = match answer.stop {
        StopReason::Refusal => Some(TurnEndReason::Refusal),
        _ if !called => Some(TurnEndReason::Completed),
        _ => None,
    };
    Ok(StepOutcome {
        ends_turn,
        hit_token_limit,
    })
}

/// Appends the answer and a `tool/call` for each call in it. The ids are ours: a provider's may repeat.
async fn record(
    session: &Inner,
    blocks: Vec<AssistantBlock>,
    usage: Option<crate::model::Usage>,
) -> Vec<Call> {
    let mut log = session.log.lock().await;
    let mut calls: Vec<Call> = Vec::new();
    let mut events = Vec::new();
    for block in &blocks {
        if let AssistantBlock::ToolCall {
            provider_id,
            name,
            args,
        } = block
        {
            let call_id = log.standing().call_id(calls.len() as u64);
            let presentation = call::present(session, &call_id, name, args);
            events.push(EventKind::ToolCall {
                call_id: call_id.clone(),
                provider_id: provider_id.clone(),
                name: name.clone(),
                args: args.clone(),
                shown: Some(Box::new(ShownCall::of(&presentation))),
            });
            calls.push(Call {
                id: call_id,
                name: name.clone(),
                args: args.clone(),
                presentation,
            });
        }
    }
    let now = (session.clock)();
    log.append(EventKind::AssistantMessage { blocks }, now);
    if let Some(usage) = usage {
        log.append(EventKind::Usage { usage }, now);
    }
    for event in events {
        log.append(event, now);
    }
    calls
}
