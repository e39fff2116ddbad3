//! The commands of one session: those that run, those in the background, and what others left running.
//!
//! Nothing of it is reachable from another session, and all of it ends with its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::SetOnce;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::session::update::{TerminalState, Update, UpdateSender};
use crate::shell::exit::Exit;
use crate::shell::handle::{CommandHandle, CommandState};
use crate::shell::left::LeftRunning;
use crate::shell::terminal::TerminalOutput;
use crate::tool::presentation::Circumstances;

/// How many commands of a session may run in the background at once.
const MOST_BACKGROUND: usize = 32;

/// How many background commands that have ended are kept with their output. Each holds up to a megabyte.
const MOST_ENDED: usize = 16;

/// A command of a session, while it runs and, where it ran in the background or left something running, after it.
#[derive(Debug)]
pub struct SessionCommand {
    /// Its call.
    pub call_id: String,
    /// Its line.
    pub line: String,
    /// When it was started.
    pub begun: Instant,
    /// It does not belong to a turn.
    pub background: bool,
    /// What it prints.
    pub output: TerminalOutput,
    /// Types into it, stops it.
    pub handle: CommandHandle,
    /// How far the model has read its output: decoded bytes.
    pub read_to: AtomicU64,
    end: SetOnce<CommandEnd>,
    left: Mutex<Option<LeftRunning>>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandEnd {
    /// Its exit.
    pub exit: Exit,
    /// What the exit does not tell.
    pub circumstances: Circumstances,
}

impl SessionCommand {
    /// How it ended; none while it runs.
    pub fn end(&self) -> Option<&CommandEnd> {
        self.end.get()
    }

    /// Resolves when it has ended.
    pub async fn ended(&self) -> &CommandEnd {
        self.end.wait().await
    }

    /// How many processes it left running when it ended; none once all of them have ended.
    pub fn left_running(&self) -> usize {
        let mut left = lock(&self.left);
        if left.as_ref().is_some_and(LeftRunning::is_over) {
            *left = None;
        }
        left.as_ref().map_or(0, LeftRunning::count)
    }

    /// Ends what it left running.
    pub async fn end_left(&self) {
        let left = lock(&self.left).take();
        if let Some(left) = left {
            left.end().await;
        }
    }

    /// The whole number of seconds since it was started.
    pub fn seconds(&self) -> u64 {
        self.begun.elapsed().as_secs()
    }
}

/// Why a command was not taken into a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TooMany {
    /// The background is full.
    #[error(
        "{MOST_BACKGROUND} commands of this session run in the background already; end one with bash_kill first"
    )]
    InBackground,
}

/// All commands of a session.
#[derive(Debug)]
pub struct Commands {
    all: Mutex<Vec<Arc<SessionCommand>>>,
    updates: UpdateSender,
    /// Fired when the session ends.
    closed: CancellationToken,
    /// What goes on outside of turns.
    tasks: TaskTracker,
}

impl Commands {
    pub(crate) fn new(updates: UpdateSender, closed: CancellationToken) -> Self {
        Self {
            all: Mutex::default(),
            updates,
            closed,
            tasks: TaskTracker::new(),
        }
    }

    /// Fired when the session, and with it every command, ends.
    pub fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// What goes on outside of turns, and is waited for when the session ends.
    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Takes in a command that is about to start.
    pub fn begin(
        &self,
        call_id: &str,
        line: &str,
        background: bool,
        output: TerminalOutput,
        handle: CommandHandle,
    ) -> Result<Arc<SessionCommand>, TooMany> {
        let command = Arc::new(SessionCommand {
            call_id: call_id.to_owned(),
            line: line.to_owned(),
            begun: Instant::now(),
            background,
            output,
            handle,
            read_to: AtomicU64::new(0),
            end: SetOnce::new(),
            left: Mutex::default(),
        });
        {
            let mut all = self.all();
            let running = all
                .iter()
                .filter(|known| known.background && known.end().is_none());
            if background && running.count() >= MOST_BACKGROUND {
                return Err(TooMany::InBackground);
            }
            all.push(Arc::clone(&command));
        }
        self.tell_states(&command);
        Ok(command)
    }

    /// Notes how a command ended and what it left running. One that ran in a turn and left nothing is forgotten.
    pub fn end(&self, command: &SessionCommand, end: CommandEnd, left: Option<LeftRunning>) {
        *lock(&command.left) = left;
        // It ends once.
        let _ = command.end.set(end);
        self.forget_old();
    }

    /// Lets go of a command that did not come to run.
    pub fn forget(&self, command: &SessionCommand) {
        self.all()
            .retain(|known| !std::ptr::eq(known.as_ref(), command));
    }

    fn forget_old(&self) {
        let mut all = self.all();
        let mut ended = 0;
        let mut kept: Vec<_> = all
            .drain(..)
            .rev()
            .filter(|known| {
                let runs = known.end().is_none() || known.left_running() > 0;
                if !runs && known.background {
                    ended += 1;
                }
                runs || (known.background && ended <= MOST_ENDED)
            })
            .collect();
        kept.reverse();
        *all = kept;
    }

    /// The command of a call.
    pub fn find(&self, call_id: &str) -> Option<Arc<SessionCommand>> {
        self.all()
            .iter()
            .find(|known| known.call_id == call_id)
            .cloned()
    }

    /// Every command that is known, in the order of their starts.
    pub fn list(&self) -> Vec<Arc<SessionCommand>> {
        self.all().clone()
    }

    /// Ends everything, in parallel, and waits until it is gone and its end is told.
    pub(crate) async fn end_all(&self) {
        self.closed.cancel();
        self.tasks.close();
        let all = self.list();
        let left = futures::future::join_all(all.iter().map(|command| command.end_left()));
        futures::future::join(left, self.tasks.wait()).await;
        // What ended just now may have left something, too.
        let all = self.list();
        futures::future::join_all(all.iter().map(|command| command.end_left())).await;
    }

    /// Tells whoever watches when the command begins to wait for input, and when it goes on.
    fn tell_states(&self, command: &Arc<SessionCommand>) {
        if !command.handle.has_keyboard() {
            return;
        }
        let mut states = command.handle.states();
        let updates = self.updates.clone();
        let call_id = command.call_id.clone();
        tokio::spawn(async move {
            while states.changed().await.is_ok() {
                let state = match *states.borrow_and_update() {
                    CommandState::Running => TerminalState::Running,
                    CommandState::Waiting => TerminalState::Waiting,
                    CommandState::Over => return,
                };
                updates.send(Update::TerminalState {
                    call_id: call_id.clone(),
                    state,
                });
            }
        });
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<SessionCommand>>> {
        lock(&self.all)
    }
}

impl SessionCommand {
    /// How far the model has read.
    pub fn read_to(&self) -> u64 {
        self.read_to.load(Ordering::Relaxed)
    }

    /// The model has read up to there.
    pub fn set_read_to(&self, offset: u64) {
        self.read_to.store(offset, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
