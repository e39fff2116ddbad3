//! Receiving one answer of the model.

use std::panic::AssertUnwindSafe;

use futures::{FutureExt as _, StreamExt as _};
use tokio_util::sync::CancellationToken;

use super::{Break, append};
use crate::model::{AssistantBlock, Model, ModelAnswer, ModelEvent, ModelRequest};
use crate::session::event::EventKind;
use crate::session::live::Inner;
use crate::session::update::Update;

/// Streams the answer to whoever watches. What was said before a cancel or a fault is kept in the log.
pub(super) async fn receive(
    session: &Inner,
    model: &dyn Model,
    request: ModelRequest,
    cancel: &CancellationToken,
) -> Result<ModelAnswer, Break> {
    let mut said = String::new();
    let receiving = AssertUnwindSafe(async {
        let mut events = model.respond(request);
        while let Some(event) = events.next().await {
            match event.map_err(|error| Break::Fault(error.to_string()))? {
                ModelEvent::Text(text) => {
                    said.push_str(&text);
                    session.updates.send(Update::Text(text));
                }
                ModelEvent::Reasoning(text) => session.updates.send(Update::Reasoning(text)),
                ModelEvent::Done(answer) => return Ok(answer),
            }
        }
        Err(Break::Fault(format!(
            "{}: the answer broke off; send the prompt again",
            model.name()
        )))
    });
    let result = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Break::Cancelled),
        result = receiving.catch_unwind() => result.unwrap_or_else(|_| {
            Err(Break::Fault(format!("{}: the program stumbled over the answer; send the prompt again", model.name())))
        }),
    };
    if result.is_err() && !said.is_empty() {
        append(
            session,
            [EventKind::AssistantMessage {
                blocks: vec![AssistantBlock::Text { text: said }],
            }],
        )
        .await;
    }
    result
}
