//! The default store: one SQLite file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use sqlx::migrate::Migrator;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};

use super::{SessionStore, StoreError};
use crate::session::event::Event;
use crate::session::{SCHEMA_VERSION, SessionHeader, SessionId};

static MIGRATIONS: Migrator = sqlx::migrate!("../migrations/sqlite");

/// How long a writer waits for another one.
const BUSY: Duration = Duration::from_secs(10);

/// Logs in a SQLite file, in write-ahead mode and fully synchronous: what is acknowledged survives a power cut.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    pool: SqlitePool,
}

impl SqliteStore {
    /// Opens the file, creates it (readable by its owner only) where it is missing, and brings it to this build's schema.
    /// A file of a newer build is refused and not touched.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let fault = |reason: String| StoreError::File {
            path: path.to_owned(),
            attempted: "opened",
            reason,
        };
        prepare_folder(path).map_err(|error| fault(error.to_string()))?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY);
        refuse_newer(path).await?;
        let pool = SqlitePoolOptions::new()
            .max_connections(2)
            .connect_with(options)
            .await
            .map_err(|error| fault(error.to_string()))?;
        MIGRATIONS
            .run(&pool)
            .await
            .map_err(|error| fault(error.to_string()))?;
        // A pragma takes no parameters; the number is a constant of ours.
        const {
            assert!(
                SCHEMA_VERSION == 1,
                "write the new number into the pragma too"
            );
        };
        sqlx::query("PRAGMA user_version = 1")
            .execute(&pool)
            .await
            .map_err(|error| fault(error.to_string()))?;
        Ok(Self {
            path: path.to_owned(),
            pool,
        })
    }

    fn fault(&self, attempted: &'static str, error: &sqlx::Error) -> StoreError {
        StoreError::File {
            path: self.path.clone(),
            attempted,
            reason: error.to_string(),
        }
    }
}

/// The folder, and the file with mode 0600 before SQLite would make it with the person's umask.
fn prepare_folder(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)?;
    Ok(())
}

/// Looks at the schema number without changing anything, not even the journal mode.
async fn refuse_newer(path: &Path) -> Result<(), StoreError> {
    use sqlx::{Connection as _, Row as _};
    let fault = |error: sqlx::Error| StoreError::File {
        path: path.to_owned(),
        attempted: "opened",
        reason: error.to_string(),
    };
    let options = SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        .busy_timeout(BUSY);
    let mut connection = sqlx::SqliteConnection::connect_with(&options)
        .await
        .map_err(fault)?;
    let found: i64 = sqlx::query("PRAGMA user_version")
        .fetch_one(&mut connection)
        .await
        .map_err(fault)?
        .get(0);
    connection.close().await.map_err(fault)?;
    let found = u32::try_from(found).unwrap_or(u32::MAX);
    if found > SCHEMA_VERSION {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            found,
            known: SCHEMA_VERSION,
        });
    }
    Ok(())
}

#[async_trait]
impl SessionStore for SqliteStore {
    async fn append(&self, header: &SessionHeader, events: &[Event]) -> Result<(), StoreError> {
        let (Some(first), Some(last)) = (events.first(), events.last()) else {
            return Ok(());
        };
        let id = header.id.as_str();
        let damaged = |seq: u64, error: serde_json::Error| StoreError::Damaged {
            id: header.id.clone(),
            seq,
            reason: error.to_string(),
        };
        let mut rows = Vec::with_capacity(events.len());
        for event in events {
            rows.push((
                event.seq,
                event.at,
                serde_json::to_string(&event.what).map_err(|error| damaged(event.seq, error))?,
            ));
        }
        let header_text = serde_json::to_string(header).map_err(|error| damaged(0, error))?;

        let saving = |error: sqlx::Error| self.fault("saved", &error);
        let mut transaction = self
            .pool
            .begin_with("BEGIN IMMEDIATE")
            .await
            .map_err(saving)?;
        let next: i64 =
            sqlx::query_scalar("SELECT COALESCE(MAX(seq) + 1, 0) FROM events WHERE session_id = ?")
                .bind(id)
                .fetch_one(&mut *transaction)
                .await
                .map_err(saving)?;
        if next != number(first.seq) {
            return Err(StoreError::OutOfOrder {
                id: header.id.clone(),
                seq: first.seq,
            });
        }
        sqlx::query(
            "INSERT INTO sessions (id, cwd, header, created_at, updated_at) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at",
        )
        .bind(id)
        .bind(header.cwd.to_string_lossy().into_owned())
        .bind(header_text)
        .bind(number(header.created_at))
        .bind(number(last.at))
        .execute(&mut *transaction)
        .await
        .map_err(saving)?;
        for (seq, at, what) in rows {
            sqlx::query("INSERT INTO events (session_id, seq, at, what) VALUES (?, ?, ?, ?)")
                .bind(id)
                .bind(number(seq))
                .bind(number(at))
                .bind(what)
                .execute(&mut *transaction)
                .await
                .map_err(saving)?;
        }
        transaction.commit().await.map_err(saving)
    }

    async fn load(
        &self,
        id: &SessionId,
    ) -> Result<Option<(SessionHeader, Vec<Event>)>, StoreError> {
        let reading = |error: sqlx::Error| self.fault("read", &error);
        let damaged = |seq: u64, error: serde_json::Error| StoreError::Damaged {
            id: id.clone(),
            seq,
            reason: error.to_string(),
        };
        let header: Option<String> = sqlx::query_scalar("SELECT header FROM sessions WHERE id = ?")
            .bind(id.as_str())
            .fetch_optional(&self.pool)
            .await
            .map_err(reading)?;
        let Some(header) = header else {
            return Ok(None);
        };
        let header = serde_json::from_str(&header).map_err(|error| damaged(0, error))?;
        let rows: Vec<(i64, i64, String)> =
            sqlx::query_as("SELECT seq, at, what FROM events WHERE session_id = ? ORDER BY seq")
                .bind(id.as_str())
                .fetch_all(&self.pool)
                .await
                .map_err(reading)?;
        let mut events = Vec::with_capacity(rows.len());
        for (seq, at, what) in rows {
            let seq = u64::try_from(seq).unwrap_or_default();
            let what = serde_json::from_str(&what).map_err(|error| damaged(seq, error))?;
            events.push(Event {
                seq,
                at: u64::try_from(at).unwrap_or_default(),
                what,
            });
        }
        Ok(Some((header, events)))
    }

    async fn has(&self, id: &SessionId) -> Result<bool, StoreError> {
        sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM events WHERE session_id = ?)")
            .bind(id.as_str())
            .fetch_one(&self.pool)
            .await
            .map_err(|error| self.fault("read", &error))
    }

    /// The last connection moves the write-ahead log into the file.
    async fn close(&self) {
        self.pool.close().await;
    }
}

/// SQLite's integers are signed. Sequence numbers and times stay far below the limit.
fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
