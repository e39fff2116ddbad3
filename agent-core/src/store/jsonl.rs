//! Sessions in plain files, which a person can read, search and copy with ordinary tools.
//!
//! ```text
//! sessions/
//!   0198c3f2-….jsonl        the log: a line with the header, then a line for each event
//!   0198c3f2-….meta.json    what was set beside the log: title, archived, options; only if anything was
//!   0198c3f2-….blobs/       what is too large for a log, a file for each, named by the SHA-256 of its content
//!   .0198c3f2-….jsonl.new   a log that is being made, or taken away; left by a crash it counts for nothing
//!   .index.jsonl            a cache for lists; it can be deleted at any time
//! ```
//!
//! ```text
//! {"header":{"id":"0198c3f2-…","cwd":"/work","created_at":1700000000000,…}}
//! {"seq":0,"at":1700000000000,"what":{"type":"turn/start","trigger":"prompt"}}
//! ```
//!
//! Copying or removing a session means copying or removing the files that begin with its id. A log alone is a whole session
//! but for the outputs of its commands, and [`import`](super::interchange::import) takes it as it is.
//!
//! - **Made whole.** A log is written under its hidden name (made anew, never followed if it is there), synced, and linked to
//!   its own name, which never replaces a log that is there; then the folder is synced. Sidecars and blobs are published in
//!   the same way, and a blob before the event that refers to it.
//! - **Appended whole.** An append is one write and one sync of the log. What fails is cut off again.
//! - **One writer.** The right to write is the system's lock on the log ([`right`]); nothing else ever bears the name of a log,
//!   and no lock outlives its owner.
//! - **After a crash** a log ends in whole lines and perhaps a piece of one, or in bytes that were never written (NUL). Readers
//!   stop in front of that, and the next writer cuts it off. Anything else that is no event in its place is damage, and the
//!   file is left as it is.
//! - **Lists** look at the state of each log (name, length, time) and open only those that have changed since they were
//!   [indexed](index).

mod beside;
mod blobs;
mod copying;
mod durable;
mod facts;
mod index;
mod lines;
mod names;
mod reading;
mod removing;
mod right;
mod searching;
mod writing;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use self::beside::Beside;
use self::durable::fault;
use self::index::{Entry, Index};
use self::names::Names;
use self::reading::Places;
use self::right::FolderRight;
use self::writing::{Append, Writing};
use super::{
    Blob, BlobId, Change, Hit, ListRequest, Salvage, SearchRequest, SessionPage, SessionStore,
    SessionSummary, SessionWriter, StoreError,
};
use crate::session::event::Event;
use crate::session::{SessionHeader, SessionId};

/// Sessions as files in one folder. The folder is made by the first append; until then there are no sessions.
#[derive(Debug, Clone)]
pub struct JsonlStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    names: Names,
    index: Mutex<Index>,
    places: Places,
}

impl JsonlStore {
    /// The sessions in this folder. Nothing is touched.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            shared: Arc::new(Shared {
                names: Names::new(folder.into()),
                index: Mutex::default(),
                places: Places::default(),
            }),
        }
    }

    /// Does something with files, which may block.
    async fn with<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Arc<Shared>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let shared = Arc::clone(&self.shared);
        blocking(&self.shared, move || act(&shared)).await
    }
}

/// Runs what may block beside the tasks.
async fn blocking<T: Send + 'static>(
    shared: &Shared,
    act: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(act).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => Err(fault(shared.names.root(), "used")(std::io::Error::other(
                error,
            ))),
        },
    }
}

impl Shared {
    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn summary(&self, id: &SessionId) -> Result<Option<SessionSummary>, StoreError> {
        if !id.fits() {
            return Ok(None);
        }
        let mut index = self.index();
        let entry = index.look_up(&self.names, id)?;
        Ok(entry.map(|entry| entry.summary()))
    }

    /// Every session, in no order.
    fn summaries(&self) -> Result<Vec<SessionSummary>, StoreError> {
        let mut index = self.index();
        let survey = index.survey(&self.names)?;
        let entries = survey.sessions.iter().filter_map(|id| index.entry(id));
        Ok(entries.map(|entry| entry.summary()).collect())
    }

    fn read(&self, id: &SessionId, from: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.places.page(&self.names, id, from, limit)
    }

    fn list(&self, request: &ListRequest) -> Result<SessionPage, StoreError> {
        let mut index = self.index();
        let survey = index.survey(&self.names)?;
        let wanted = |entry: &Entry<'_>| {
            let header = entry.facts.header();
            (request.archived || !entry.archived())
                && request.cwd.as_ref().is_none_or(|cwd| *cwd == header.cwd)
                && request.after.as_ref().is_none_or(|after| {
                    (entry.facts.updated_at(), &header.id) < (after.updated_at, &after.id)
                })
        };
        let mut entries: Vec<Entry<'_>> = survey
            .sessions
            .iter()
            .filter_map(|id| index.entry(id))
            .filter(wanted)
            .collect();
        let key = |entry: &Entry<'_>| (entry.facts.updated_at(), entry.facts.header().id.clone());
        entries.sort_by_cached_key(|entry| std::cmp::Reverse(key(entry)));
        let limit = request.limit.max(1);
        let more = entries.len() > limit;
        let sessions: Vec<SessionSummary> =
            entries.iter().take(limit).map(Entry::summary).collect();
        Ok(SessionPage {
            next: sessions.last().filter(|_| more).map(SessionSummary::cursor),
            sessions,
            damaged: match request.after {
                None => survey.damaged,
                Some(_) => Vec::new(),
            },
        })
    }

    fn update(&self, id: &SessionId, change: &Change) -> Result<(), StoreError> {
        let missing = || StoreError::Missing { id: id.clone() };
        if !id.fits() {
            return Err(missing());
        }
        let _right = FolderRight::take(&self.names, "saved")?.ok_or_else(missing)?;
        let events = {
            let mut index = self.index();
            let entry = index.look_up(&self.names, id)?.ok_or_else(missing)?;
            entry.facts.events()
        };
        let path = self.names.beside(id);
        let (mut beside, _) = beside::read(&self.names, id).map_err(fault(&path, "read"))?;
        let before: Beside = beside.clone();
        beside.change(change, events);
        if beside == before {
            return Ok(());
        }
        beside::write(&self.names, id, &beside).map_err(fault(&path, "saved"))
    }
}

#[async_trait]
impl SessionStore for JsonlStore {
    async fn writer(&self, id: &SessionId) -> Result<Box<dyn SessionWriter>, StoreError> {
        let id = id.clone();
        let writing = self.with(move |shared| Writing::begin(shared, &id)).await?;
        Ok(Box::new(JsonlWriter {
            shared: Arc::clone(&self.shared),
            writing: Arc::new(Mutex::new(writing)),
        }))
    }

    async fn summary(&self, id: &SessionId) -> Result<Option<SessionSummary>, StoreError> {
        let id = id.clone();
        self.with(move |shared| shared.summary(&id)).await
    }

    async fn read(
        &self,
        id: &SessionId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        let id = id.clone();
        self.with(move |shared| shared.read(&id, from, limit)).await
    }

    async fn blob(&self, id: &SessionId, blob: &BlobId) -> Result<Option<Vec<u8>>, StoreError> {
        if !id.fits() {
            return Ok(None);
        }
        let (id, blob) = (id.clone(), blob.clone());
        self.with(move |shared| blobs::read(&shared.names, &id, &blob))
            .await
    }

    async fn list(&self, request: &ListRequest) -> Result<SessionPage, StoreError> {
        let request = request.clone();
        self.with(move |shared| shared.list(&request)).await
    }

    async fn ids(&self, beginning: &str, limit: usize) -> Result<Vec<SessionId>, StoreError> {
        let beginning = beginning.to_owned();
        self.with(move |shared| names::beginning_with(&shared.names, &beginning, limit))
            .await
    }

    async fn update(&self, id: &SessionId, change: &Change) -> Result<(), StoreError> {
        let (id, change) = (id.clone(), change.clone());
        self.with(move |shared| shared.update(&id, &change)).await
    }

    async fn fork(&self, id: &SessionId, header: &SessionHeader) -> Result<(), StoreError> {
        let (id, header) = (id.clone(), header.clone());
        self.with(move |shared| copying::fork(&shared.names, &id, &header))
            .await
    }

    async fn delete(&self, id: &SessionId) -> Result<bool, StoreError> {
        if !id.fits() {
            return Ok(false);
        }
        let id = id.clone();
        self.with(move |shared| removing::delete(&shared.names, &id))
            .await
    }

    async fn search(&self, request: &SearchRequest) -> Result<Vec<Hit>, StoreError> {
        let request = request.clone();
        self.with(move |shared| searching::search(shared, &request))
            .await
    }

    async fn salvage(&self, id: &SessionId) -> Result<Salvage, StoreError> {
        let id = id.clone();
        self.with(move |shared| reading::salvage(&shared.names, &id))
            .await
    }
}

/// The right to append to one session. An append that is not waited for to its end is ended all the same, before the next.
#[derive(Debug)]
struct JsonlWriter {
    shared: Arc<Shared>,
    writing: Arc<Mutex<Writing>>,
}

impl JsonlWriter {
    async fn with(
        &self,
        act: impl FnOnce(&mut Writing) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let writing = Arc::clone(&self.writing);
        blocking(&self.shared, move || {
            act(&mut writing.lock().unwrap_or_else(PoisonError::into_inner))
        })
        .await
    }
}

#[async_trait]
impl SessionWriter for JsonlWriter {
    async fn append(
        &mut self,
        header: &SessionHeader,
        events: &[Event],
        blobs: &[Blob],
    ) -> Result<(), StoreError> {
        let lines: serde_json::Result<Vec<_>> = events.iter().map(writing::line_of).collect();
        let append = Append {
            header: header.clone(),
            events: events.to_vec(),
            lines: lines.map_err(|error| {
                fault(self.shared.names.root(), "saved")(std::io::Error::other(error))
            })?,
            blobs: blobs.to_vec(),
        };
        self.with(move |writing| writing.append(&append)).await
    }

    async fn release(self: Box<Self>) {
        let ended = self.with(|writing| {
            writing.end();
            Ok(())
        });
        // An error is the runtime going down, and with it every right.
        let _ = ended.await;
    }
}
