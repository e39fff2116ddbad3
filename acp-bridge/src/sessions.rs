//! The sessions of one connection: which are open, which are being opened, and how each ends.
//!
//! Sessions share nothing but the store. Requests that open or end the same session are served one after the other, in the
//! order in which they came, so that it never has two writers; whatever concerns another session goes on meanwhile.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::SessionId;
use agent_client_protocol::{Client, Error};
use agent_core::Agent;
use agent_core::agent::{FrontAbilities, Opened, Registration};
use agent_core::session::live::Session;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::failure;
use crate::message::Dialect;
use crate::show::{Live, Showing, Viewer};
use crate::wire::UnderWay;

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
    /// Fired when the connection ends.
    over: CancellationToken,
    /// Sessions that are being opened. They are broken off when the connection ends.
    opening: TaskTracker,
    /// Sessions that are being ended. They are waited for.
    ending: TaskTracker,
}

#[derive(Debug)]
struct State {
    dialect: Dialect,
    /// What its person can do beyond looking.
    front: FrontAbilities,
    open: HashMap<SessionId, OpenSession>,
    /// Sessions that somebody waits for. Firing one breaks the opening off.
    opening: HashMap<SessionId, Weak<CancellationToken>>,
    /// The end of the last request of each session that opens or ends it.
    lines: HashMap<SessionId, CancellationToken>,
}

/// The folders that a session was opened in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folders {
    pub(crate) cwd: PathBuf,
    pub(crate) additional: Vec<PathBuf>,
}

#[derive(Debug)]
struct OpenSession {
    session: Session,
    folders: Folders,
    /// None while the past of the session is told again.
    showing: Option<Showing>,
    /// Its prompts, until they are answered.
    prompts: TaskTracker,
    _registration: Registration,
}

/// A session that is being opened. Dropping it makes it one that is not.
#[derive(Debug)]
pub(crate) struct Opening(Arc<CancellationToken>);

impl Opening {
    /// Resolves when nobody wants the session any more.
    pub(crate) async fn broken_off(&self) {
        self.0.cancelled().await;
    }
}

/// A place in the line of the requests that open or end one session.
#[derive(Debug)]
pub(crate) struct Place {
    before: Option<CancellationToken>,
    _done: DropGuard,
}

impl Place {
    /// Resolves when the requests before this one were served.
    pub(crate) async fn reached(&self) {
        if let Some(before) = &self.before {
            before.cancelled().await;
        }
    }
}

/// A session that is not shown for a while. Dropping it goes on.
#[derive(Debug)]
pub(crate) struct Paused {
    sessions: Sessions,
    id: SessionId,
    viewer: Viewer,
    live: Option<Live>,
}

impl Paused {
    /// Announces what runs again.
    pub(crate) fn announce(&self) {
        let told = self
            .live
            .iter()
            .try_for_each(|live| self.viewer.announce(live));
        if told.is_err() {
            tracing::debug!("the client was gone before what runs was announced again");
        }
    }

    /// Goes on behind a past that was told again, which has left these calls open.
    pub(crate) fn go_on_behind(mut self, open: &[String]) {
        if let Some(live) = &mut self.live {
            live.behind(open);
        }
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        let Some(live) = self.live.take() else {
            return;
        };
        if let Some(open) = self.sessions.state().open.get_mut(&self.id) {
            open.showing = Some(self.viewer.clone().begin(live));
        }
    }
}

impl Sessions {
    pub(crate) fn new(agent: Agent, under_way: UnderWay) -> Self {
        let state = Mutex::new(State {
            dialect: Dialect::plain(),
            front: FrontAbilities::default(),
            open: HashMap::new(),
            opening: HashMap::new(),
            lines: HashMap::new(),
        });
        Self {
            shared: Arc::new(Shared {
                agent,
                under_way,
                state,
                over: CancellationToken::new(),
                opening: TaskTracker::new(),
                ending: TaskTracker::new(),
            }),
        }
    }

    pub(crate) fn agent(&self) -> &Agent {
        &self.shared.agent
    }

    /// Remembers what the client can draw and do, for the whole connection (rule W1).
    pub(crate) fn introduce(&self, dialect: Dialect, front: FrontAbilities) {
        let mut state = self.state();
        state.dialect = dialect;
        state.front = front;
    }

    pub(crate) fn front(&self) -> FrontAbilities {
        self.state().front
    }

    /// What shows a session to this connection's client.
    pub(crate) fn viewer(&self, id: &SessionId, client: &ConnectionTo<Client>) -> Viewer {
        Viewer {
            session: id.clone(),
            dialect: self.state().dialect,
            client: client.clone(),
            under_way: self.shared.under_way.clone(),
        }
    }

    /// Fired when the connection ends.
    pub(crate) fn over(&self) -> &CancellationToken {
        &self.shared.over
    }

    /// Tasks that open sessions.
    pub(crate) fn opening_tasks(&self) -> &TaskTracker {
        &self.shared.opening
    }

    /// Tasks that end sessions.
    pub(crate) fn ending_tasks(&self) -> &TaskTracker {
        &self.shared.ending
    }

    /// A place behind all requests that open or end this session. Taken before the next message is read.
    pub(crate) fn line_up(&self, id: &SessionId) -> Place {
        let done = CancellationToken::new();
        let mut state = self.state();
        state.lines.retain(|_, last| !last.is_cancelled());
        Place {
            before: state.lines.insert(id.clone(), done.clone()),
            _done: done.drop_guard(),
        }
    }

    /// Marks a session as being opened. Taken before the next message is read.
    pub(crate) fn begin_opening(&self, id: &SessionId) -> Opening {
        let mut state = self.state();
        state
            .opening
            .retain(|_, opening| opening.strong_count() > 0);
        if let Some(opening) = state.opening.get(id).and_then(Weak::upgrade) {
            return Opening(opening);
        }
        let opening = Arc::new(self.shared.over.child_token());
        state.opening.insert(id.clone(), Arc::downgrade(&opening));
        Opening(opening)
    }

    /// Breaks off every opening of a session that is under way. True when there was one.
    pub(crate) fn break_off_opening(&self, id: &SessionId) -> bool {
        let opening = self.state().opening.remove(id);
        let opening = opening.and_then(|opening| opening.upgrade());
        if let Some(opening) = &opening {
            opening.cancel();
        }
        opening.is_some()
    }

    /// Takes in a session that was opened, and shows it from here on.
    pub(crate) fn add(&self, id: &SessionId, opened: Opened, folders: Folders, viewer: Viewer) {
        let Opened {
            session,
            updates,
            registration,
        } = opened;
        let open = OpenSession {
            session,
            folders,
            showing: Some(viewer.begin(Live::new(updates))),
            prompts: TaskTracker::new(),
            _registration: registration,
        };
        self.state().open.insert(id.clone(), open);
    }

    /// An open session.
    pub(crate) fn session(&self, id: &SessionId) -> Result<Session, Error> {
        let state = self.state();
        let open = state.open.get(id).ok_or_else(|| absent(&state, id))?;
        Ok(open.session.clone())
    }

    /// An open session that may be prompted, and what keeps its prompts.
    pub(crate) fn prompted(&self, id: &SessionId) -> Result<(Session, TaskTracker), Error> {
        let state = self.state();
        match state.open.get(id) {
            Some(open) if !is_opening(&state, id) => {
                Ok((open.session.clone(), open.prompts.clone()))
            }
            _ => Err(absent(&state, id)),
        }
    }

    /// A session that is open already, and where.
    pub(crate) fn live(&self, id: &SessionId) -> Option<(Session, Folders)> {
        let state = self.state();
        let open = state.open.get(id)?;
        Some((open.session.clone(), open.folders.clone()))
    }

    /// Stops showing a session for a while: what it has to tell waits. None when nobody watches it.
    pub(crate) async fn pause(&self, id: &SessionId, viewer: Viewer) -> Option<Paused> {
        let showing = self.state().open.get_mut(id)?.showing.take()?;
        let (sessions, id) = (self.clone(), id.clone());
        // To its end even when this request is withdrawn: what is live must not be lost.
        let pausing = tokio::spawn(async move {
            let live = Some(showing.pause().await?);
            Some(Paused {
                sessions,
                id,
                viewer,
                live,
            })
        });
        pausing.await.ok().flatten()
    }

    /// Ends an open session with all that its commands started; its prompt is answered when this returns. False when it was not
    /// open. A client that still reads is told of every end.
    pub(crate) async fn end(&self, id: &SessionId) -> bool {
        let open = self.state().open.remove(id);
        match open {
            Some(open) => {
                end(open).await;
                true
            }
            None => false,
        }
    }

    /// Ends every session of the connection, in parallel.
    pub(crate) async fn close_all(&self) {
        self.shared.over.cancel();
        self.shared.opening.close();
        self.shared.opening.wait().await;
        let open: Vec<OpenSession> = self.state().open.drain().map(|(_, open)| open).collect();
        self.shared.ending.close();
        let all = futures::future::join_all(open.into_iter().map(end));
        futures::future::join(all, self.shared.ending.wait()).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a session cannot be used now.
fn absent(state: &State, id: &SessionId) -> Error {
    if is_opening(state, id) {
        failure::being_opened()
    } else {
        failure::not_open()
    }
}

fn is_opening(state: &State, id: &SessionId) -> bool {
    let opening = state.opening.get(id);
    opening.is_some_and(|opening| opening.strong_count() > 0)
}

async fn end(open: OpenSession) {
    open.session.close().await;
    if tokio::time::timeout(LAST_WORDS, open.session.shown())
        .await
        .is_err()
    {
        tracing::debug!("the client did not take the ends of its commands");
    }
    // Whoever waited for something to be shown waits no longer.
    drop(open.showing);
    open.prompts.close();
    if tokio::time::timeout(LAST_WORDS, open.prompts.wait())
        .await
        .is_err()
    {
        tracing::debug!("the client did not take what its prompt had to tell");
    }
}
