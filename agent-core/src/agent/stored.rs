//! Sessions that exist already: loading, copying and deleting them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::{Agent, FrontAbilities, OpenError, Opened, check_folders};
use crate::config::Config;
use crate::session::event::{Event, EventKind};
use crate::session::history::History;
use crate::session::log::SessionLog;
use crate::session::repair::{Repair, read_remains, repair};
use crate::session::standing::{self, Standing};
use crate::session::update::Update;
use crate::session::{SessionHeader, SessionId};
use crate::store::{SessionStore, SessionWriter, StoreError};

impl Agent {
    /// Opens a stored session, to go on with it in this folder, without telling its past. As [`begin_load`](Self::begin_load).
    pub async fn load_session(
        &self,
        id: &SessionId,
        cwd: &Path,
        additional_directories: &[PathBuf],
        front: FrontAbilities,
    ) -> Result<Opened, OpenError> {
        let loading = self.begin_load(id, cwd, additional_directories, front);
        loading.await?.finish().await
    }

    /// Begins to open a stored session, to go on with it in this folder. Nobody else writes to it from here on. What a crash left
    /// open is closed, durably, when its log was read; loading twice, or dying in between, comes to the same log.
    pub async fn begin_load(
        &self,
        id: &SessionId,
        cwd: &Path,
        additional_directories: &[PathBuf],
        front: FrontAbilities,
    ) -> Result<Loading, OpenError> {
        check_folders(cwd, additional_directories)?;
        let config = Config::load(&self.inner.surroundings)?;
        let store = self.inner.store.get().await?;
        let missing = || StoreError::Missing { id: id.clone() };
        // Asked first: a writer may be had of what does not exist.
        store.summary(id).await?.ok_or_else(missing)?;
        let writer = store.writer(id).await?;
        // Again: its last writer may have gone on until a moment ago.
        let summary = store.summary(id).await?.ok_or_else(missing)?;
        Ok(Loading {
            history: History::new(Arc::clone(&store), id.clone(), u64::MAX),
            agent: self.clone(),
            store,
            config,
            front,
            cwd: cwd.to_owned(),
            additional_directories: additional_directories.to_vec(),
            log: LoadedLog::Read(Box::new(ReadLog {
                standing: Standing::new(&summary.header),
                header: summary.header,
                writer,
            })),
        })
    }

    /// Copies a stored session under a new name and opens the copy, which goes its own way in this folder.
    pub async fn fork_session(
        &self,
        id: &SessionId,
        cwd: &Path,
        additional_directories: &[PathBuf],
        front: FrontAbilities,
    ) -> Result<Opened, OpenError> {
        check_folders(cwd, additional_directories)?;
        // What would fail the copy's opening fails before there is one.
        Config::load(&self.inner.surroundings)?;
        let copy = self.copy_session(id).await?;
        let opened = self
            .load_session(&copy, cwd, additional_directories, front)
            .await;
        if opened.is_err()
            && let Err(error) = self.delete_session(&copy).await
        {
            tracing::warn!(session = %copy, %error, "a copy that could not be opened stays");
        }
        opened
    }

    /// Copies a stored session under a new name.
    pub async fn copy_session(&self, id: &SessionId) -> Result<SessionId, StoreError> {
        let store = self.inner.store.get().await?;
        let missing = || StoreError::Missing { id: id.clone() };
        let original = store.summary(id).await?.ok_or_else(missing)?.header;
        let header = SessionHeader {
            id: SessionId::fresh(),
            created_at: (self.inner.clock)(),
            forked_from: Some(id.clone()),
            ..original
        };
        store.fork(id, &header).await?;
        Ok(header.id)
    }

    /// Removes a stored session with everything that only it refers to; false when there was none.
    pub async fn delete_session(&self, id: &SessionId) -> Result<bool, StoreError> {
        let deleted = self.inner.store.get().await?.delete(id).await?;
        // What was not here has no outputs here either: the folder may be another store's. And no other name is ever followed.
        if !deleted || !id.fits() {
            return Ok(deleted);
        }
        let outputs = self.outputs(id);
        let removing =
            tokio::task::spawn_blocking(move || match std::fs::remove_dir_all(&outputs) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(StoreError::File {
                        path: outputs,
                        attempted: "deleted",
                        reason: error.to_string(),
                    })
                }
                _ => Ok(()),
            });
        // A panic there, or the end of the runtime, leaves files and no session that they belong to.
        removing.await.unwrap_or(Ok(()))?;
        Ok(deleted)
    }
}

/// A stored session that is being opened: its past can be told while its log is read, once. Dropping it lets go of the session.
#[derive(Debug)]
pub struct Loading {
    agent: Agent,
    store: Arc<dyn SessionStore>,
    config: Config,
    front: FrontAbilities,
    cwd: PathBuf,
    additional_directories: Vec<PathBuf>,
    history: History,
    log: LoadedLog,
}

/// How far a log was read.
#[derive(Debug)]
enum LoadedLog {
    /// Up to where it stands.
    Read(Box<ReadLog>),
    /// To its end, and it is closed.
    Whole(Box<SessionLog>),
    /// Something failed; there is nothing to go on with.
    Lost,
}

#[derive(Debug)]
struct ReadLog {
    header: SessionHeader,
    standing: Standing,
    writer: Box<dyn SessionWriter>,
}

impl Loading {
    /// The next update of the past; `None` when all of it was told, the closing of what a crash left open included.
    pub async fn next(&mut self) -> Result<Option<Update>, OpenError> {
        loop {
            let next = match &mut self.log {
                LoadedLog::Read(read) => {
                    let note = |event: &Event| read.standing.note(event.what.known());
                    self.history.next_noting(note).await?
                }
                _ => self.history.next().await?,
            };
            match (next, std::mem::replace(&mut self.log, LoadedLog::Lost)) {
                (None, LoadedLog::Read(read)) => {
                    let folders = (&*self.cwd, &*self.additional_directories);
                    let log = close(&self.agent, self.store.as_ref(), folders, *read).await?;
                    self.history.go_on_to(log.saved());
                    self.log = LoadedLog::Whole(Box::new(log));
                }
                (next, log) => {
                    self.log = log;
                    return Ok(next);
                }
            }
        }
    }

    /// The session, once its whole log was read. What of its past was not told yet is not told any more.
    pub async fn finish(mut self) -> Result<Opened, OpenError> {
        self.history.fall_silent();
        while self.next().await?.is_some() {}
        let LoadedLog::Whole(log) = self.log else {
            // An error was answered before.
            return Err(OpenError::Store(StoreError::Missing {
                id: self.history.id().clone(),
            }));
        };
        tracing::debug!(session = %log.header().id, "a stored session opens");
        Ok(self.agent.open(*log, self.config, self.front))
    }
}

/// Appends what the log owes, and where the session goes on: in this folder and with these further ones.
async fn close(
    agent: &Agent,
    store: &dyn SessionStore,
    (cwd, additional_directories): (&Path, &[PathBuf]),
    read: ReadLog,
) -> Result<SessionLog, OpenError> {
    let ReadLog {
        header,
        standing,
        writer,
    } = read;
    let outputs = agent.outputs(&header.id);
    let reading = {
        let (standing, outputs) = (standing.clone(), outputs.clone());
        tokio::task::spawn_blocking(move || read_remains(&standing, &outputs))
    };
    let remains = reading
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)))
        .map_err(|error| OpenError::Remains {
            folder: outputs,
            reason: error.to_string(),
        })?;
    let Repair { events, blobs } = repair(&standing, &remains);
    let moved = moved(&standing, cwd, additional_directories);
    let mut log = SessionLog::stored(header, standing, writer);
    let now = (agent.inner.clock)();
    for blob in blobs {
        log.keep(blob);
    }
    for event in events.into_iter().chain(moved) {
        log.append(event, now);
    }
    log.save(store).await?;
    Ok(log)
}

/// What is written where a session goes on in another place than it was in.
fn moved(standing: &Standing, cwd: &Path, additional_directories: &[PathBuf]) -> Vec<EventKind> {
    let set = |option: &str, value: Value| EventKind::Config {
        option: option.to_owned(),
        value,
    };
    let mut events = Vec::new();
    if standing.cwd != cwd {
        let cwd = cwd.to_string_lossy().into_owned();
        events.push(set(standing::CWD, cwd.into()));
    }
    if standing.additional_directories != additional_directories {
        let folders: Vec<Value> = additional_directories
            .iter()
            .map(|folder| folder.to_string_lossy().into_owned().into())
            .collect();
        events.push(set(standing::ADDITIONAL_DIRECTORIES, folders.into()));
    }
    events
}
