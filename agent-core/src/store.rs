//! Where logs are kept: one contract, several stores.

pub mod memory;
pub mod sqlite;

use std::path::PathBuf;

use async_trait::async_trait;

use crate::session::event::Event;
use crate::session::{SessionHeader, SessionId};

/// A store of session logs.
///
/// A store knows a session from its first append on, not before. What it cannot find out is an error, never "there is none".
#[async_trait]
pub trait SessionStore: Send + Sync + std::fmt::Debug {
    /// Appends events, which follow the stored ones without a gap; the first append creates the session.
    /// They are durable when this returns; on an error none of them is stored.
    async fn append(&self, header: &SessionHeader, events: &[Event]) -> Result<(), StoreError>;

    /// The header and every event of a session; `None` when there is no such session.
    async fn load(&self, id: &SessionId)
    -> Result<Option<(SessionHeader, Vec<Event>)>, StoreError>;

    /// Whether the session exists.
    async fn has(&self, id: &SessionId) -> Result<bool, StoreError>;

    /// Lets go of files and connections. Nothing may be asked of the store afterwards.
    async fn close(&self) {}
}

/// Why a store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file or its folder cannot be used.
    #[error("the sessions in {path} cannot be {attempted}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// `opened`, `read` or `saved`.
        attempted: &'static str,
        /// What the system or the database said.
        reason: String,
    },
    /// The file was written by a newer build.
    #[error(
        "the sessions in {path} were written by a newer Placard (schema {found}; this one knows {known}) and were left as they are; update Placard, or set XDG_DATA_HOME to another folder"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// The events do not follow the stored ones.
    #[error(
        "session {id} was changed by another program: event {seq} is not the next one; start a new session"
    )]
    OutOfOrder {
        /// The session.
        id: SessionId,
        /// The number of the event that was to be stored.
        seq: u64,
    },
    /// A stored event cannot be read.
    #[error("session {id} is damaged at event {seq}: {reason}")]
    Damaged {
        /// The session.
        id: SessionId,
        /// The event, or 0 for the header.
        seq: u64,
        /// What is wrong with it.
        reason: String,
    },
}
