//! Sessions: what is written of one, and what works on it while it is open.

pub mod commands;
pub mod event;
pub mod history;
pub mod live;
pub mod log;
pub mod mend;
pub mod repair;
pub mod shown;
pub mod standing;
pub mod update;

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The name of a session, unique for all time (a version 7 UUID, so that names sort by age).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(String);

impl SessionId {
    /// A new name.
    pub fn fresh() -> Self {
        Self(uuid::Uuid::now_v7().to_string())
    }

    /// The name as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for SessionId {
    fn from(id: String) -> Self {
        Self(id)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The schema of headers and events that this build writes.
pub const SCHEMA_VERSION: u32 = 1;

/// What is known of a session before its first event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionHeader {
    /// Its name.
    pub id: SessionId,
    /// The folder that its commands run in; absolute.
    pub cwd: PathBuf,
    /// Further roots.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additional_directories: Vec<PathBuf>,
    /// Milliseconds of Unix time.
    pub created_at: u64,
    /// The version of the program that began it.
    pub program_version: String,
    /// The model it began with, as the person named it.
    pub model: String,
    /// The schema that it was begun with.
    pub schema_version: u32,
    /// The session that it is a copy of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<SessionId>,
}
