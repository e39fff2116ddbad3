//! What goes wrong in a store, in words that say what to do.

use std::path::PathBuf;

use crate::config::ConfigError;
use crate::session::{NoSessionId, SessionId};

/// Why a store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The files cannot be used: the system said no, or the disk is full.
    #[error("the sessions in {path} cannot be {attempted}: {reason}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// `opened`, `read`, `saved`, `deleted` …
        attempted: &'static str,
        /// What the system or the database said.
        reason: String,
    },
    /// Others kept the store busy for longer than is waited.
    #[error(
        "the sessions in {path} cannot be {attempted}: another program has kept them busy for {seconds} seconds; close it, or try again"
    )]
    Busy {
        /// The file.
        path: PathBuf,
        /// `opened`, `read`, `saved`, `deleted` …
        attempted: &'static str,
        /// How long was waited.
        seconds: u64,
    },
    /// The file is no store, or a part of it is not as it was written.
    #[error(
        "the sessions in {path} are damaged: {reason}; the file was left as it is. Copy it, then see `placard sessions recover`"
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What the database said.
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
    /// The database was written by a newer build.
    #[error(
        "the sessions on {server} were written by a newer Placard (schema {found}; this one knows {known}) and were left as they are; update Placard, or name another database under [store]"
    )]
    NewerOnServer {
        /// Host and database, never a password.
        server: String,
        /// Its schema.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// The configuration does not say which store there is.
    #[error(transparent)]
    Config(Box<ConfigError>),
    /// The database server cannot be used.
    #[error("the sessions on {server} cannot be {attempted}: {reason}")]
    Server {
        /// Host and database, never a password.
        server: String,
        /// `opened`, `read`, `saved`, `deleted` …
        attempted: &'static str,
        /// What the server or the network said, and what to do.
        reason: String,
    },
    /// Another writer has the session.
    #[error(
        "session {id} is open for writing in another place; close it there, or fork it with `placard sessions fork {id}`"
    )]
    Held {
        /// The session.
        id: SessionId,
    },
    /// The right to write was taken over by somebody else, since this owner was not heard of for too long.
    #[error(
        "session {id} was taken over by another program while this one was away; load it again"
    )]
    TakenOver {
        /// The session.
        id: SessionId,
    },
    /// The session was closed in this program.
    #[error("session {id} is closed, and nothing more is saved of it; load it again")]
    Closed {
        /// The session.
        id: SessionId,
    },
    /// The events do not follow the stored ones.
    #[error(
        "session {id} was changed by another program: event {seq} is not the next one; load it again"
    )]
    OutOfOrder {
        /// The session.
        id: SessionId,
        /// The number of the event that was to be stored.
        seq: u64,
    },
    /// There is no such session.
    #[error("there is no session {id}; `placard sessions list` shows those that there are")]
    Missing {
        /// The session.
        id: SessionId,
    },
    /// There is such a session already.
    #[error("there is a session {id} already, and it was left as it is")]
    Exists {
        /// The session.
        id: SessionId,
    },
    /// A stored session cannot be read.
    #[error(
        "session {id} is damaged: {damage}; it was left as it is. `placard sessions recover {id}` writes a new session from what can be read"
    )]
    Damaged {
        /// The session.
        id: SessionId,
        /// Where and what.
        damage: Damage,
    },
    /// A page was asked for behind a place that no list gave.
    #[error("the list cursor {cursor:?} is not one that a list gave; begin again without one")]
    UnknownCursor {
        /// As it was given.
        cursor: String,
    },
    /// A session was to be begun under a name that none can have. It is not repeated: it may be anything.
    #[error("{0}; give it another")]
    Name(#[from] NoSessionId),
    /// A query that nothing can be looked for with.
    #[error("nothing can be searched for with {query:?}: it holds no word")]
    EmptyQuery {
        /// As it was given.
        query: String,
    },
}

/// A place of a log that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The file, or what stands for it, such as a table.
    pub place: String,
    /// The line (from 1) of a file, or the number (from 0) of an event; none for the whole.
    pub at: Option<DamagedAt>,
    /// What is wrong.
    pub reason: String,
}

/// Where damage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DamagedAt {
    /// A line, from 1.
    Line(u64),
    /// An event, from 0.
    Event(u64),
}

impl std::fmt::Display for Damage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.place)?;
        match self.at {
            Some(DamagedAt::Line(line)) => write!(formatter, ", line {line}")?,
            Some(DamagedAt::Event(seq)) => write!(formatter, ", event {seq}")?,
            None => {}
        }
        write!(formatter, ": {}", self.reason)
    }
}
