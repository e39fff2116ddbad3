//! Sessions that exist already: loading, copying and deleting them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Agent, FrontAbilities, OpenError, Opened, check_folders};
use crate::config::Config;
use crate::session::event::EventKind;
use crate::session::log::{PAGE, SessionLog};
use crate::session::repair::{Repair, read_remains, repair};
use crate::session::standing::{self, Standing};
use crate::session::{SessionHeader, SessionId};
use crate::store::{SessionStore, StoreError};

impl Agent {
    /// Opens a stored session, to go on with it in this folder. Nobody else writes to it from here on. What a crash left open
    /// is closed, durably, before this returns; loading twice, or dying in between, comes to the same log.
    pub async fn load_session(
        &self,
        id: &SessionId,
        cwd: &Path,
        additional_directories: &[PathBuf],
        front: FrontAbilities,
    ) -> Result<Opened, OpenError> {
        check_folders(cwd, additional_directories)?;
        let config = Config::load(&self.inner.surroundings)?;
        let store = self.inner.store.get().await?;
        let missing = || StoreError::Missing { id: id.clone() };
        // Asked first: a writer may be had of what does not exist.
        let summary = store.summary(id).await?.ok_or_else(missing)?;
        let writer = store.writer(id).await?;
        let standing = read_standing(store.as_ref(), &summary.header).await?;
        let Repair { events, blobs } = self.repair_of(id, &standing).await?;
        let moved = moved(&standing, cwd, additional_directories);
        let mut log = SessionLog::stored(summary.header, standing, writer);
        let now = (self.inner.clock)();
        for blob in blobs {
            log.keep(blob);
        }
        for event in events.into_iter().chain(moved) {
            log.append(event, now);
        }
        log.save(store.as_ref()).await?;
        tracing::debug!(session = %id, "a stored session opens");
        Ok(self.open(log, config, front))
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
        let copy = self.copy_session(id).await?;
        let opened = self.load_session(&copy, cwd, additional_directories, front);
        opened.await
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

    async fn repair_of(&self, id: &SessionId, standing: &Standing) -> Result<Repair, OpenError> {
        let outputs = self.outputs(id);
        let reading = {
            let (standing, outputs) = (standing.clone(), outputs.clone());
            tokio::task::spawn_blocking(move || read_remains(&standing, &outputs))
        };
        let remains = match reading.await {
            Ok(Ok(remains)) => remains,
            Ok(Err(error)) => {
                return Err(OpenError::Remains {
                    folder: outputs,
                    reason: error.to_string(),
                });
            }
            Err(error) => {
                return Err(OpenError::Remains {
                    folder: outputs,
                    reason: error.to_string(),
                });
            }
        };
        Ok(repair(standing, &remains))
    }
}

/// Folds a stored log, page by page.
pub async fn read_standing(
    store: &dyn SessionStore,
    header: &SessionHeader,
) -> Result<Standing, StoreError> {
    let mut standing = Standing::new(header);
    loop {
        let page = store.read(&header.id, standing.events, PAGE).await?;
        if page.is_empty() {
            return Ok(standing);
        }
        for event in &page {
            standing.note(event.what.known());
        }
    }
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
