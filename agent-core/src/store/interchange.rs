//! A session as one stream of lines: what `placard sessions export` writes and `import` reads.
//!
//! ```text
//! {"header":{"id":"0198…","cwd":"/work",…},"title":"Fix the build","archived":false,"config":{},"updated_at":1700000000003,"events":4}
//! {"seq":0,"at":1700000000000,"what":{"type":"turn/start","trigger":"prompt"}}
//! …
//! {"blob":"sha256:e3b0…","base64":"…"}
//! {"seq":3,"at":1700000000003,"what":{"type":"terminal/exit","call_id":"call-1",…,"output_ref":"sha256:e3b0…"}}
//! ```
//!
//! The first line is the session's [summary](super::SessionSummary); the events follow as in the logs of the
//! [JSONL store](super::jsonl), and right before the first event that refers to a blob come its bytes (`null` where they are
//! not kept any more). So both directions need memory for a few events, not for a session, and a file that was cut is known by
//! the number of events in its first line. A log of the JSONL store can be imported as well: its first line has the header
//! alone.
//!
//! Events of a newer build are carried word for word.

mod incoming;
mod outgoing;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{BlobId, StoreError};
use crate::session::SessionId;
use crate::session::event::Event;
pub use incoming::import;
pub use outgoing::export;

/// What was carried from or into a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// The session, under its name in the store.
    pub id: SessionId,
    /// How many events.
    pub events: u64,
    /// How many blobs.
    pub blobs: u64,
    /// What events refer to and is not kept: the output of their commands is not shown.
    pub missing: BTreeSet<BlobId>,
}

/// Why a session was not carried.
#[derive(Debug, thiserror::Error)]
pub enum InterchangeError {
    /// The store failed or refused; for an id that exists, [`StoreError::Exists`].
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The lines cannot be written.
    #[error("the session cannot be written: {0}")]
    Write(std::io::Error),
    /// The lines cannot be read.
    #[error("line {line} cannot be read: {error}; nothing was imported")]
    Read {
        /// The line, from 1.
        line: u64,
        /// What the system said.
        error: std::io::Error,
    },
    /// A line is not what stands there in a session.
    #[error("line {line} is not that of a session: {reason}; nothing was imported")]
    Malformed {
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The lines end before the session does.
    #[error(
        "the session ends after line {line}, and {missing}: the file was cut. Export it again; nothing was imported"
    )]
    Cut {
        /// The last line, from 1; 0 for none.
        line: u64,
        /// What should follow.
        missing: String,
    },
    /// The lines are those of a newer build.
    #[error(
        "the session was written by a newer Placard (schema {found}; this one knows {known}); update Placard. Nothing was imported"
    )]
    Newer {
        /// Its schema.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// The import failed, and what was stored by then could not be taken back.
    #[error(
        "{failure} But a part of it is stored as session {id}, since it cannot be deleted ({reason}): try `placard sessions rm {id}`"
    )]
    LeftBehind {
        /// Why the import failed.
        failure: Box<InterchangeError>,
        /// The session that is not whole.
        id: SessionId,
        /// Why it was not deleted.
        reason: StoreError,
    },
}

/// The line of a blob.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlobLine {
    blob: BlobId,
    /// Nothing where the bytes are not kept.
    base64: Option<String>,
}

/// What the line of a blob begins with.
const BLOB_LINE: &str = "{\"blob\"";

/// The blobs that an event refers to, of whatever kind it is: every text in it that is a blob's name.
pub fn referred(event: &Event) -> Vec<BlobId> {
    let mut found = Vec::new();
    if let Ok(what) = serde_json::to_value(&event.what) {
        look_through(&what, &mut found);
    }
    found
}

fn look_through(value: &Value, found: &mut Vec<BlobId>) {
    match value {
        Value::String(text) => {
            if let Ok(blob) = text.parse()
                && !found.contains(&blob)
            {
                found.push(blob);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| look_through(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| look_through(field, found)),
        _ => {}
    }
}
