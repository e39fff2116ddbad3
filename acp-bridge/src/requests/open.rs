//! Opening sessions: new ones, stored ones with or without their past, and copies.

#[cfg(feature = "unstable_session_fork")]
use agent_client_protocol::v1::schema::{ForkSessionRequest, ForkSessionResponse};
use agent_client_protocol::v1::schema::{
    LoadSessionRequest, LoadSessionResponse, McpServer, NewSessionRequest, NewSessionResponse,
    ResumeSessionRequest, ResumeSessionResponse, SessionId,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Client, Error, ErrorCode, JsonRpcResponse};
use agent_core::session::live::Session;
use serde_json::{Map, Value, json};

use super::stored_id;
use crate::failure;
use crate::sessions::{Folders, Paused, Sessions};
use crate::show::{Past, Viewer};

/// How a stored session is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Its past is told first.
    Load,
    /// In silence.
    Resume,
}

/// A session that a client wants to go on with.
#[derive(Debug)]
struct Wanted {
    id: SessionId,
    folders: Folders,
    manner: Manner,
}

impl Sessions {
    pub(crate) fn new_session(
        &self,
        request: NewSessionRequest,
        client: &ConnectionTo<Client>,
    ) -> Result<NewSessionResponse, Error> {
        start_no_servers(&request.mcp_servers);
        let folders = Folders {
            cwd: request.cwd,
            additional: request.additional_directories,
        };
        let opened = self
            .agent()
            .open_session(&folders.cwd, &folders.additional, self.front())
            .map_err(|error| failure::opening(&error))?;
        let id = SessionId::new(opened.session.id().as_str());
        let meta = model_meta(&opened.session);
        self.add(&id, opened, folders, self.viewer(&id, client));
        Ok(NewSessionResponse::new(id).meta(meta))
    }

    /// Opens a stored session and tells its past, all of it before the answer.
    pub(crate) fn load(
        &self,
        request: LoadSessionRequest,
        responder: Responder<LoadSessionResponse>,
        client: &ConnectionTo<Client>,
    ) {
        start_no_servers(&request.mcp_servers);
        let wanted = Wanted {
            id: request.session_id,
            folders: Folders {
                cwd: request.cwd,
                additional: request.additional_directories,
            },
            manner: Manner::Load,
        };
        let answer = |meta| LoadSessionResponse::new().meta(meta);
        self.open(wanted, responder, client, answer);
    }

    /// Opens a stored session without a word of its past.
    pub(crate) fn resume(
        &self,
        request: ResumeSessionRequest,
        responder: Responder<ResumeSessionResponse>,
        client: &ConnectionTo<Client>,
    ) {
        start_no_servers(&request.mcp_servers);
        let wanted = Wanted {
            id: request.session_id,
            folders: Folders {
                cwd: request.cwd,
                additional: request.additional_directories,
            },
            manner: Manner::Resume,
        };
        let answer = |meta| ResumeSessionResponse::new().meta(meta);
        self.open(wanted, responder, client, answer);
    }

    /// Copies a stored session and opens the copy.
    #[cfg(feature = "unstable_session_fork")]
    pub(crate) fn fork(
        &self,
        request: ForkSessionRequest,
        responder: Responder<ForkSessionResponse>,
        client: &ConnectionTo<Client>,
    ) {
        start_no_servers(&request.mcp_servers);
        let (sessions, client) = (self.clone(), client.clone());
        self.opening_tasks().spawn(async move {
            let withdrawn = responder.cancellation();
            let forked = withdrawn.run_until_cancelled(sessions.forked(request, &client));
            let answer = tokio::select! {
                answer = forked => answer,
                () = sessions.over().cancelled() => Err(failure::broken_off()),
            };
            answered(responder, answer);
        });
    }

    #[cfg(feature = "unstable_session_fork")]
    async fn forked(
        &self,
        request: ForkSessionRequest,
        client: &ConnectionTo<Client>,
    ) -> Result<ForkSessionResponse, Error> {
        let original = stored_id(&request.session_id).ok_or_else(failure::no_such_session)?;
        let folders = Folders {
            cwd: request.cwd,
            additional: request.additional_directories,
        };
        let opened = self
            .agent()
            .fork_session(&original, &folders.cwd, &folders.additional, self.front())
            .await;
        let opened = opened.map_err(|error| match error {
            agent_core::agent::OpenError::Store(agent_core::store::StoreError::Missing {
                ..
            }) if self.live(&request.session_id).is_some() => failure::nothing_stored(),
            error => failure::opening(&error),
        })?;
        let id = SessionId::new(opened.session.id().as_str());
        let meta = model_meta(&opened.session);
        self.add(&id, opened, folders, self.viewer(&id, client));
        Ok(ForkSessionResponse::new(id).meta(meta))
    }

    /// Opens a stored session behind whatever else is asked of the same one.
    fn open<R: JsonRpcResponse>(
        &self,
        wanted: Wanted,
        responder: Responder<R>,
        client: &ConnectionTo<Client>,
        answer: fn(Map<String, Value>) -> R,
    ) {
        let place = self.line_up(&wanted.id);
        let opening = self.begin_opening(&wanted.id);
        let (sessions, client) = (self.clone(), client.clone());
        self.opening_tasks().spawn(async move {
            let withdrawn = responder.cancellation();
            let opened = withdrawn.run_until_cancelled(async {
                place.reached().await;
                sessions.opened(&wanted, &client).await
            });
            let opened = tokio::select! {
                biased;
                () = opening.broken_off() => Err(failure::broken_off()),
                opened = opened => opened,
            };
            // In this order: a client may send its prompt the moment it has the answer.
            drop(opening);
            let (opened, paused) = match opened {
                Ok((session, paused)) => (Ok(answer(model_meta(&session))), paused),
                Err(error) => (Err(error), None),
            };
            answered(responder, opened);
            // Behind the answer, which tells the client of the session.
            if let Some(paused) = paused {
                paused.announce();
            }
            drop(place);
        });
    }

    /// Opens the session. What is live already and was not told again is given back, to be announced.
    async fn opened(
        &self,
        wanted: &Wanted,
        client: &ConnectionTo<Client>,
    ) -> Result<(Session, Option<Paused>), Error> {
        let viewer = self.viewer(&wanted.id, client);
        if let Some((session, folders)) = self.live(&wanted.id) {
            if folders == wanted.folders {
                let paused = self.look_again(wanted, &session, viewer).await?;
                return Ok((session, paused));
            }
            self.leave(wanted, &session, &folders).await?;
        }
        let session = self.load_stored(wanted, viewer).await?;
        Ok((session, None))
    }

    /// Shows a session that is live on this connection once more.
    async fn look_again(
        &self,
        wanted: &Wanted,
        session: &Session,
        viewer: Viewer,
    ) -> Result<Option<Paused>, Error> {
        // No prompt runs while the past is told.
        let turn = match wanted.manner {
            Manner::Load => Some(
                session
                    .begin_turn()
                    .map_err(|error| Error::new(ErrorCode::INVALID_REQUEST, error.to_string()))?,
            ),
            Manner::Resume => None,
        };
        let paused = self.pause(&wanted.id, viewer.clone()).await;
        let paused = paused.ok_or_else(failure::not_open)?;
        if turn.is_none() {
            return Ok(Some(paused));
        }
        let history = session.history().await;
        let history = history.map_err(|error| failure::store(&error))?;
        let open = viewer.replay(&mut Past::Live(Box::new(history))).await?;
        paused.go_on_behind(&open);
        Ok(None)
    }

    /// Ends a live session that is wanted in other folders. What still runs in it is not ended for that.
    async fn leave(
        &self,
        wanted: &Wanted,
        session: &Session,
        folders: &Folders,
    ) -> Result<(), Error> {
        let commands = session.commands().list();
        let runs = commands
            .iter()
            .any(|command| command.end().is_none() || command.left_running() > 0);
        if runs || session.begin_turn().is_err() {
            return Err(failure::at_work_elsewhere(&folders.cwd));
        }
        // Asked first: a folder that cannot be used must not cost the session. A new one leaves no trace.
        self.agent()
            .open_session(
                &wanted.folders.cwd,
                &wanted.folders.additional,
                self.front(),
            )
            .map_err(|error| failure::opening(&error))?;
        let store = self.agent().store().await;
        let store = store.map_err(|error| failure::store(&error))?;
        let stored = store.has(session.id()).await;
        if !stored.map_err(|error| failure::store(&error))? {
            return Err(failure::nothing_stored());
        }
        self.end(&wanted.id).await;
        Ok(())
    }

    async fn load_stored(&self, wanted: &Wanted, viewer: Viewer) -> Result<Session, Error> {
        let Wanted {
            id,
            folders,
            manner,
        } = wanted;
        let stored = stored_id(id).ok_or_else(failure::no_such_session)?;
        let loading = self
            .agent()
            .begin_load(&stored, &folders.cwd, &folders.additional, self.front())
            .await;
        let mut loading = loading.map_err(|error| failure::opening(&error))?;
        if *manner == Manner::Load {
            let mut past = Past::Loading(Box::new(loading));
            viewer.replay(&mut past).await?;
            let Past::Loading(told) = past else {
                return Err(failure::not_open());
            };
            loading = *told;
        }
        let opened = loading.finish().await;
        let opened = opened.map_err(|error| failure::opening(&error))?;
        let session = opened.session.clone();
        self.add(id, opened, folders.clone(), viewer);
        Ok(session)
    }
}

fn answered<R: JsonRpcResponse>(responder: Responder<R>, answer: Result<R, Error>) {
    if responder.respond_with_result(answer).is_err() {
        tracing::debug!("the client was gone before its session was open");
    }
}

fn start_no_servers(servers: &[McpServer]) {
    if !servers.is_empty() {
        tracing::warn!(
            count = servers.len(),
            "MCP servers are not started by this version"
        );
    }
}

/// What the session runs with, for our own window: the protocol's own options come with the choice of a model.
fn model_meta(session: &Session) -> Map<String, Value> {
    let model = session.model_name();
    Map::from_iter([("placard".to_owned(), json!({"model": model}))])
}
