//! One client's connection: its requests, and the sessions that it opened.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, CancelNotification, Implementation, InitializeRequest, InitializeResponse,
    NewSessionRequest, NewSessionResponse, PromptCapabilities, PromptRequest, PromptResponse,
    SessionId,
};
use agent_client_protocol::{
    Client, Error, ErrorCode, Lines, on_receive_notification, on_receive_request,
};
use agent_core::Agent;
use agent_core::agent::{FrontAbilities, Opened, Registration};
use agent_core::session::live::{EndedTurn, Session};
use futures::Stream;
use serde_json::{Map, Value, json};
use terminal_card::Capability;
use tokio::task::JoinHandle;

use crate::extension::{self, Act, TerminalRequest};
use crate::message::Dialect;
use crate::show::Viewer;
use crate::wire::{Outbox, UnderWay};
use crate::{prompt, stop};

/// How long the end of a session waits for its client to take the last messages.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// The sessions of one connection. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Sessions {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    agent: Agent,
    under_way: UnderWay,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    dialect: Dialect,
    /// What its person can do beyond looking.
    front: FrontAbilities,
    open: HashMap<SessionId, OpenSession>,
}

#[derive(Debug)]
struct OpenSession {
    session: Session,
    viewer: JoinHandle<()>,
    _registration: Registration,
}

impl Sessions {
    pub(crate) fn new(agent: Agent, under_way: UnderWay) -> Self {
        let state = Mutex::new(State {
            dialect: Dialect::plain(),
            front: FrontAbilities::default(),
            open: HashMap::new(),
        });
        Self {
            shared: Arc::new(Shared {
                agent,
                under_way,
                state,
            }),
        }
    }

    /// Ends every session of the connection, in parallel, with all that their commands started. A client that still reads
    /// is told of every end.
    pub(crate) async fn close_all(&self) {
        let open: Vec<OpenSession> = self.state().open.drain().map(|(_, open)| open).collect();
        futures::future::join_all(open.into_iter().map(|open| async move {
            open.session.close().await;
            if tokio::time::timeout(LAST_WORDS, open.session.shown())
                .await
                .is_err()
            {
                tracing::debug!("the client did not take the ends of its commands");
            }
            open.viewer.abort();
        }))
        .await;
    }

    /// Remembers what the client can draw and do, for the whole connection (rule W1).
    fn initialize(&self, request: &InitializeRequest) -> InitializeResponse {
        let (dialect, front) = understand(request);
        {
            let mut state = self.state();
            state.dialect = dialect;
            state.front = front;
        }
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_info(
                Implementation::new("placard", env!("CARGO_PKG_VERSION"))
                    .title("Placard".to_owned()),
            )
            .agent_capabilities(
                AgentCapabilities::new()
                    .prompt_capabilities(PromptCapabilities::new().embedded_context(true))
                    .meta(extension::offered()),
            )
    }

    fn new_session(
        &self,
        request: &NewSessionRequest,
        client: &ConnectionTo<Client>,
    ) -> Result<NewSessionResponse, Error> {
        let front = self.state().front;
        let Opened {
            session,
            updates,
            registration,
        } = self
            .shared
            .agent
            .open_session(&request.cwd, &request.additional_directories, front)
            .map_err(|error| Error::new(ErrorCode::INVALID_PARAMS, error.to_string()))?;
        if !request.mcp_servers.is_empty() {
            tracing::warn!(
                count = request.mcp_servers.len(),
                "MCP servers are not started by this version"
            );
        }
        let id = SessionId::new(session.id().as_str());
        let model = session.model_name();
        let mut state = self.state();
        let viewer = Viewer {
            session: id.clone(),
            dialect: state.dialect,
            client: client.clone(),
            under_way: self.shared.under_way.clone(),
        };
        let viewer = tokio::spawn(viewer.show(updates));
        state.open.insert(
            id.clone(),
            OpenSession {
                session,
                viewer,
                _registration: registration,
            },
        );
        Ok(NewSessionResponse::new(id).meta(model_meta(&model)))
    }

    /// Takes the prompt before the next message is read, so that a cancel right behind it is this turn's.
    fn prompt(
        &self,
        request: &PromptRequest,
        responder: Responder<PromptResponse>,
    ) -> Result<(), Error> {
        let taken = self.session(&request.session_id).and_then(|session| {
            let text = prompt::text(&request.prompt)
                .map_err(|message| Error::new(ErrorCode::INVALID_PARAMS, message))?;
            let slot = session
                .begin_turn()
                .map_err(|error| Error::new(ErrorCode::INVALID_REQUEST, error.to_string()))?;
            Ok((session, slot, text))
        });
        let (session, slot, text) = match taken {
            Ok(taken) => taken,
            Err(error) => return responder.respond_with_error(error),
        };
        tokio::spawn(async move {
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
        });
        Ok(())
    }

    fn cancel(&self, notification: &CancelNotification) {
        if let Ok(session) = self.session(&notification.session_id) {
            session.cancel();
        } else {
            tracing::debug!("a cancel for a session that is not open was ignored");
        }
    }

    /// Types into one running command, or stops it; its turn goes on.
    fn act(&self, request: &TerminalRequest) -> Result<Value, Error> {
        let (session, call_id, act) = request.read()?;
        let session = self.session(&session)?;
        match act {
            Act::Type(input) => session.type_into(&call_id, &input),
            Act::Stop => session.stop_command(&call_id),
        }
        .map(|()| json!({}))
        .map_err(|error| extension::refusal(&error))
    }

    fn session(&self, id: &SessionId) -> Result<Session, Error> {
        self.state()
            .open
            .get(id)
            .map(|open| open.session.clone())
            .ok_or_else(|| {
                let message =
                    "there is no such session on this connection; start one with session/new";
                Error::new(ErrorCode::RESOURCE_NOT_FOUND, message)
            })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves the client until its side is closed.
pub(crate) async fn run(
    sessions: Sessions,
    outbox: Outbox,
    lines: impl Stream<Item = io::Result<String>> + Send + 'static,
) -> Result<(), Error> {
    let (on_initialize, on_new, on_prompt, on_cancel, on_terminal) = (
        sessions.clone(),
        sessions.clone(),
        sessions.clone(),
        sessions.clone(),
        sessions.clone(),
    );
    let transport = Lines::new(outbox.sink(), lines);
    drop(outbox);
    agent_client_protocol::Agent
        .v1()
        .name("placard")
        .on_receive_request(
            async move |request: InitializeRequest, responder, _client| {
                responder.respond(on_initialize.initialize(&request))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: NewSessionRequest, responder, client: ConnectionTo<Client>| {
                responder.respond_with_result(on_new.new_session(&request, &client))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, _client| {
                on_prompt.prompt(&request, responder)
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: TerminalRequest, responder, _client| {
                responder.respond_with_result(on_terminal.act(&request))
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |notification: CancelNotification, _client| {
                on_cancel.cancel(&notification);
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_with(transport, async |client| {
            client.incoming_closed().await;
            // While there is a way to the client, for one that has only closed its own side.
            sessions.close_all().await;
            Ok(())
        })
        .await
}

/// What the session runs with, for our own window: the protocol's own options come with the choice of a model.
fn model_meta(model: &str) -> Map<String, Value> {
    Map::from_iter([("placard".to_owned(), json!({"model": model}))])
}

/// What the client draws, and what its person can do.
fn understand(request: &InitializeRequest) -> (Dialect, FrontAbilities) {
    // Serializing what was just deserialized cannot fail; a client without capabilities draws no cards.
    let capabilities = serde_json::to_value(&request.client_capabilities).unwrap_or(Value::Null);
    let meta = request.meta.clone().map_or(Value::Null, Value::Object);
    let air = |value: &Value| {
        value
            .pointer("/jetbrains/air")
            .is_some_and(|air| *air != Value::Bool(false) && !air.is_null())
    };
    let capability = Capability::of_client(&capabilities);
    let mut front = extension::abilities(&capabilities);
    // Who sees no card does not see what is asked: a command that waited for them would hang.
    front.can_type &= capability != Capability::None;
    let dialect = Dialect {
        capability,
        signals_as_codes: air(&meta) || capabilities.get("_meta").is_some_and(air),
        hears_states: front.can_type,
    };
    (dialect, front)
}
