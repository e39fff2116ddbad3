//! A session at work: its log, its one turn, and what its commands left running.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OnceCell};
use tokio_util::sync::CancellationToken;

use crate::agent::{Clock, FrontAbilities, StoreSlot};
use crate::config::Config;
use crate::model::{self, Model, ModelSetupError};
use crate::session::SessionId;
use crate::session::commands::{Commands, SessionCommand};
use crate::session::event::{Event, EventKind, Trigger, TurnEndReason};
use crate::session::history::History;
use crate::session::log::SessionLog;
use crate::session::repair;
use crate::session::update::{Update, UpdateSender};
pub use crate::shell::handle::{TerminalError, TerminalInput};
use crate::shell::terminal::TerminalOutput;
use crate::store::StoreError;
use crate::surroundings::Environment;
use crate::tool::{Place, Toolbox};
use crate::turn::{self, TurnEnd};

/// How long the end of a session waits for the store: what waits with it is the end of the program.
const LAST_TRY: Duration = Duration::from_millis(150);

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
    pub(crate) commands: Arc<Commands>,
    pub(crate) front: FrontAbilities,
    /// Where the whole output of each command goes.
    outputs: PathBuf,
    /// Fired when the session is closed.
    pub(crate) closed: CancellationToken,
    model: OnceCell<Arc<dyn Model>>,
    turn: Mutex<TurnState>,
    /// Fired when a turn has ended and when events were stored.
    quieter: Notify,
}

impl Inner {
    fn turn(&self) -> MutexGuard<'_, TurnState> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn turn_ended(&self) {
        self.turn().cancel = None;
        self.quieter.notify_waiters();
    }

    /// Makes durable what was appended.
    pub(crate) async fn save(&self) -> Result<(), StoreError> {
        let store = self.store.get().await?;
        self.log.lock().await.save(store.as_ref()).await?;
        self.quieter.notify_waiters();
        Ok(())
    }

    /// The terminal of a call's command: its whole output goes to a file of the session.
    pub(crate) fn terminal(&self, call_id: &str) -> TerminalOutput {
        let file = repair::spill_file(&self.outputs, call_id);
        match (self.config.shell.spill_bytes, file) {
            (0, _) | (_, None) => TerminalOutput::new(),
            (limit, Some(file)) => TerminalOutput::with_spill(file, limit),
        }
    }

    /// One more try for events that a store would not take.
    async fn save_what_is_left(&self) {
        if self.log.lock().await.unsaved() == 0 {
            return;
        }
        match tokio::time::timeout(LAST_TRY, self.save()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::error!(session = %self.id, %error, "the last events of a session were not saved");
            }
            Err(_) => {
                tracing::error!(session = %self.id, "the last events of a session were not saved: the store is busy");
            }
        }
    }

    /// The session's model, set up at its first use. A failure is not kept: the person may mend the cause.
    pub(crate) async fn model(&self) -> Result<Arc<dyn Model>, ModelSetupError> {
        let open = || async { model::open(&self.config.model, &self.config, &self.environment) };
        self.model.get_or_try_init(open).await.cloned()
    }
}

/// Where a session's one turn stands.
#[derive(Debug, Default)]
struct TurnState {
    /// Somebody has the turn: from the prompt to its answer.
    taken: bool,
    /// Ends it, while it runs.
    cancel: Option<CancellationToken>,
}

/// What a session is made of.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) log: SessionLog,
    pub(crate) toolbox: Toolbox,
    pub(crate) config: Config,
    pub(crate) environment: Environment,
    pub(crate) clock: Clock,
    pub(crate) store: StoreSlot,
    pub(crate) updates: UpdateSender,
    pub(crate) front: FrontAbilities,
    pub(crate) outputs: PathBuf,
}

/// Why something was not put into a session.
#[derive(Debug, thiserror::Error)]
pub enum InjectError {
    /// The session was closed.
    #[error("the session is closed; start a new one")]
    Closed,
    /// It is in the session, and not stored yet.
    #[error(transparent)]
    Store(#[from] StoreError),
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
            log,
            toolbox,
            config,
            environment,
            clock,
            store,
            updates,
            front,
            outputs,
        } = parts;
        let closed = CancellationToken::new();
        let commands = Arc::new(Commands::new(updates.clone(), closed.clone()));
        let cwd = log.standing().cwd.clone();
        let roots: Vec<PathBuf> = std::iter::once(&cwd)
            .chain(&log.standing().additional_directories)
            .cloned()
            .collect();
        Self {
            inner: Arc::new(Inner {
                id: log.header().id.clone(),
                place: Place::new(cwd, roots),
                toolbox,
                config,
                environment,
                clock,
                store,
                log: tokio::sync::Mutex::new(log),
                updates,
                commands,
                front,
                outputs,
                closed,
                model: OnceCell::new(),
                turn: Mutex::default(),
                quieter: Notify::new(),
            }),
        }
    }

    /// The session's name.
    pub fn id(&self) -> &SessionId {
        &self.inner.id
    }

    /// The model's name, as the person wrote it.
    pub fn model_name(&self) -> String {
        self.inner.config.model.to_string()
    }

    /// Takes the session for one turn. From now on a cancel is this turn's, so whoever reads a prompt and a cancel
    /// behind each other calls this before reading on.
    pub fn begin_turn(&self) -> Result<TurnSlot, PromptError> {
        if self.inner.closed.is_cancelled() {
            return Err(PromptError::Closed);
        }
        let mut turn = self.inner.turn();
        if turn.taken {
            return Err(PromptError::Busy);
        }
        let cancel = self.inner.closed.child_token();
        *turn = TurnState {
            taken: true,
            cancel: Some(cancel.clone()),
        };
        Ok(TurnSlot {
            session: Arc::clone(&self.inner),
            cancel,
        })
    }

    /// Cancels the running turn; nothing while idle.
    pub fn cancel(&self) {
        if let Some(cancel) = &self.inner.turn().cancel {
            cancel.cancel();
        }
    }

    /// Types into the terminal of a running command.
    pub fn type_into(&self, call_id: &str, input: &TerminalInput) -> Result<(), TerminalError> {
        self.command(call_id)?.handle.type_in(input)
    }

    /// Ends one running command with everything that it started; the turn goes on.
    pub fn stop_command(&self, call_id: &str) -> Result<(), TerminalError> {
        self.command(call_id)?.handle.stop()
    }

    fn command(&self, call_id: &str) -> Result<Arc<SessionCommand>, TerminalError> {
        self.inner
            .commands
            .find(call_id)
            .ok_or(TerminalError::NotRunning)
    }

    /// The commands that run, and those of the background that have ended.
    pub fn commands(&self) -> &Commands {
        &self.inner.commands
    }

    /// Resolves when all is quiet: no turn runs, and every event is stored.
    pub async fn when_idle(&self) {
        loop {
            let mut quiet = pin!(self.inner.quieter.notified());
            // From here on no change goes unnoticed.
            quiet.as_mut().enable();
            let runs = self.inner.turn().cancel.is_some();
            if !runs && self.inner.log.lock().await.unsaved() == 0 {
                return;
            }
            quiet.await;
        }
    }

    /// Resolves when no turn runs.
    async fn when_no_turn_runs(&self) {
        loop {
            let notified = self.inner.quieter.notified();
            if self.inner.turn().cancel.is_none() {
                return;
            }
            notified.await;
        }
    }

    /// Puts something into the conversation that the model reads with the next prompt, or, while a turn runs, at its next
    /// step. The model is not woken. Stored when this returns.
    pub async fn inject(&self, text: String) -> Result<(), InjectError> {
        if self.inner.closed.is_cancelled() {
            return Err(InjectError::Closed);
        }
        {
            let mut log = self.inner.log.lock().await;
            let now = (self.inner.clock)();
            // Decided from the log: what joins a turn stands in it.
            let alone = !log.standing().turn_open;
            let start = EventKind::TurnStart {
                trigger: Trigger::Injection,
            };
            let end = EventKind::TurnEnd {
                reason: TurnEndReason::Completed,
            };
            let start = alone.then_some(start);
            let end = alone.then_some(end);
            for kind in start
                .into_iter()
                .chain([EventKind::Injected { text }])
                .chain(end)
            {
                log.append(kind, now);
            }
        }
        Ok(self.inner.save().await?)
    }

    /// Ends the turn that runs, everything that its commands left running, and the session.
    pub async fn close(&self) {
        self.inner.closed.cancel();
        self.when_no_turn_runs().await;
        self.inner.commands.end_all().await;
        self.inner.save_what_is_left().await;
        // From now on it can be opened elsewhere; a store that is busy gives it back when it is done, and nobody waits for that.
        let releasing = async { self.inner.log.lock().await.release().await };
        if tokio::time::timeout(LAST_TRY, releasing).await.is_err() {
            tracing::debug!(session = %self.inner.id, "the store is busy; the session is given back later");
        }
    }

    /// Resolves when the viewer has shown everything that happened so far; at once when there is no viewer any more.
    pub async fn shown(&self) {
        let (sender, shown) = tokio::sync::oneshot::channel();
        self.inner.updates.send(Update::Shown(sender));
        // An error means that the updates were dropped with their viewer.
        let _ = shown.await;
    }

    /// The log as it stands, events that are not stored yet included.
    pub async fn events(&self) -> Result<Vec<Event>, StoreError> {
        let store = self.inner.store.get().await?;
        self.inner.log.lock().await.events(store.as_ref()).await
    }

    /// What has happened in it so far, as it is stored.
    pub async fn history(&self) -> Result<History, StoreError> {
        let store = self.inner.store.get().await?;
        let end = self.inner.log.lock().await.saved();
        Ok(History::new(store, self.inner.id.clone(), end))
    }

    /// The last title.
    pub async fn title(&self) -> Option<String> {
        self.inner.log.lock().await.standing().title.clone()
    }
}

/// The right to run one turn of a session. Until it is dropped the session takes no other prompt.
#[derive(Debug)]
pub struct TurnSlot {
    session: Arc<Inner>,
    cancel: CancellationToken,
}

/// A turn that has ended, and whose end may still have to be told.
#[derive(Debug)]
pub struct EndedTurn {
    /// How it ended.
    pub end: TurnEnd,
    /// Keeps the session from taking another prompt before this one was answered.
    pub slot: Option<TurnSlot>,
}

impl TurnSlot {
    /// Runs the turn to its end, which is in the log when this returns. The turn goes on when the future is dropped:
    /// a client that is gone ends a turn by closing the session, not by not listening.
    pub async fn run(self, prompt: String) -> EndedTurn {
        let task = tokio::spawn(async move {
            let end = turn::run(&self.session, prompt, &self.cancel).await;
            self.session.turn_ended();
            EndedTurn {
                end,
                slot: Some(self),
            }
        });
        // `turn::run` contains panics of tools, models and presenters; an error here is the runtime going down.
        task.await.unwrap_or_else(|error| EndedTurn {
            end: TurnEnd::failed(format!("the turn was broken off: {error}")),
            slot: None,
        })
    }
}

impl Drop for TurnSlot {
    fn drop(&mut self) {
        *self.session.turn() = TurnState::default();
        self.session.quieter.notify_waiters();
    }
}
