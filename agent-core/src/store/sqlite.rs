//! The default store: one SQLite file.
//!
//! In write-ahead mode and fully synchronous: what is acknowledged survives a power cut, and readers wait for nobody. Several
//! programs share the file; a session's writer is whoever holds its [`lock`].

mod append;
mod before;
mod change;
mod database;
mod fault;
mod index;
mod list;
mod lock;
mod observer;
mod open;
mod pieces;
mod read;
mod rows;
mod salvage;
mod schema;
mod search;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;

use self::append::SqliteWriter;
use self::database::Database;
use self::observer::Observer;
use super::{
    BlobId, Change, Hit, ListRequest, Salvage, SearchRequest, SessionPage, SessionStore,
    SessionSummary, SessionWriter, StoreError,
};
use crate::session::event::Event;
use crate::session::{SessionHeader, SessionId};

/// Sessions in a SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    database: Arc<Database>,
    observer: Observer,
}

impl SqliteStore {
    /// Opens the file, creates it (readable by its owner only) where it is missing, and brings it to this build's schema; of an
    /// older file a copy is kept beside it, `NAME.before-SCHEMA`. A file of a newer build is refused and not touched.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let pool = open::open(path).await?;
        let database = Arc::new(Database::new(path, pool));
        Ok(Self {
            observer: Observer::new(Arc::clone(&database)),
            database,
        })
    }
}

impl SqliteStore {
    /// Whether the file has been made. Looks and changes nothing; an error where [`open`](Self::open) would find one, too.
    pub async fn look(path: &Path) -> Result<bool, StoreError> {
        open::is_made(path).await
    }
}

#[async_trait]
impl SessionStore for SqliteStore {
    async fn writer(&self, id: &SessionId) -> Result<Box<dyn SessionWriter>, StoreError> {
        id.check()?;
        let lock = self.database.lock(id).await?;
        read::check(&self.database, id).await?;
        let database = Arc::clone(&self.database);
        Ok(Box::new(SqliteWriter::new(database, lock, id.clone())))
    }

    async fn summary(&self, id: &SessionId) -> Result<Option<SessionSummary>, StoreError> {
        read::summary(&self.database, id).await
    }

    async fn read(
        &self,
        id: &SessionId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        read::events(&self.database, id, from, limit).await
    }

    async fn blob(&self, id: &SessionId, blob: &BlobId) -> Result<Option<Vec<u8>>, StoreError> {
        read::blob(&self.database, id, blob).await
    }

    async fn blobs(
        &self,
        id: &SessionId,
        blobs: &[BlobId],
    ) -> Result<HashMap<BlobId, Vec<u8>>, StoreError> {
        read::blobs(&self.database, id, blobs).await
    }

    async fn has(&self, id: &SessionId) -> Result<bool, StoreError> {
        read::has(&self.database, id).await
    }

    async fn list(&self, request: &ListRequest) -> Result<SessionPage, StoreError> {
        list::list(&self.database, request).await
    }

    async fn ids(&self, beginning: &str, limit: usize) -> Result<Vec<SessionId>, StoreError> {
        list::ids(&self.database, beginning, limit).await
    }

    async fn update(&self, id: &SessionId, change: &Change) -> Result<(), StoreError> {
        change::update(&self.database, id, change).await
    }

    async fn fork(&self, id: &SessionId, header: &SessionHeader) -> Result<(), StoreError> {
        header.id.check()?;
        change::fork(&self.database, id, header).await
    }

    async fn delete(&self, id: &SessionId) -> Result<bool, StoreError> {
        change::delete(&self.database, id).await
    }

    async fn search(&self, request: &SearchRequest) -> Result<Vec<Hit>, StoreError> {
        search::search(&self.database, request).await
    }

    async fn salvage(&self, id: &SessionId) -> Result<Salvage, StoreError> {
        salvage::salvage(&self.database, id).await
    }

    /// The last connection moves the write-ahead log into the file.
    async fn close(&self) {
        self.observer.stop();
        self.database.pool().close().await;
    }
}
