//! Showing one session to the client: its updates in order, its commands' output as it comes.

use std::pin::Pin;

use agent_client_protocol::Client;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{SessionId, SessionNotification, SessionUpdate};
use agent_core::session::event::Decision;
use agent_core::session::update::{PermissionRequest, TerminalState, Update, Updates};
use agent_core::shell::terminal::TerminalOutput;
use agent_core::tool::presentation::{CallPresentation, ResultPresentation};
use futures::future::select_all;

use crate::extension;
use crate::message::{self, Dialect};
use crate::wire::UnderWay;

/// JSON-RPC's code for a request that the other side gave up.
const REQUEST_CANCELLED: i32 = -32800;

/// One session's way to the client.
#[derive(Debug)]
pub(crate) struct Viewer {
    pub(crate) session: SessionId,
    pub(crate) dialect: Dialect,
    pub(crate) client: ConnectionTo<Client>,
    pub(crate) under_way: UnderWay,
}

/// A call that was announced and is not over, or whose command goes on in the background.
#[derive(Debug)]
struct OpenCall {
    call_id: String,
    presentation: Box<CallPresentation>,
    /// The output of its card, while there may be more.
    output: Option<TerminalOutput>,
}

/// How the end of a call, or of its command, is put.
type EndMessage = fn(Dialect, &str, &CallPresentation, &ResultPresentation) -> SessionUpdate;

enum Next {
    Update(Update),
    Output {
        call_id: String,
        data: Option<String>,
    },
}

impl Viewer {
    /// Shows whatever comes, until the client is gone or the session's updates are no longer wanted (the task is aborted).
    pub(crate) async fn show(self, mut updates: Updates) {
        let mut open: Vec<OpenCall> = Vec::new();
        loop {
            // Before anything is fetched: what is not fetched is coalesced where it waits.
            self.under_way.room().await;
            let next = tokio::select! {
                biased;
                update = updates.next() => Next::Update(update),
                next = next_output(&open) => next,
            };
            let sent = match next {
                Next::Update(update) => self.show_update(update, &mut open).await,
                Next::Output {
                    call_id,
                    data: Some(data),
                } => self.send_output(&call_id, &data),
                Next::Output {
                    call_id,
                    data: None,
                } => {
                    open.iter_mut()
                        .filter(|call| call.call_id == call_id)
                        .for_each(|call| call.output = None);
                    Ok(())
                }
            };
            if sent.is_err() {
                // The client is gone. The connection's end closes the session.
                return;
            }
        }
    }

    async fn show_update(
        &self,
        update: Update,
        open: &mut Vec<OpenCall>,
    ) -> Result<(), agent_client_protocol::Error> {
        match update {
            Update::User(text) => self.send(message::user(text)),
            Update::Title(title) => self.send(message::title(title)),
            Update::Text(text) => self.send(message::text(text)),
            Update::Reasoning(text) => self.send(message::reasoning(text)),
            Update::Call {
                call_id,
                presentation,
            } => {
                let message = message::call(self.dialect, &call_id, &presentation);
                let output = presentation
                    .terminal
                    .as_ref()
                    .filter(|_| self.dialect.draws_card(&presentation))
                    .map(|terminal| terminal.output.clone());
                open.push(OpenCall {
                    call_id,
                    presentation,
                    output,
                });
                self.send(message)
            }
            Update::Permission(request) => {
                self.ask(request);
                Ok(())
            }
            Update::CallStarted { call_id } => self.send(message::call_started(&call_id)),
            Update::TerminalState { call_id, state } => self.tell_state(&call_id, state, open),
            Update::CallEnded {
                call_id,
                presentation,
            } if presentation.goes_on => match open.iter().find(|call| call.call_id == call_id) {
                // Its output goes on being pulled, also outside turns.
                Some(call) => self.send(message::call_ended(
                    self.dialect,
                    &call_id,
                    &call.presentation,
                    &presentation,
                )),
                None => Ok(()),
            },
            Update::CallEnded {
                call_id,
                presentation,
            } => {
                self.end(&call_id, &presentation, message::call_ended, open)
                    .await
            }
            Update::TerminalEnded {
                call_id,
                presentation,
            } => {
                self.end(&call_id, &presentation, message::terminal_ended, open)
                    .await
            }
            Update::Shown(shown) => {
                // Nobody waits any more when the turn's client is gone.
                let _ = shown.send(());
                Ok(())
            }
        }
    }

    /// All output, then the message of the end (rule W7), once: the call is forgotten.
    async fn end(
        &self,
        call_id: &str,
        result: &ResultPresentation,
        message: EndMessage,
        open: &mut Vec<OpenCall>,
    ) -> Result<(), agent_client_protocol::Error> {
        let Some(at) = open.iter().position(|call| call.call_id == call_id) else {
            return Ok(());
        };
        let call = open.swap_remove(at);
        if let Some(output) = &call.output {
            // A command that never ran has an output that nobody finished.
            output.finish();
            while let Some(data) = output.next().await {
                self.send_output(call_id, &data)?;
                self.under_way.room().await;
            }
        }
        self.send(message(self.dialect, call_id, &call.presentation, result))
    }

    /// To a client that asked for it, and only of a card that is open.
    fn tell_state(
        &self,
        call_id: &str,
        state: TerminalState,
        open: &[OpenCall],
    ) -> Result<(), agent_client_protocol::Error> {
        let is_card = |call: &OpenCall| {
            call.call_id == call_id && self.dialect.draws_card(&call.presentation)
        };
        if !self.dialect.hears_states || !open.iter().any(is_card) {
            return Ok(());
        }
        let told = extension::state(&self.session, call_id, state)?;
        self.under_way.add();
        self.client.send_notification(told)
    }

    /// Puts the question and lets the answer come when it comes. When the turn no longer wants it, it is withdrawn.
    fn ask(&self, request: PermissionRequest) {
        let PermissionRequest {
            call_id,
            presentation,
            mut answer,
        } = request;
        let question = message::permission(self.session.clone(), &call_id, &presentation);
        let sent = self.client.send_request(question);
        tokio::spawn(async move {
            let decision = tokio::select! {
                // Dropping the request tells the client that it is withdrawn.
                () = answer.closed() => return,
                response = sent.block_task() => match response {
                    Ok(response) => message::decision(&response.outcome),
                    Err(error) if i32::from(error.code) == REQUEST_CANCELLED => Decision::Cancelled,
                    Err(error) => {
                        tracing::warn!(code = %error.code, "the client cannot ask for permission; the call is refused");
                        Decision::RejectOnce
                    }
                },
            };
            // The turn may have ended in this very moment.
            let _ = answer.send(decision);
        });
    }

    fn send_output(&self, call_id: &str, data: &str) -> Result<(), agent_client_protocol::Error> {
        match message::output(self.dialect, call_id, data) {
            Some(message) => self.send(message),
            None => Ok(()),
        }
    }

    fn send(&self, update: SessionUpdate) -> Result<(), agent_client_protocol::Error> {
        self.under_way.add();
        self.client
            .send_notification(SessionNotification::new(self.session.clone(), update))
    }
}

/// The next output of any card.
async fn next_output(open: &[OpenCall]) -> Next {
    let waiting: Vec<Pin<Box<dyn Future<Output = Next> + Send + '_>>> = open
        .iter()
        .filter_map(|call| {
            let output = call.output.as_ref()?;
            let next: Pin<Box<dyn Future<Output = Next> + Send + '_>> = Box::pin(async move {
                Next::Output {
                    call_id: call.call_id.clone(),
                    data: output.next().await,
                }
            });
            Some(next)
        })
        .collect();
    if waiting.is_empty() {
        return std::future::pending().await;
    }
    select_all(waiting).await.0
}

#[cfg(test)]
mod tests;
