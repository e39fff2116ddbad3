//! A store in memory that fails its first appends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent_core::session::event::Event;
use agent_core::session::{SessionHeader, SessionId};
use agent_core::store::memory::MemoryStore;
use agent_core::store::{
    Blob, BlobId, Change, Hit, ListRequest, Salvage, SearchRequest, SessionPage, SessionStore,
    SessionSummary, SessionWriter, StoreError,
};
use async_trait::async_trait;

#[derive(Debug)]
pub struct Failing {
    failures: Arc<AtomicUsize>,
    store: MemoryStore,
}

impl Failing {
    /// A store that fails its first so many appends.
    pub fn appends(failures: usize) -> Self {
        Self {
            failures: Arc::new(AtomicUsize::new(failures)),
            store: MemoryStore::default(),
        }
    }
}

#[derive(Debug)]
struct FailingWriter {
    failures: Arc<AtomicUsize>,
    writer: Box<dyn SessionWriter>,
}

#[async_trait]
impl SessionWriter for FailingWriter {
    async fn append(
        &mut self,
        header: &SessionHeader,
        events: &[Event],
        blobs: &[Blob],
    ) -> Result<(), StoreError> {
        let fail = self
            .failures
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            })
            .is_ok();
        if fail {
            return Err(StoreError::File {
                path: "/disk".into(),
                attempted: "saved",
                reason: "no space left".into(),
            });
        }
        self.writer.append(header, events, blobs).await
    }
}

#[async_trait]
impl SessionStore for Failing {
    async fn writer(&self, id: &SessionId) -> Result<Box<dyn SessionWriter>, StoreError> {
        Ok(Box::new(FailingWriter {
            failures: Arc::clone(&self.failures),
            writer: self.store.writer(id).await?,
        }))
    }

    async fn summary(&self, id: &SessionId) -> Result<Option<SessionSummary>, StoreError> {
        self.store.summary(id).await
    }

    async fn read(
        &self,
        id: &SessionId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        self.store.read(id, from, limit).await
    }

    async fn blob(&self, id: &SessionId, blob: &BlobId) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.blob(id, blob).await
    }

    async fn list(&self, request: &ListRequest) -> Result<SessionPage, StoreError> {
        self.store.list(request).await
    }

    async fn update(&self, id: &SessionId, change: &Change) -> Result<(), StoreError> {
        self.store.update(id, change).await
    }

    async fn fork(&self, id: &SessionId, header: &SessionHeader) -> Result<(), StoreError> {
        self.store.fork(id, header).await
    }

    async fn delete(&self, id: &SessionId) -> Result<bool, StoreError> {
        self.store.delete(id).await
    }

    async fn search(&self, request: &SearchRequest) -> Result<Vec<Hit>, StoreError> {
        self.store.search(request).await
    }

    async fn salvage(&self, id: &SessionId) -> Result<Salvage, StoreError> {
        self.store.salvage(id).await
    }
}
