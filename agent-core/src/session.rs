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

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// The name of a session, unique for all time (a version 7 UUID, so that names sort by age).
///
/// Files and folders are named after it, so what is read (a header, a file that is imported) is refused unless it
/// [fits](Self::fits); a name that somebody only asks for and that does not fit is not there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct SessionId(String);

/// The longest name, in bytes.
const LONGEST_ID: usize = 128;

impl SessionId {
    /// A new name.
    pub fn fresh() -> Self {
        Self(uuid::Uuid::now_v7().to_string())
    }

    /// A name that was read somewhere.
    pub fn parse(id: &str) -> Result<Self, NoSessionId> {
        let id = Self(id.to_owned());
        id.check().map(|()| id)
    }

    /// An error for a name that no session can have.
    pub fn check(&self) -> Result<(), NoSessionId> {
        if self.fits() {
            Ok(())
        } else {
            Err(NoSessionId)
        }
    }

    /// Whether files and folders can be named after it: 1 to 128 ASCII letters, digits, `-`, `_` and `.`, the first no `.`.
    pub fn fits(&self) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        (1..=LONGEST_ID).contains(&self.0.len())
            && !self.0.starts_with('.')
            && self.0.bytes().all(plain)
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

impl<'de> Deserialize<'de> for SessionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = String::deserialize(deserializer)?;
        Self::parse(&id).map_err(D::Error::custom)
    }
}

/// A text that no session can be called. It is not repeated: it may be anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is no session's id: 1 to 128 letters, digits, `-`, `_` and `.` are, the first no `.`"
)]
pub struct NoSessionId;

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

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_what_files_can_be_named_after_is_an_id() {
        let longest = "a".repeat(LONGEST_ID);
        let table = [
            ("0192f0c1-7b2e-7000-8000-0123456789ab", true),
            ("imported_2", true),
            (longest.as_str(), true),
            (&format!("{longest}a"), false),
            ("", false),
            (".", false),
            ("..", false),
            ("../../home", false),
            ("/x", false),
            ("a/b", false),
            ("a\0b", false),
            ("a b", false),
            ("\u{1b}[31m", false),
            ("\u{e9}", false),
        ];
        for (id, fits) in table {
            assert_eq!(SessionId::parse(id).is_ok(), fits, "{id:?}");
            let read = serde_json::from_value::<SessionId>(id.into());
            assert_eq!(read.is_ok(), fits, "{id:?}");
        }
    }
}
