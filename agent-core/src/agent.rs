//! The agent as its fronts see it: it opens sessions and ends them all.

mod stored;

pub use stored::Loading;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::OnceCell;

use crate::config::{Config, ConfigError};
use crate::session::live::{Parts, Session};
use crate::session::log::SessionLog;
use crate::session::update::{self, Updates};
use crate::session::{SCHEMA_VERSION, SessionHeader, SessionId};
use crate::shell::sandbox::Support;
use crate::shell::terminal::TerminalSize;
use crate::store::opening::StorePlace;
use crate::store::{SessionStore, StoreError};
use crate::surroundings::{LoginPath, Surroundings};
use crate::tool::background::{BashInput, BashKill, BashList, BashOutput};
use crate::tool::bash::Bash;
use crate::tool::read_file::ReadFile;
use crate::tool::{Tool, Toolbox};

/// How long a shutdown waits for sessions that do not end.
const SHUTDOWN: Duration = Duration::from_secs(5);

/// How long a shutdown waits for the store to put its files in order.
const STORE_CLOSE: Duration = Duration::from_millis(150);

/// Milliseconds of Unix time, from wherever the program takes its time.
pub type Clock = fn() -> u64;

/// The agent. It has touched nothing until the first session is opened. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Agent {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    surroundings: Surroundings,
    login_path: OnceLock<LoginPath>,
    clock: Clock,
    store: StoreSlot,
    /// What the system can enforce of a sandbox, found out once.
    support: Arc<OnceLock<Support>>,
    sessions: Mutex<Vec<Weak<OpenSession>>>,
}

/// Keeps a session on the agent's list for as long as its front holds it.
#[derive(Debug)]
struct OpenSession(Session);

/// The store that the configuration names, read and opened at the first use. A failure is not kept: the person may mend the cause.
#[derive(Debug, Clone)]
pub(crate) struct StoreSlot {
    surroundings: Surroundings,
    store: Arc<OnceCell<Arc<dyn SessionStore>>>,
}

impl StoreSlot {
    pub(crate) async fn get(&self) -> Result<Arc<dyn SessionStore>, StoreError> {
        let open = async || self.place()?.open().await;
        self.store.get_or_try_init(open).await.cloned()
    }

    /// The store, where there is one that was used before: none is made.
    async fn get_made(&self) -> Result<Option<Arc<dyn SessionStore>>, StoreError> {
        if self.store.get().is_none() && !self.place()?.look().await?.made {
            return Ok(None);
        }
        self.get().await.map(Some)
    }

    fn place(&self) -> Result<StorePlace, StoreError> {
        let config = Config::load(&self.surroundings)
            .map_err(|error| StoreError::Config(Box::new(error)))?;
        Ok(StorePlace::of(&config.store, &self.surroundings.data_dir))
    }
}

/// What a front gets for a new session. The session is closed by [`Session::close`], not by dropping this.
#[derive(Debug)]
pub struct Opened {
    /// The session.
    pub session: Session,
    /// What it has to tell.
    pub updates: Updates,
    /// Keeps the session on the agent's list, so that a shutdown ends it.
    pub registration: Registration,
}

/// A session's place on the agent's list.
#[derive(Debug, Clone)]
pub struct Registration {
    _session: Arc<OpenSession>,
}

/// What the front of a session can do beyond showing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrontAbilities {
    /// A person can type into a running command, so a command that reads its terminal waits for them.
    pub can_type: bool,
    /// The terminal that commands are drawn in, where the front knows it.
    pub terminal_size: Option<TerminalSize>,
}

/// Why a session was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder cannot be a session's.
    #[error("the session's folder {folder} cannot be used: {reason}")]
    Folder {
        /// The folder as it was given.
        folder: PathBuf,
        /// What is wrong with it and what to do.
        reason: String,
    },
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The store has no such session, or cannot give it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What an interrupted command had printed cannot be read.
    #[error(
        "the output of an interrupted command in {folder} cannot be read: {reason}; mend that and load the session again, or remove the folder to do without"
    )]
    Remains {
        /// The folder of the session's outputs.
        folder: PathBuf,
        /// What the system said.
        reason: String,
    },
}

impl Agent {
    /// An agent with the person's own store.
    pub fn new(surroundings: Surroundings) -> Self {
        Self::build(surroundings, OnceCell::new())
    }

    /// An agent with another store, such as one in memory.
    pub fn with_store(surroundings: Surroundings, store: Arc<dyn SessionStore>) -> Self {
        Self::build(surroundings, OnceCell::new_with(Some(store)))
    }

    fn build(surroundings: Surroundings, store: OnceCell<Arc<dyn SessionStore>>) -> Self {
        let store = StoreSlot {
            surroundings: surroundings.clone(),
            store: Arc::new(store),
        };
        Self {
            inner: Arc::new(Inner {
                surroundings,
                login_path: OnceLock::new(),
                clock: unix_time,
                store,
                support: Arc::default(),
                sessions: Mutex::default(),
            }),
        }
    }

    /// What the agent was given at its start.
    pub fn surroundings(&self) -> &Surroundings {
        &self.inner.surroundings
    }

    /// Gives commands the login shell's `PATH` instead of this program's own: for a program that was started from a menu. The
    /// first command waits until it is known. Sessions that are open already are not concerned; a second call changes nothing.
    pub fn use_login_path(&self, path: LoginPath) {
        if self.inner.login_path.set(path).is_err() {
            tracing::debug!("the login shell was named already");
        }
    }

    /// Opens a session. It leaves no trace before its first prompt. The configuration is read anew, so that a
    /// file that was wrong and is mended serves the next session.
    pub fn open_session(
        &self,
        cwd: &Path,
        additional_directories: &[PathBuf],
        front: FrontAbilities,
    ) -> Result<Opened, OpenError> {
        check_folders(cwd, additional_directories)?;
        let config = Config::load(&self.inner.surroundings)?;
        let header = self.header(cwd, additional_directories, config.model.to_string());
        Ok(self.open(SessionLog::new(header), config, front))
    }

    /// The header of a session that begins now.
    fn header(
        &self,
        cwd: &Path,
        additional_directories: &[PathBuf],
        model: String,
    ) -> SessionHeader {
        SessionHeader {
            id: SessionId::fresh(),
            cwd: cwd.to_owned(),
            additional_directories: additional_directories.to_vec(),
            created_at: (self.inner.clock)(),
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            model,
            schema_version: SCHEMA_VERSION,
            forked_from: None,
        }
    }

    /// Where the outputs of a session's commands go while they run.
    pub fn outputs(&self, id: &SessionId) -> PathBuf {
        let data = &self.inner.surroundings.data_dir;
        data.join("outputs").join(id.as_str())
    }

    /// Puts a session around its log, and on the list.
    fn open(&self, log: SessionLog, config: Config, front: FrontAbilities) -> Opened {
        let surroundings = &self.inner.surroundings;
        let outputs = self.outputs(&log.header().id);
        let tools: [Arc<dyn Tool>; 6] = [
            Arc::new(Bash {
                supervisor: surroundings.program.clone(),
                environment: surroundings.environment.clone(),
                login_path: self.inner.login_path.get().cloned(),
                sandbox: config.sandbox.clone(),
                variables: config.shell.env.clone(),
                classified: config.cards.classified,
                support: Arc::clone(&self.inner.support),
            }),
            Arc::new(BashOutput),
            Arc::new(BashInput),
            Arc::new(BashKill),
            Arc::new(BashList),
            Arc::new(ReadFile),
        ];
        let (sender, updates) = update::channel();
        let session = Session::new(Parts {
            log,
            toolbox: Toolbox::new(tools),
            config,
            environment: surroundings.environment.clone(),
            clock: self.inner.clock,
            store: self.inner.store.clone(),
            updates: sender,
            front,
            outputs,
        });
        tracing::debug!(session = %session.id(), "a session opens");
        let open = Arc::new(OpenSession(session.clone()));
        let mut sessions = self
            .inner
            .sessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|session| session.strong_count() > 0);
        sessions.push(Arc::downgrade(&open));
        Opened {
            session,
            updates,
            registration: Registration { _session: open },
        }
    }

    /// The person's store, if there is one that was used before: none is made. For whoever only asks.
    pub async fn store_if_made(&self) -> Result<Option<Arc<dyn SessionStore>>, StoreError> {
        self.inner.store.get_made().await
    }

    /// The person's store, opened at its first use.
    pub async fn store(&self) -> Result<Arc<dyn SessionStore>, StoreError> {
        self.inner.store.get().await
    }

    /// Ends every session that is still open, in parallel, with all its processes; returns when all is quiet, or
    /// after five seconds. Nothing can be saved afterwards.
    pub async fn shutdown(&self) {
        let open: Vec<Arc<OpenSession>> = self
            .inner
            .sessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        let all = futures::future::join_all(open.iter().map(|open| open.0.close()));
        if tokio::time::timeout(SHUTDOWN, all).await.is_err() {
            tracing::warn!("some sessions did not end in time");
        }
        if let Some(store) = self.inner.store.store.get()
            && tokio::time::timeout(STORE_CLOSE, store.close())
                .await
                .is_err()
        {
            // What was acknowledged is durable all the same.
            tracing::warn!("the store is busy and was left as it is");
        }
    }
}

fn check_folders(cwd: &Path, additional: &[PathBuf]) -> Result<(), OpenError> {
    std::iter::once(cwd)
        .chain(additional.iter().map(PathBuf::as_path))
        .try_for_each(check_folder)
}

fn check_folder(folder: &Path) -> Result<(), OpenError> {
    let wrong = |reason: &str| {
        Err(OpenError::Folder {
            folder: folder.to_owned(),
            reason: reason.to_owned(),
        })
    };
    if !folder.is_absolute() {
        return wrong("it is not absolute; give the whole path from /");
    }
    match std::fs::metadata(folder) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => wrong("it is a file; give a folder"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            wrong("it does not exist; create it or give another")
        }
        Err(error) => wrong(&error.to_string()),
    }
}

fn unix_time() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| u64::try_from(since.as_millis()).ok())
        .unwrap_or_default()
}
