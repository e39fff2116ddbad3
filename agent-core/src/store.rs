//! Where sessions are kept: one contract, several stores.
//!
//! A store holds logs (a header and events), the large things beside them ([`Blob`]s), and what is looked up without opening
//! a log: titles, ages, folders, words. Only a [`SessionWriter`] appends, and a session has one writer at a time, whoever
//! asks. What a store cannot find out is an error, never "there is none".

pub mod blob;
mod error;
mod folder;
pub mod interchange;
pub mod jsonl;
pub mod list;
pub mod memory;
pub mod opening;
pub mod postgres;
pub mod search;
pub mod sqlite;

use std::collections::HashMap;

use async_trait::async_trait;

use crate::session::event::Event;
use crate::session::{SessionHeader, SessionId};
pub use blob::{Blob, BlobId};
pub use error::{Damage, DamagedAt, StoreError};
pub use list::{Change, Cursor, ListRequest, SessionPage, SessionSummary};
pub use search::{Hit, Part, SearchRequest};

/// A store of sessions. It knows a session from its first append on, not before: [`has`](Self::has) and
/// [`list`](Self::list) say exactly that.
#[async_trait]
pub trait SessionStore: Send + Sync + std::fmt::Debug {
    /// The right to append to a session, which need not exist yet. [`StoreError::Held`] while anybody else has it, in this
    /// program or another. What a crash left half written at the log's end is gone when this returns; a log that is damaged
    /// elsewhere is [`StoreError::Damaged`] and left as it is.
    ///
    /// The right of an owner that died is free at once, on PostgreSQL within five seconds.
    async fn writer(&self, id: &SessionId) -> Result<Box<dyn SessionWriter>, StoreError>;

    /// What is known of a session without reading its log; `None` when there is no such session.
    async fn summary(&self, id: &SessionId) -> Result<Option<SessionSummary>, StoreError>;

    /// At most `limit` events from number `from` on. Empty at the end of the log; [`StoreError::Missing`] without a session.
    /// Events that are being written are not seen before they are whole.
    async fn read(&self, id: &SessionId, from: u64, limit: usize)
    -> Result<Vec<Event>, StoreError>;

    /// The bytes that a session's events refer to; `None` when they are not kept.
    async fn blob(&self, id: &SessionId, blob: &BlobId) -> Result<Option<Vec<u8>>, StoreError>;

    /// Several blobs at once, as a replay asks for them; those that are not kept are left out.
    async fn blobs(
        &self,
        id: &SessionId,
        blobs: &[BlobId],
    ) -> Result<HashMap<BlobId, Vec<u8>>, StoreError> {
        let mut found = HashMap::with_capacity(blobs.len());
        for blob in blobs {
            if let Some(bytes) = self.blob(id, blob).await? {
                found.insert(blob.clone(), bytes);
            }
        }
        Ok(found)
    }

    /// Whether the session exists.
    async fn has(&self, id: &SessionId) -> Result<bool, StoreError> {
        Ok(self.summary(id).await?.is_some())
    }

    /// Sessions, newest change first, a page at a time; without opening logs.
    async fn list(&self, request: &ListRequest) -> Result<SessionPage, StoreError>;

    /// Sessions whose id begins with `beginning`, those put away included: at most `limit`, in the order of their ids. What a
    /// list cannot show may be left out.
    async fn ids(&self, beginning: &str, limit: usize) -> Result<Vec<SessionId>, StoreError> {
        list::ids_of_pages(self, beginning, limit).await
    }

    /// Changes what is known of a session beside its log. Needs no writer. [`StoreError::Missing`] without a session.
    async fn update(&self, id: &SessionId, change: &Change) -> Result<(), StoreError>;

    /// Copies a session's whole events, as far as they are stored, and what they refer to, under a new header. All or
    /// nothing. The copy is not yet balanced if the original is at work. A header whose id exists is [`StoreError::Exists`].
    async fn fork(&self, id: &SessionId, header: &SessionHeader) -> Result<(), StoreError>;

    /// Removes a session with everything that only it refers to; false when there was none. [`StoreError::Held`] while
    /// anybody writes to it.
    async fn delete(&self, id: &SessionId) -> Result<bool, StoreError>;

    /// Where the words of a query occur: prompts, replies, commands and what commands printed. Best or newest first.
    /// Everything that was acknowledged before the call is looked at.
    async fn search(&self, request: &SearchRequest) -> Result<Vec<Hit>, StoreError>;

    /// What can be read of a session that is damaged, and what is wrong with it. For a session in order the whole log and no
    /// damage. Changes nothing.
    async fn salvage(&self, id: &SessionId) -> Result<Salvage, StoreError>;

    /// Lets go of files and connections. Nothing may be asked of the store afterwards.
    async fn close(&self) {}
}

/// The right to append to one session. Dropping it gives it back.
#[async_trait]
pub trait SessionWriter: Send + Sync + std::fmt::Debug {
    /// Appends events, which follow the stored ones without a gap, and the blobs that they refer to; the first append creates
    /// the session with this header. All of it is durable when this returns; on an error none of it is stored, and the same
    /// call may be tried again. Events that are stored already, word for word, count as stored: an append whose answer was
    /// lost is tried again.
    async fn append(
        &mut self,
        header: &SessionHeader,
        events: &[Event],
        blobs: &[Blob],
    ) -> Result<(), StoreError>;

    /// Gives the right back, and returns when it is free.
    async fn release(self: Box<Self>) {}
}

/// What was read of a damaged session.
#[derive(Debug, Clone, PartialEq)]
pub struct Salvage {
    /// The header, where it can be read.
    pub header: Option<SessionHeader>,
    /// Every event that can be read, under its own number, in order.
    pub events: Vec<Event>,
    /// What cannot.
    pub damage: Vec<Damage>,
}
