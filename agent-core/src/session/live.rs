//! A session at work: its log, its one turn, and what its commands left running.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, OnceCell};
use tokio_util::sync::CancellationToken;

use crate::agent::{Clock, StoreSlot};
use crate::config::Config;
use crate::model::{self, Model, ModelSetupError};
use crate::session::log::SessionLog;
use crate::session::update::{Update, UpdateSender};
use crate::session::{SessionHeader, SessionId};
use crate::shell::command::LeftRunning;
use crate::surroundings::Environment;
use crate::tool::{Place, Toolbox};
use crate::turn::{self, TurnEnd};

/// What the commands of a session left running. It ends with the session.
#[derive(Debug, Default)]
pub struct LeftBehind(Mutex<Vec<LeftRunning>>);

impl LeftBehind {
    /// Keeps it until the session ends.
    pub fn keep(&self, left: LeftRunning) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(left);
    }

    async fn end_all(&self) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        futures::future::join_all(all.into_iter().map(LeftRunning::end)).await;
    }
}

/// A session that is open. Cheap to clone; every clone is the same session.
#[derive(Debug, Clone)]
pub struct Session {
    inner: Arc<Inner>,
}

/// What a turn works on.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) id: SessionId,
    pub(crate) place: Place,
    pub(crate) toolbox: Toolbox,
    pub(crate) config: Config,
    pub(crate) environment: Environment,
    pub(crate) clock: Clock,
    pub(crate) store: StoreSlot,
    pub(crate) log: tokio::sync::Mutex<SessionLog>,
    pub(crate) updates: UpdateSender,
    pub(crate) left_behind: LeftBehind,
    /// Fired when the session is closed.
    pub(crate) closed: CancellationToken,
    model: OnceCell<Arc<dyn Model>>,
    running: Mutex<Option<CancellationToken>>,
    became_idle: Notify,
}

impl Inner {
    /// The session's model, set up at its first use. A failure is not kept: the person may mend the cause.
    pub(crate) async fn model(&self) -> Result<Arc<dyn Model>, ModelSetupError> {
        let open = || async { model::open(&self.config.model, &self.config, &self.environment) };
        self.model.get_or_try_init(open).await.cloned()
    }
}

/// What a session is made of.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) header: SessionHeader,
    pub(crate) toolbox: Toolbox,
    pub(crate) config: Config,
    pub(crate) environment: Environment,
    pub(crate) clock: Clock,
    pub(crate) store: StoreSlot,
    pub(crate) updates: UpdateSender,
}

/// Why a prompt was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// There is a turn already.
    #[error("a prompt is running in this session; wait for it or cancel it first")]
    Busy,
    /// The session was closed.
    #[error("the session is closed; start a new one")]
    Closed,
}

impl Session {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts {
            header,
            toolbox,
            config,
            environment,
            clock,
            store,
            updates,
        } = parts;
        let roots: Vec<PathBuf> = std::iter::once(&header.cwd)
            .chain(&header.additional_directories)
            .cloned()
            .collect();
        Self {
            inner: Arc::new(Inner {
                id: header.id.clone(),
                place: Place {
                    cwd: header.cwd.clone(),
                    roots,
                },
                toolbox,
                config,
                environment,
                clock,
                store,
                log: tokio::sync::Mutex::new(SessionLog::new(header)),
                updates,
                left_behind: LeftBehind::default(),
                closed: CancellationToken::new(),
                model: OnceCell::new(),
                running: Mutex::new(None),
                became_idle: Notify::new(),
            }),
        }
    }

    /// The session's name.
    pub fn id(&self) -> &SessionId {
        &self.inner.id
    }

    /// Takes the session for one turn. From now on a cancel is this turn's, so whoever reads a prompt and a cancel
    /// behind each other calls this before reading on.
    pub fn begin_turn(&self) -> Result<TurnSlot, PromptError> {
        if self.inner.closed.is_cancelled() {
            return Err(PromptError::Closed);
        }
        let mut running = self
            .inner
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if running.is_some() {
            return Err(PromptError::Busy);
        }
        let cancel = self.inner.closed.child_token();
        *running = Some(cancel.clone());
        Ok(TurnSlot {
            session: Arc::clone(&self.inner),
            cancel,
        })
    }

    /// Cancels the running turn; nothing while idle.
    pub fn cancel(&self) {
        if let Some(cancel) = &*self
            .inner
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
        {
            cancel.cancel();
        }
    }

    /// Resolves when no turn runs and no event waits to be stored.
    pub async fn when_idle(&self) {
        loop {
            let notified = self.inner.became_idle.notified();
            if self
                .inner
                .running
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .is_none()
            {
                return;
            }
            notified.await;
        }
    }

    /// Ends the turn that runs, everything that its commands left running, and the session.
    pub async fn close(&self) {
        self.inner.closed.cancel();
        self.when_idle().await;
        self.inner.left_behind.end_all().await;
    }

    /// Resolves when the viewer has shown everything that happened so far; at once when there is no viewer any more.
    pub async fn shown(&self) {
        let (sender, shown) = tokio::sync::oneshot::channel();
        self.inner.updates.send(Update::Shown(sender));
        // An error means that the updates were dropped with their viewer.
        let _ = shown.await;
    }

    /// The log as it stands.
    pub async fn events(&self) -> Vec<crate::session::event::Event> {
        self.inner.log.lock().await.events().to_vec()
    }
}

/// The right to run one turn of a session. Dropped unused, the session is idle again.
#[derive(Debug)]
pub struct TurnSlot {
    session: Arc<Inner>,
    cancel: CancellationToken,
}

impl TurnSlot {
    /// Runs the turn to its end, which is in the log when this returns. The turn goes on when the future is dropped:
    /// a client that is gone ends a turn by closing the session, not by not listening.
    pub async fn run(self, prompt: String) -> TurnEnd {
        let task =
            tokio::spawn(async move { turn::run(&self.session, prompt, &self.cancel).await });
        match task.await {
            Ok(end) => end,
            // `turn::run` contains panics of tools, models and presenters; this is the runtime going down.
            Err(error) => TurnEnd::failed(format!("the turn was broken off: {error}")),
        }
    }
}

impl Drop for TurnSlot {
    fn drop(&mut self) {
        *self
            .session
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = None;
        self.session.became_idle.notify_waiters();
    }
}
