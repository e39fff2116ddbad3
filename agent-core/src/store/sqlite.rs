//! The default store: one SQLite file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use sqlx::migrate::Migrator;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Connection as _, SqliteConnection};

use super::{
    Blob, BlobId, Change, Damage, DamagedAt, Hit, ListRequest, Salvage, SearchRequest, SessionPage,
    SessionStore, SessionSummary, SessionWriter, StoreError,
};
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
        // Programs that start together would each find the schema missing and make it.
        let _turn = take_turn(path)
            .await
            .map_err(|error| fault(error.to_string()))?;
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
    // Opening a pipe would wait for ever for somebody at its other end.
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)?;
    Ok(())
}

/// Waits until no other program brings the file to its schema, and keeps others waiting while the result lives. Its end,
/// however it comes, lets go of the lock.
async fn take_turn(path: &Path) -> std::io::Result<std::fs::File> {
    let lock = path.with_extension("sqlite.lock");
    let waiting = tokio::task::spawn_blocking(move || {
        let file = std::fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(lock)?;
        file.lock()?;
        Ok(file)
    });
    waiting.await.map_err(std::io::Error::other)?
}

/// Looks at the schema number without changing anything, not even the journal mode.
async fn refuse_newer(path: &Path) -> Result<(), StoreError> {
    use sqlx::Row as _;
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
    async fn writer(&self, id: &SessionId) -> Result<Box<dyn SessionWriter>, StoreError> {
        Ok(Box::new(SqliteWriter {
            path: self.path.clone(),
            pool: self.pool.clone(),
            id: id.clone(),
        }))
    }

    async fn summary(&self, id: &SessionId) -> Result<Option<SessionSummary>, StoreError> {
        let reading = |error: sqlx::Error| self.fault("read", &error);
        let row: Option<(String, i64, i64)> = sqlx::query_as(
            "SELECT header, updated_at, (SELECT COUNT(*) FROM events WHERE session_id = id) FROM sessions WHERE id = ?",
        )
        .bind(id.as_str())
        .fetch_optional(&self.pool)
        .await
        .map_err(reading)?;
        let Some((header, updated_at, events)) = row else {
            return Ok(None);
        };
        let header = serde_json::from_str(&header).map_err(|error| damaged(id, 0, &error))?;
        let mut summary = SessionSummary::new(header);
        summary.updated_at = u64::try_from(updated_at).unwrap_or_default();
        summary.events = u64::try_from(events).unwrap_or_default();
        Ok(Some(summary))
    }

    async fn read(
        &self,
        id: &SessionId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        let rows: Vec<(i64, i64, String)> = sqlx::query_as(
            "SELECT seq, at, what FROM events WHERE session_id = ? AND seq >= ? ORDER BY seq LIMIT ?",
        )
        .bind(id.as_str())
        .bind(number(from))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.fault("read", &error))?;
        if rows.is_empty() && !self.has(id).await? {
            return Err(StoreError::Missing { id: id.clone() });
        }
        let mut events = Vec::with_capacity(rows.len());
        for (seq, at, what) in rows {
            let seq = u64::try_from(seq).unwrap_or_default();
            let what = serde_json::from_str(&what).map_err(|error| damaged(id, seq, &error))?;
            events.push(Event {
                seq,
                at: u64::try_from(at).unwrap_or_default(),
                what,
            });
        }
        Ok(events)
    }

    async fn blob(&self, _id: &SessionId, _blob: &BlobId) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(None)
    }

    async fn has(&self, id: &SessionId) -> Result<bool, StoreError> {
        sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM events WHERE session_id = ?)")
            .bind(id.as_str())
            .fetch_one(&self.pool)
            .await
            .map_err(|error| self.fault("read", &error))
    }

    async fn list(&self, _request: &ListRequest) -> Result<SessionPage, StoreError> {
        Ok(SessionPage::default())
    }

    async fn update(&self, id: &SessionId, _change: &Change) -> Result<(), StoreError> {
        Err(StoreError::Missing { id: id.clone() })
    }

    async fn fork(&self, id: &SessionId, _header: &SessionHeader) -> Result<(), StoreError> {
        Err(StoreError::Missing { id: id.clone() })
    }

    async fn delete(&self, _id: &SessionId) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn search(&self, _request: &SearchRequest) -> Result<Vec<Hit>, StoreError> {
        Ok(Vec::new())
    }

    async fn salvage(&self, id: &SessionId) -> Result<Salvage, StoreError> {
        Err(StoreError::Missing { id: id.clone() })
    }

    /// The last connection moves the write-ahead log into the file.
    async fn close(&self) {
        self.pool.close().await;
    }
}

/// The right to append to one session.
#[derive(Debug)]
struct SqliteWriter {
    path: PathBuf,
    pool: SqlitePool,
    id: SessionId,
}

impl SqliteWriter {
    fn fault(&self, error: &sqlx::Error) -> StoreError {
        StoreError::File {
            path: self.path.clone(),
            attempted: "saved",
            reason: error.to_string(),
        }
    }
}

#[async_trait]
impl SessionWriter for SqliteWriter {
    async fn append(
        &mut self,
        header: &SessionHeader,
        events: &[Event],
        _blobs: &[Blob],
    ) -> Result<(), StoreError> {
        if events.is_empty() {
            return Ok(());
        }
        let mut rows = Vec::with_capacity(events.len());
        for event in events {
            let what = serde_json::to_string(&event.what);
            rows.push(Row {
                seq: event.seq,
                at: event.at,
                what: what.map_err(|error| damaged(&self.id, event.seq, &error))?,
            });
        }
        let header_text =
            serde_json::to_string(header).map_err(|error| damaged(&self.id, 0, &error))?;

        let acquired = self.pool.acquire().await;
        let mut connection = acquired.map_err(|error| self.fault(&error))?;
        match insert(&mut connection, header, &header_text, &rows).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(StoreError::OutOfOrder {
                id: header.id.clone(),
                seq: rows.first().map_or(0, |row| row.seq),
            }),
            Err(error) => {
                // A full disk can leave a connection inside a transaction that nobody can end; the next one starts afresh.
                connection.close_on_drop();
                Err(self.fault(&error))
            }
        }
    }
}

fn damaged(id: &SessionId, seq: u64, error: &serde_json::Error) -> StoreError {
    StoreError::Damaged {
        id: id.clone(),
        damage: Damage {
            place: "the table of events".to_owned(),
            at: Some(DamagedAt::Event(seq)),
            reason: error.to_string(),
        },
    }
}

/// An event as it is stored.
#[derive(Debug)]
struct Row {
    seq: u64,
    at: u64,
    what: String,
}

/// Stores the rows that are not stored yet. False, and nothing stored, when they do not follow what is there. Rows that are
/// there already, word for word, are taken as stored: an append whose answer was lost is tried again.
async fn insert(
    connection: &mut SqliteConnection,
    header: &SessionHeader,
    header_text: &str,
    rows: &[Row],
) -> Result<bool, sqlx::Error> {
    let id = header.id.as_str();
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let next: i64 =
        sqlx::query_scalar("SELECT COALESCE(MAX(seq) + 1, 0) FROM events WHERE session_id = ?")
            .bind(id)
            .fetch_one(&mut *transaction)
            .await?;
    let (stored, fresh): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| number(row.seq) < next);
    for row in stored {
        let there: Option<String> =
            sqlx::query_scalar("SELECT what FROM events WHERE session_id = ? AND seq = ?")
                .bind(id)
                .bind(number(row.seq))
                .fetch_optional(&mut *transaction)
                .await?;
        if there.as_deref() != Some(row.what.as_str()) {
            return Ok(false);
        }
    }
    let Some(last) = fresh.last() else {
        return Ok(true);
    };
    if fresh.first().is_some_and(|row| number(row.seq) != next) {
        return Ok(false);
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
    .await?;
    for row in fresh {
        sqlx::query("INSERT INTO events (session_id, seq, at, what) VALUES (?, ?, ?, ?)")
            .bind(id)
            .bind(number(row.seq))
            .bind(number(row.at))
            .bind(row.what.as_str())
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await?;
    Ok(true)
}

/// SQLite's integers are signed. Sequence numbers and times stay far below the limit.
fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
