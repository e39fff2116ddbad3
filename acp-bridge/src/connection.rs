//! One client's connection: its requests, and the sessions that it opened.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

use crate::message::Dialect;
use crate::show::Viewer;
use crate::wire::{Outbox, UnderWay};
use crate::{prompt, stop};

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

    /// Ends every session of the connection, in parallel, with all that their commands started.
    pub(crate) async fn close_all(&self) {
        let open: Vec<OpenSession> = self.state().open.drain().map(|(_, open)| open).collect();
        futures::future::join_all(open.into_iter().map(|open| async move {
            open.session.close().await;
            open.viewer.abort();
        }))
        .await;
    }

    /// Remembers what the client can draw, for the whole connection (rule W1).
    fn initialize(&self, request: &InitializeRequest) -> InitializeResponse {
        self.state().dialect = dialect(request);
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_info(
                Implementation::new("placard", env!("CARGO_PKG_VERSION"))
                    .title("Placard".to_owned()),
            )
            .agent_capabilities(
                AgentCapabilities::new()
                    .prompt_capabilities(PromptCapabilities::new().embedded_context(true)),
            )
    }

    fn new_session(
        &self,
        request: &NewSessionRequest,
        client: &ConnectionTo<Client>,
    ) -> Result<NewSessionResponse, Error> {
        let Opened {
            session,
            updates,
            registration,
        } = self
            .shared
            .agent
            .open_session(
                &request.cwd,
                &request.additional_directories,
                FrontAbilities::default(),
            )
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
    let (on_initialize, on_new, on_prompt, on_cancel) = (
        sessions.clone(),
        sessions.clone(),
        sessions.clone(),
        sessions,
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
        .on_receive_notification(
            async move |notification: CancelNotification, _client| {
                on_cancel.cancel(&notification);
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_with(transport, async |client| {
            client.incoming_closed().await;
            Ok(())
        })
        .await
}

/// What the session runs with, for our own window: the protocol's own options come with the choice of a model.
fn model_meta(model: &str) -> Map<String, Value> {
    Map::from_iter([("placard".to_owned(), json!({"model": model}))])
}

fn dialect(request: &InitializeRequest) -> Dialect {
    // Serializing what was just deserialized cannot fail; a client without capabilities draws no cards.
    let capabilities = serde_json::to_value(&request.client_capabilities).unwrap_or(Value::Null);
    let meta = request.meta.clone().map_or(Value::Null, Value::Object);
    let air = |value: &Value| {
        value
            .pointer("/jetbrains/air")
            .is_some_and(|air| *air != Value::Bool(false) && !air.is_null())
    };
    Dialect {
        capability: Capability::of_client(&capabilities),
        signals_as_codes: air(&meta) || capabilities.get("_meta").is_some_and(air),
    }
}
