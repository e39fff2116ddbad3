//! What SQLite reports, in words that say what to do.

use std::path::Path;
use std::time::Duration;

use sqlx::migrate::MigrateError;

use crate::session::SessionId;
use crate::store::{Damage, DamagedAt, StoreError};

/// How long a connection waits for another one's write.
pub(super) const BUSY: Duration = Duration::from_secs(10);

/// The fault behind an error of the database, by its primary result code (<https://www.sqlite.org/rescode.html>).
pub(super) fn fault(path: &Path, attempted: &'static str, error: &sqlx::Error) -> StoreError {
    let file = |reason: String| StoreError::File {
        path: path.to_owned(),
        attempted,
        reason,
    };
    let (code, said) = match error {
        sqlx::Error::Database(error) => (primary_code(error.as_ref()), error.message().to_owned()),
        sqlx::Error::PoolTimedOut => (Some(5), String::new()),
        sqlx::Error::PoolClosed => {
            return file("the store is closed; this program is ending".to_owned());
        }
        other => return file(other.to_string()),
    };
    match code {
        // SQLITE_BUSY, SQLITE_LOCKED, and SQLITE_PROTOCOL: the race to open a write-ahead log was lost for long.
        Some(5 | 6 | 15) => busy(path, attempted),
        // SQLITE_CORRUPT, SQLITE_NOTADB.
        Some(11 | 26) => StoreError::Corrupt {
            path: path.to_owned(),
            reason: said,
        },
        Some(3 | 23) => file(format!(
            "{said}; make the file and its folder yours to read and write"
        )),
        Some(8) => file(format!(
            "{said}; make the file and its folder writable, or set XDG_DATA_HOME to another folder"
        )),
        Some(10) => file(format!(
            "the system could not read or write the disk ({said}); see that it has room and is in order, then try again"
        )),
        Some(13) => file(format!("{said}; make room on it, then try again")),
        Some(14) => file(format!(
            "{said}; see that its folder exists and is yours to read and write"
        )),
        _ => file(said),
    }
}

/// The same for an error of a migration.
pub(super) fn migration_fault(path: &Path, error: &MigrateError) -> StoreError {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
            fault(path, "opened", error)
        }
        other => StoreError::File {
            path: path.to_owned(),
            attempted: "opened",
            reason: format!(
                "{other}; it is not a file of Placard as it was published. Move it away, or set XDG_DATA_HOME to another folder"
            ),
        },
    }
}

/// Others had the file for too long.
pub(super) fn busy(path: &Path, attempted: &'static str) -> StoreError {
    StoreError::Busy {
        path: path.to_owned(),
        attempted,
        seconds: BUSY.as_secs(),
    }
}

/// A fault that the system reported outside of the database.
pub(super) fn system_fault(
    path: &Path,
    attempted: &'static str,
    error: &std::io::Error,
) -> StoreError {
    StoreError::File {
        path: path.to_owned(),
        attempted,
        reason: error.to_string(),
    }
}

/// An event whose row is not as it was written.
pub(super) fn damaged_event(id: &SessionId, seq: u64, reason: &impl ToString) -> StoreError {
    StoreError::Damaged {
        id: id.clone(),
        damage: Damage {
            place: "the table of events".to_owned(),
            at: Some(DamagedAt::Event(seq)),
            reason: reason.to_string(),
        },
    }
}

/// Something else of a session that is not as it was written.
pub(super) fn damaged(id: &SessionId, place: &str, reason: &impl ToString) -> StoreError {
    StoreError::Damaged {
        id: id.clone(),
        damage: Damage {
            place: place.to_owned(),
            at: None,
            reason: reason.to_string(),
        },
    }
}

/// Whether an error says that a part of the file is not as it was written.
pub(super) fn is_corruption(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else {
        return false;
    };
    matches!(primary_code(error.as_ref()), Some(11 | 26))
}

/// The result code without what extends it.
fn primary_code(error: &dyn sqlx::error::DatabaseError) -> Option<u32> {
    let code: u32 = error.code()?.parse().ok()?;
    Some(code & 0xff)
}
