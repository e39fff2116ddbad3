//! Showing one session to the client: its updates in order, its commands' output as it comes.

use std::pin::Pin;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{SessionId, SessionNotification, SessionUpdate};
use agent_client_protocol::{Client, Error};
use agent_core::agent::Loading;
use agent_core::session::event::Decision;
use agent_core::session::history::History;
use agent_core::session::update::{PermissionRequest, TerminalState, Update, Updates};
use agent_core::shell::terminal::TerminalOutput;
use agent_core::tool::presentation::{CallPresentation, ResultPresentation};
use futures::future::select_all;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::message::{self, Dialect, Stage};
use crate::wire::UnderWay;
use crate::{extension, failure};

/// JSON-RPC's code for a request that the other side gave up.
const REQUEST_CANCELLED: i32 = -32800;

/// One session's way to the client.
#[derive(Debug, Clone)]
pub(crate) struct Viewer {
    pub(crate) session: SessionId,
    pub(crate) dialect: Dialect,
    pub(crate) client: ConnectionTo<Client>,
    pub(crate) under_way: UnderWay,
}

/// What there is to show of a session from now on.
#[derive(Debug)]
pub(crate) struct Live {
    updates: Updates,
    open: Vec<OpenCall>,
}

/// A session that is being shown. Dropping it ends that.
#[derive(Debug)]
pub(crate) struct Showing {
    pause: CancellationToken,
    task: AbortOnDropHandle<Option<Live>>,
}

/// The past of a session, while it is opened or when it is open already.
#[derive(Debug)]
pub(crate) enum Past {
    Loading(Box<Loading>),
    Live(Box<History>),
}

/// A call that was announced and is not over, or whose command goes on in the background.
#[derive(Debug)]
struct OpenCall {
    call_id: String,
    presentation: Box<CallPresentation>,
    stage: Stage,
    /// Whether its command waits for input, where the client was told.
    state: Option<TerminalState>,
    /// The output of its card, while there may be more.
    output: Option<TerminalOutput>,
}

/// How the end of a call, or of its command, is put.
type EndMessage = fn(Dialect, &str, &CallPresentation, &ResultPresentation) -> SessionUpdate;

enum Next {
    Pause,
    Update(Update),
    Output {
        call_id: String,
        data: Option<String>,
    },
}

impl Live {
    /// Of a session that was just opened.
    pub(crate) fn new(updates: Updates) -> Self {
        Self {
            updates,
            open: Vec::new(),
        }
    }

    /// Goes on where its past, which was told again, has ended: calls that have ended there are over, and commands that
    /// still run are shown from the beginning of their output.
    pub(crate) fn behind(&mut self, past: &[String]) {
        self.open.retain(|call| past.contains(&call.call_id));
        for call in &mut self.open {
            if let Some(terminal) = &call.presentation.terminal {
                terminal.output.rewind();
                call.output = Some(terminal.output.clone());
            }
        }
    }
}

impl Showing {
    /// Stops between two messages and gives back what was not shown; none when the client is gone.
    pub(crate) async fn pause(self) -> Option<Live> {
        self.pause.cancel();
        self.task.await.ok().flatten()
    }
}

impl Past {
    async fn next(&mut self) -> Result<Option<Update>, Error> {
        match self {
            Self::Loading(loading) => {
                let next = loading.next().await;
                next.map_err(|error| failure::opening(&error))
            }
            Self::Live(history) => {
                let next = history.next().await;
                next.map_err(|error| failure::store(&error))
            }
        }
    }
}

impl Viewer {
    /// Shows whatever comes, in a task of its own.
    pub(crate) fn begin(self, live: Live) -> Showing {
        let pause = CancellationToken::new();
        let paused = pause.clone();
        let task = tokio::spawn(async move { self.show(live, paused).await });
        Showing {
            pause,
            task: AbortOnDropHandle::new(task),
        }
    }

    /// Shows whatever comes until it is paused. None when the client is gone: the connection's end closes the session.
    async fn show(self, mut live: Live, pause: CancellationToken) -> Option<Live> {
        loop {
            let next = tokio::select! {
                biased;
                () = pause.cancelled() => Next::Pause,
                next = self.next(&mut live) => next,
            };
            match next {
                Next::Pause => return Some(live),
                Next::Update(update) => self.show_update(update, &mut live.open).await,
                Next::Output {
                    call_id,
                    data: Some(data),
                } => self.send_output(&call_id, &data),
                Next::Output {
                    call_id,
                    data: None,
                } => {
                    live.open
                        .iter_mut()
                        .filter(|call| call.call_id == call_id)
                        .for_each(|call| call.output = None);
                    Ok(())
                }
            }
            .ok()?;
        }
    }

    /// Dropping the future loses nothing.
    async fn next(&self, live: &mut Live) -> Next {
        // Before anything is fetched: what is not fetched is coalesced where it waits.
        self.under_way.room().await;
        tokio::select! {
            biased;
            update = live.updates.next() => Next::Update(update),
            next = next_output(&live.open) => next,
        }
    }

    /// Tells what has happened, and gives the calls whose commands still run. Its calls are its own: what was interrupted back
    /// then leaves nothing behind in what is live.
    pub(crate) async fn replay(&self, past: &mut Past) -> Result<Vec<String>, Error> {
        let mut open = Vec::new();
        loop {
            self.under_way.room().await;
            let Some(update) = past.next().await? else {
                return Ok(open
                    .into_iter()
                    .map(|call: OpenCall| call.call_id)
                    .collect());
            };
            self.show_update(update, &mut open).await?;
        }
    }

    /// Announces every call again whose command runs (rule W8).
    pub(crate) fn announce(&self, live: &Live) -> Result<(), Error> {
        for call in &live.open {
            self.send(message::call(
                self.dialect,
                &call.call_id,
                &call.presentation,
                call.stage,
            ))?;
            if let Some(state) = call.state {
                self.send_state(&call.call_id, state)?;
            }
        }
        Ok(())
    }

    async fn show_update(&self, update: Update, open: &mut Vec<OpenCall>) -> Result<(), Error> {
        match update {
            Update::User(text) => self.send(message::user(text)),
            Update::Title(title) => self.send(message::title(title)),
            Update::Text(text) => self.send(message::text(text)),
            Update::Reasoning(text) => self.send(message::reasoning(text)),
            Update::Call {
                call_id,
                presentation,
            } => {
                let stage = Stage::Pending;
                let message = message::call(self.dialect, &call_id, &presentation, stage);
                let output = presentation
                    .terminal
                    .as_ref()
                    .filter(|_| self.dialect.draws_card(&presentation))
                    .map(|terminal| terminal.output.clone());
                open.push(OpenCall {
                    call_id,
                    presentation,
                    stage,
                    state: None,
                    output,
                });
                self.send(message)
            }
            Update::Permission(request) => {
                self.ask(request);
                Ok(())
            }
            Update::CallStarted { call_id } => {
                if let Some(call) = find(open, &call_id) {
                    call.stage = Stage::Running;
                }
                self.send(message::call_started(&call_id))
            }
            Update::TerminalState { call_id, state } => self.tell_state(&call_id, state, open),
            Update::CallEnded {
                call_id,
                presentation,
            } if presentation.goes_on => match find(open, &call_id) {
                // Its output goes on being pulled, also outside turns.
                Some(call) => {
                    call.stage = Stage::InBackground;
                    self.send(message::call_ended(
                        self.dialect,
                        &call_id,
                        &call.presentation,
                        &presentation,
                    ))
                }
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
    ) -> Result<(), Error> {
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
        open: &mut [OpenCall],
    ) -> Result<(), Error> {
        let Some(call) = find(open, call_id) else {
            return Ok(());
        };
        if !self.dialect.hears_states || !self.dialect.draws_card(&call.presentation) {
            return Ok(());
        }
        call.state = Some(state);
        self.send_state(call_id, state)
    }

    fn send_state(&self, call_id: &str, state: TerminalState) -> Result<(), Error> {
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

    fn send_output(&self, call_id: &str, data: &str) -> Result<(), Error> {
        match message::output(self.dialect, call_id, data) {
            Some(message) => self.send(message),
            None => Ok(()),
        }
    }

    fn send(&self, update: SessionUpdate) -> Result<(), Error> {
        self.under_way.add();
        self.client
            .send_notification(SessionNotification::new(self.session.clone(), update))
    }
}

fn find<'o>(open: &'o mut [OpenCall], call_id: &str) -> Option<&'o mut OpenCall> {
    open.iter_mut().find(|call| call.call_id == call_id)
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
